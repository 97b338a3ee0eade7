"""`spatial compile --explain`: what each statement of a source lifted to, as records and as text.

The records are those that `--json` prints; the text says the same in some hundred columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spatial.cli.jobs import Job

if TYPE_CHECKING:
    from spatial.ir.graph import Graph, Recorded, Statement
    from spatial.lowering import ProgramLowering

Record = dict[str, Any]

_PIECES = 4
"""Pieces of one statement that are shown in text before the rest is counted."""


def explained(job: Job, lowering: ProgramLowering) -> Record:
    """`explained`, `recorded`, `operands`, `dense`, `links`: what is lifted of a program, whole or in part."""
    from spatial.graph.describe import names_of, statements_of

    graph = job.lifted.graph or job.lifted.partial
    if graph is None:
        return {"explained": [], "recorded": [], "operands": [], "dense": [], "links": []}
    names = names_of(graph, job.lifted)
    sections: dict[tuple[int, int], list[str]] = {}
    for made in lowering.made:
        sections.setdefault((made.node, made.inner), []).append(made.kind)
    joined: dict[int, list[Recorded]] = {}
    for r in job.lifted.recorded:
        if r.fate == "joined":
            joined.setdefault(r.of, []).append(r)
    origins = {(o.node, o.inner): o for o in job.lifted.origins}
    rows: list[Record] = []
    for place, statement, instances in statements_of(graph):
        o = origins.get(place)
        rows.append(
            {
                "statement": o.statement if o else 0,
                "binder": o.name if o else "",
                "file": o.file if o else "",
                "line": o.line if o else 0,
                "column": o.column if o else 0,
                "instances": instances,
                **_said(statement, graph, names),
                "sections": sections.get(place, []),
                "joined": [_joined(r, o.file if o else "") for r in joined.get(statement.out, [])],
            }
        )
    return {
        "explained": rows,
        "recorded": [_recorded(r, names) for r in job.lifted.recorded if r.fate != "joined"],
        "operands": _operands(graph, job, names),
        "dense": sorted(t.name for t in job.tables.values() if t.layout == "dense"),
        "links": [],  # one chip: nothing is sent between chips
    }


def _joined(r: Recorded, file: str) -> str:
    place = f"{r.line}:{r.column}" if r.file == file else f"{r.file}:{r.line}:{r.column}"
    return f"{r.name} ({place})"


def _said(statement: Statement, graph: Graph, names: Mapping[int, str]) -> Record:
    from spatial.graph.describe import conditions, expression, family, is_float, name, place, touched

    first = statement.pieces[0]
    made = graph.tensors[statement.out]
    return {
        "family": family(statement),
        "float": is_float(statement, graph),
        "box": list(first.par),
        "over": list(first.red),
        "pieces": [
            f"[{place(p, names)}] = {expression(p, names)}"
            + (f" where {conditions(p.guards, p, names)}" if p.guards else "")
            for p in statement.pieces
        ],
        "reads": [name(n, names) for n in touched(statement)],
        "range": None if made.range is None or made.kind != "int" else list(made.range),
    }


def _recorded(r: Recorded, names: Mapping[int, str]) -> Record:
    from spatial.graph.describe import name

    return {
        "fate": r.fate,
        "statement": r.statement,
        "binder": r.name,
        "of": name(r.of, names) if r.of >= 0 else "",
        "file": r.file,
        "line": r.line,
        "column": r.column,
    }


def _operands(graph: Graph, job: Job, names: Mapping[int, str]) -> list[Record]:
    """Every tensor that no statement makes: its name, and the closed form the source writes into it, or Unknown."""
    from spatial.graph.describe import expression, name

    found: list[Record] = []
    for n, t in enumerate(graph.tensors):
        if t.role == "made":
            continue
        table = job.tables.get(t.name)
        found.append(
            {
                "name": name(n, names),
                "role": t.role,
                "type": t.kind,
                "shape": list(t.dims),
                "range": None if t.range is None else list(t.range),
                "fill": "Unknown" if t.fill is None else expression(t.fill, names),
                "layout": table.layout if table else "",
                "precision": table.prec if table else "",
            }
        )
    return found


# ---------------------------------------------------------------- as text


def told(found: Record) -> Iterator[str]:
    """The records as lines."""
    file = ""
    for row in found["explained"]:
        if row["file"] != file:
            file = row["file"]
            yield f"{file or 'the end of the program'}:"
        yield from _statement(row)
    rest: Sequence[Record] = found["recorded"]
    if rest:
        yield "no statements of their own:"
    for r in rest:
        where = f"{r['line']}:{r['column']} " if r["line"] else ""
        yield f"  {where}{r['binder'] or '-'}: {_FATES[r['fate']]}{_of(r)}"
    if found["operands"]:
        yield "operands:"
    for o in found["operands"]:
        shape = " x ".join(map(str, o["shape"])) or "one"
        bounds = f", {o['range'][0]} to {o['range'][1]}" if o["range"] else ""
        stored = "".join(f", {form}" for form in dict.fromkeys((o["precision"], o["layout"])) if form)
        yield f"  {o['name']}: {o['role']}, {shape} {_TYPES[o['type']]}{bounds}{stored}, {o['fill']}"
    yield f"dense tables: {', '.join(found['dense']) or 'none'}"
    yield f"links: {', '.join(found['links']) or 'none, on one chip'}"


_FATES = {"view": "a view", "fill": "a constant", "duplicate": "the same", "dead": "needed by nothing that is read"}
_TYPES = {"int": "Int", "float": "Float"}


def _of(r: Record) -> str:
    if r["fate"] == "fill" or not r["of"]:
        return "" if r["of"] or r["fate"] != "view" else ", written out where it is read"
    return f" {'as' if r['fate'] == 'duplicate' else 'of'} {r['of']}"


def _statement(row: Record) -> Iterator[str]:
    times = f", in {row['instances']} instances" if row["instances"] > 1 else ""
    where = f"{row['line']}:{row['column']} " if row["line"] else ""
    yield f"  {where}{row['binder'] or '-'}{times}"
    over = f" over {_extents(row['over'])}" if row["over"] else ""
    kinds = f": {', '.join(row['sections'])}" if row["sections"] else ""
    yield f"    {row['family']} {_extents(row['box'])}{over}, {'Float' if row['float'] else 'Int'}{kinds}"
    for p in row["pieces"][:_PIECES]:
        yield from _wrapped(p)
    if len(row["pieces"]) > _PIECES:
        yield f"      and {len(row['pieces']) - _PIECES} more pieces"
    if row["joined"]:
        yield from _wrapped("joined: " + ", ".join(row["joined"]))
    if row["range"]:
        yield f"      from {row['range'][0]} to {row['range'][1]}"


def _extents(dims: Sequence[int]) -> str:
    return "[" + " x ".join(map(str, dims)) + "]"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent="      ", subsequent_indent="        ", break_long_words=False)
