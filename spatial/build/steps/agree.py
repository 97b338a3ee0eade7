"""agree: how every table and weight of a deployment is laid out, judged over all its programs at once.

Expects: each program's graph as an input, the target's record; `stored`, formats asked for by name; `dense`, tables
asked for in tiles, or nothing. Ensures: `rows`, a canonical map of one row a table. Raises Refused where programs
contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spatial.build.canonical import encode
from spatial.build.steps.given import Given
from spatial.ir import wire
from spatial.ir.graph import Graph
from spatial.select.layouts import Request, TableLayout, agree
from spatial.target import Target


def run(given: Given) -> dict[str, bytes]:
    """The rows of the agreement."""
    target = wire.unpack(given.inputs["target"], Target)
    calls: Mapping[str, str] = given.aside["programs"]
    graphs = {calls[name]: wire.unpack(data, Graph) for name, data in given.inputs.items() if name != "target"}
    dense = given.params["dense"]
    request = Request(dict(given.params["stored"]), None if dense is None else frozenset(dense))
    return {"rows": encode({name: row_of(table) for name, table in agree(graphs, request, target).items()})}


def row_of(table: TableLayout) -> dict[str, object]:
    """A row of the agreement as plain values; `shape` is what its view makes of `dims`."""
    return {
        "role": table.role,
        "dims": list(table.dims),
        "kind": table.kind,
        "split": list(table.split),
        "layout": table.layout,
        "prec": table.prec,
        "range": None if table.range is None else list(table.range),
        "shape": list(table.view.shape),
    }


def table_of(name: str, row: Mapping[str, Any]) -> TableLayout:
    """The record that `row_of` made `row` of."""
    bounds = row["range"]
    first, second = row["split"]
    return TableLayout(
        name,
        row["role"],
        tuple(row["dims"]),
        row["kind"],
        (first, second),
        row["layout"],
        row["prec"],
        None if bounds is None else (bounds[0], bounds[1]),
    )
