"""`docs/checking.md`: every obligation is on it, and its example is judged as it says."""

from __future__ import annotations

import re
from pathlib import Path

from support import REFERENCE

from spatial.check import OBLIGATIONS, check_program
from spatial.ir.text import parse_program

DOCUMENT = (Path(__file__).parents[2] / "docs" / "checking.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"```\n(program.*?)```", DOCUMENT, re.DOTALL)


def test_every_obligation_is_on_the_page_once() -> None:
    section = DOCUMENT[DOCUMENT.index("## Obligations") : DOCUMENT.index("## What a certificate")]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == sorted(OBLIGATIONS)


def test_the_example_is_accepted() -> None:
    assert len(EXAMPLE) == 1
    assert check_program(parse_program(EXAMPLE[0]), REFERENCE).answer == "accept"


def test_its_mutant_is_rejected_in_the_words_shown() -> None:
    verdict = check_program(parse_program(EXAMPLE[0].replace("at y[0, 0, 32*i0]", "at y[0, 0, 0]")), REFERENCE)
    assert verdict.answer == "reject"
    assert re.findall(r"^fails: (.*)$", DOCUMENT, re.MULTILINE) == [str(failure) for failure in verdict.failures]
