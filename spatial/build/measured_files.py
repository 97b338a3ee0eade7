"""Files of measurements: CSV or YAML, read to records or to every error of the file at once, and written.

Place: beside `targets`. It must never know what a price is. Both forms have the same fields, those of `FIELDS`; a CSV
file names them in its first line, a YAML file in each entry of its list `measurements`. What is written is sorted by
what is measured, so that two ledgers of the same measurements have the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from spatial.build.schema import Reader
from spatial.build.yaml_nodes import Mapping as Map
from spatial.build.yaml_nodes import Scalar, parse
from spatial.calibration.measurements import Measurement, condition_words, entered, plan_words, time_words
from spatial.calibration.operations import operated
from spatial.errors import EnvironmentFault, Place, Problem, SpecError, UsageError, nearest

T = TypeVar("T")

NEEDED = ("op", "shape", "precision", "plan", "time")
FIELDS = (*NEEDED, "target", "chip", "note", "source")
"""`op`, `shape`, `precision`: the operation; `plan`: its label, and knobs that were held; `time` of one run; `target`:
the chip, by its name; `chip`: what of it was otherwise; `note`, `source`: as a `Measurement` has them."""

YAMLS = (".yaml", ".yml")
SCHEMA = 1
MAX_BYTES = 1 << 20
MAX_FIELD = 400


def read_measurements(path: Path, target: str) -> list[Measurement]:
    """The measurements of a file; those that name no chip are of `target`. Raises SpecError with every problem."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EnvironmentFault(f"the measurements {path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise SpecError(Problem(f"{path} has {len(data)} bytes", f"{MAX_BYTES} are read at most", "split it"))
    problems: list[Problem] = []
    rows = _of_yaml if path.suffix in YAMLS else _of_csv
    found: list[Measurement] = []
    first: dict[tuple[str, ...], Place] = {}
    for place, fields in rows(data, str(path), problems):
        measured = _measurement(fields, place, target, problems)
        if measured is None:
            continue
        if measured.key in first:
            why, mend = f"{first[measured.key]} has it too", "keep one, or tell them apart by a note"
            problems.append(Problem("one thing is measured twice", why, mend, place))
        first.setdefault(measured.key, place)
        found.append(measured)
    if problems:
        raise SpecError(problems)
    return found


def _measurement(fields: Mapping[str, str], place: Place, target: str, problems: list[Problem]) -> Measurement | None:
    """The measurement of the fields of a row; None where one of them is wrong."""
    good = True
    for name in NEEDED:
        if not fields.get(name):
            problems.append(Problem(f"a measurement has no {name}", "it is needed", "", place))
            good = False
    if not good:
        return None
    what = _read(lambda: operated(fields["op"], fields["shape"], fields["precision"]), place, problems)
    plan = _read(lambda: plan_words(fields["plan"]), place, problems)
    conditions = _read(lambda: condition_words(fields.get("chip", "")), place, problems)
    time = _read(lambda: time_words(fields["time"]), place, problems)
    if what is None or plan is None or conditions is None or time is None:
        return None
    told = fields.get("note", ""), fields.get("source", "")
    return Measurement(fields.get("target") or target, what, *plan, conditions, *time, *told)


def _read(read: Callable[[], T], place: Place, problems: list[Problem]) -> T | None:
    """What `read` makes of the words of a row; what is wrong with them is noted with the row's place."""
    try:
        return read()
    except UsageError as error:
        problems += [Problem(p.what, p.why, p.mend, place) for p in error.problems]
        return None


def _of_csv(data: bytes, file: str, problems: list[Problem]) -> Iterator[tuple[Place, dict[str, str]]]:
    """The rows of a CSV text by the names of its first line; lines that begin with # are left out."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        problems.append(Problem("this is no UTF-8 text", place=Place(file)))
        return
    reader = csv.reader(io.StringIO(text), strict=True, skipinitialspace=True)
    names: list[str] = []
    try:
        for row in reader:
            place = Place(file, reader.line_num)
            if not row or row[0].startswith("#"):
                continue
            cells = [cell.strip() for cell in row]
            if not names:
                names = cells
                if not _named(names, place, problems):
                    return
                continue
            if len(cells) != len(names) or any(len(cell) > MAX_FIELD for cell in cells):
                why = f"the first line has {len(names)}, none longer than {MAX_FIELD} characters"
                problems.append(Problem(f"a row has {len(cells)} fields", why, "quote a field with a comma", place))
                continue
            yield place, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        problems.append(Problem(f"this is no CSV: {error}", place=Place(file, reader.line_num)))
    if not names:
        problems.append(Problem("there is no line of names", f"they are {', '.join(NEEDED)} at least", "", Place(file)))


def _named(names: list[str], place: Place, problems: list[Problem]) -> bool:
    """Whether the names of fields are known ones, each once, and none that is needed is missing."""
    before = len(problems)
    for n, name in enumerate(names):
        if name not in FIELDS:
            known = nearest(name, FIELDS) or f"known: {', '.join(FIELDS)}"
            problems.append(Problem(f'no field of a measurement is called "{name}"', "", known, place))
        elif name in names[:n]:
            problems.append(Problem(f"the field {name} is there twice", "", "keep one", place))
    for name in NEEDED:
        if name not in names:
            problems.append(Problem(f"measurements have no {name}", "it is needed", f"add a field {name}", place))
    return len(problems) == before


def _of_yaml(data: bytes, file: str, problems: list[Problem]) -> Iterator[tuple[Place, dict[str, str]]]:
    """The entries of a YAML text, as they are written."""
    root, reader = parse(data, file), Reader()
    if isinstance(root, Map):
        fields = reader.fields(root, "the file", ("schema", "measurements"), ("schema", "measurements"))
        if "schema" in fields:
            reader.integer(fields["schema"], "schema", SCHEMA, SCHEMA)
        for item in reader.sequence(fields.get("measurements"), "measurements"):
            values = reader.fields(item, "a measurement", FIELDS)
            for name, value in values.items():
                if not isinstance(value, Scalar):
                    reader.problem(value, f"{name} is no word", "", "write it as in plan: multicast i0=2")
            yield item.place, {n: v.text for n, v in values.items() if isinstance(v, Scalar)}
    else:
        problems.append(Problem("the file is no map", "it has `schema: 1` and a list `measurements`", "", root.place))
    problems += reader.problems


def _fields(m: Measurement) -> dict[str, str]:
    plan, amount = f"{m.label} {m.knobs}".strip(), f"{m.amount:g}" if m.amount < 1e6 else repr(m.amount)
    told = (m.what.name, "x".join(map(str, m.what.shape)), m.what.precision, plan, f"{amount} {m.unit}")
    return dict(zip(FIELDS, (*told, m.target, str(m.conditions), m.note, m.source), strict=True))


def written(measurements: list[Measurement], form: str) -> bytes:
    """The text of a ledger; `form`: the suffix of its file."""
    rows = [_fields(m) for m in entered((), measurements)]
    if form in YAMLS:
        lines = [f"  - {{{', '.join(f'{n}: {json.dumps(v)}' for n, v in row.items() if v)}}}" for row in rows]
        return "\n".join([f"schema: {SCHEMA}", "measurements:", *lines, ""]).encode()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([row[name] for name in FIELDS] for row in rows)
    return out.getvalue().encode()
