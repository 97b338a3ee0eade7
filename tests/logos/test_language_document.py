"""The programs of `docs/language.md` parse, and do what the page says they do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spatial.errors import SourceError
from spatial.logos.interpret import interpret
from spatial.logos.parser import parse
from spatial.logos.printer import print_program
from spatial.logos.words import BUILTINS, NATIVES

DOCUMENT = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```logos\n(.*?)```\n```(text|error)\n(.*?)```", DOCUMENT, re.DOTALL)


def test_every_program_says_what_comes_of_it() -> None:
    assert len(EXAMPLES) == DOCUMENT.count("```logos") > 10


@pytest.mark.parametrize(("source", "kind", "told"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_what_it_shows(source: str, kind: str, told: str) -> None:
    lines: list[str] = []
    if kind == "error":
        with pytest.raises(SourceError) as caught:
            interpret(parse(source, "example.lg"), output=lines.append)
        assert [str(problem) for problem in caught.value.problems] == told.splitlines()
        return
    program = parse(source)
    interpret(program, output=lines.append)
    assert lines == told.splitlines()
    again: list[str] = []
    interpret(parse(print_program(program)), output=again.append)
    assert again == lines


def test_builtins_and_natives_are_all_named() -> None:
    section = DOCUMENT[DOCUMENT.index("Builtins come before") : DOCUMENT.index("```logos\n## To native exp")]
    assert set(re.findall(r"`(\w+)`", section)) == {*BUILTINS, *NATIVES}
