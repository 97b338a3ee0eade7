"""What does not lift or lower of the blind programs: the file it is recorded in, and what happens now.

`refused.txt` has three sections (`== title`). In each, a program with its sizes, the lines of its report indented under
it, and above a program's first entry the judgement (`#`) of who read them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sources import Source, compiled
from support import REFERENCE

from spatial.errors import Bug, Refused

FOLDER: Final = Path(__file__).parent
FILE: Final = FOLDER / "refused.txt"
NOT_LIFTED, NOT_LOWERED, FAULTS = SECTIONS = ("not lifted", "not lowered", "faults of this project, not yet mended")
_COUNT = re.compile(r"^error: lowered \d+ of \d+ statements; not lowered: ")


@dataclass
class Records:
    """Entries by section and program with sizes; judgements by section and program."""

    entries: dict[str, dict[str, list[str]]] = field(default_factory=lambda: {s: {} for s in SECTIONS})
    judgements: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])


def read() -> Records:
    """The file."""
    records, section, remarks = Records(), "", list[str]()
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            section = line.removeprefix("== ")
        elif line.startswith("#"):
            remarks.append(line)
        elif line.startswith("    "):
            entries = records.entries[section]
            entries[list(entries)[-1]].append(line.strip())
        elif line and section:
            records.entries[section][line] = []
            if remarks:
                records.judgements[section, line.partition(":")[0]] = remarks
                remarks = []
    return records


def outcome(source: Source) -> tuple[str, list[str]]:
    """The section a program belongs to and the lines of its report; no section if it lowers."""
    found = source.lifted()
    if found.graph is None:
        return NOT_LIFTED, [f"{m.line}: {m.why}" for m in found.missing]
    try:
        compiled(source, REFERENCE)
    except Refused as error:
        return NOT_LOWERED, [_COUNT.sub("", line) for line in str(error).splitlines()]
    except (Bug, KeyError):
        return FAULTS, []
    return "", []


def write(records: Records, judged: Records) -> None:
    """The file anew: `records` under the judgements of `judged`; "?" where none was made."""
    lines = ["What does not lift or lower, word for word; above each program what was judged of it when it was read."]
    for section in SECTIONS:
        lines += ["", f"== {section}"]
        before = ""
        for name, report in records.entries[section].items():
            program = name.partition(":")[0]
            if program != before:
                remarks = [r for (_, p), r in judged.judgements.items() if p == program]
                lines += ["", *judged.judgements.get((section, program), (remarks or [["# ?"]])[0])]
            before = program
            lines += [name, *(f"    {line}" for line in report)]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
