"""The examples of `docs/sections.md` parse, round-trip and are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import REFERENCE

from spatial.ir.text import parse_body, parse_program, print_body, print_program
from spatial.ir.validate import validate, validate_program

DOCUMENT = (Path(__file__).parents[2] / "docs" / "sections.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```\n(.*?)```", DOCUMENT, re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_what_it_shows(text: str):
    if text.startswith("program"):
        program = parse_program(text)
        assert validate_program(program, REFERENCE) == []
        assert parse_program(print_program(program)) == program
    else:
        body = parse_body(text)
        assert validate(body, REFERENCE) == []
        assert parse_body(print_body(body)) == body
