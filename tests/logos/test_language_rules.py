"""The rules of the language, one by one: each row of `language_rules.txt` is a program and what comes of it.

A row is a line `= the rule`, the program, a line `--`, and the lines it shows; a last line `! LINE:COLUMN words` is the
error it stops on (at that place, saying those words). `== section` groups rows. A row's program is Main unless it has
a header of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from spatial.errors import SourceError
from spatial.logos.interpret import interpret
from spatial.logos.parser import parse
from spatial.logos.printer import print_program

TABLE = Path(__file__).with_name("language_rules.txt").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Rule:
    """One row."""

    name: str
    program: str
    shown: tuple[str, ...]
    fault: str


def rules(table: str) -> Iterator[Rule]:
    """The rows of a table."""
    for section in table.split("\n== ")[1:]:
        title, _, rest = section.partition("\n")
        for row in ("\n" + rest).split("\n= ")[1:]:
            name, _, body = row.partition("\n")
            program, _, told = body.partition("\n--")
            lines = told.rstrip("\n").split("\n")[1:]
            fault = lines.pop().removeprefix("! ") if lines and lines[-1].startswith("! ") else ""
            code = program if "##" in program else "## Main\n" + program
            yield Rule(f"{title.split()[0]} {name}", code, tuple(lines), fault)


RULES = list(rules(TABLE))


def test_rules_have_names_of_their_own() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names) > 250


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_rule(rule: Rule) -> None:
    sources = [rule.program]
    if not rule.fault:
        sources.append(print_program(parse(rule.program)))  # canonical text means the same
    for source in sources:
        lines: list[str] = []
        try:
            interpret(parse(source, "t.lg"), {}, ["program", "7"], lines.append)
            fault = ""
        except SourceError as error:
            fault = str(error.problems[0])
        assert [part for line in lines for part in line.split("\n")] == list(rule.shown), fault
        if rule.fault:
            place, _, words = rule.fault.partition(" ")
            assert fault.startswith(f"t.lg:{place}: error: "), fault
            assert words in fault
        else:
            assert not fault
