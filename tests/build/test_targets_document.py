"""`docs/targets.md` names every figure a target file has, under its section, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from spatial.build.target_fields import ALSO, MAPS, NEEDED_KINDS, SECTIONS
from spatial.build.targets import TRUST
from spatial.ir.body import KINDS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "targets.md").read_text(encoding="utf-8")


def listed(section: str) -> list[str]:
    """The keys in the table of a section."""
    table = re.search(rf"^\| `{section}`.*\n\|---\|---\|\n((?:\|.*\n)+)", DOCUMENT, re.MULTILINE)
    assert table, section
    return [name for line in table[1].splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])]


def test_the_keys_of_every_section_are_listed() -> None:
    extra = {section: {field} for section, (field, *_) in MAPS.items()}
    assert {s: set(listed(s)) for s in SECTIONS} == {s: {*keys, *extra.get(s, ())} for s, keys in SECTIONS.items()}


def test_kinds_of_figures_and_of_stages_are_listed() -> None:
    figures = DOCUMENT[DOCUMENT.index("## Figures") : DOCUMENT.index("## Keys")]
    trust = re.findall(r"^\| `(\w+)` \|", figures, re.MULTILINE)
    assert set(trust) == set(TRUST)
    stages = DOCUMENT[DOCUMENT.index("stage kinds:") : DOCUMENT.index("| `matrix`")]
    assert set(re.findall(r"`(\w+)`", stages)) == set(KINDS)
    assert set(re.findall(r"`(\w+)`", stages.split("(")[0])) == set(NEEDED_KINDS)


def test_figures_that_nothing_reads_are_listed() -> None:
    also = DOCUMENT[DOCUMENT.index("`also` holds") : DOCUMENT.index("Where the three")]
    assert set(re.findall(r"`(\w+)`", also)) == {"also", *ALSO}
