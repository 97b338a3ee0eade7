"""lower: a graph to a program, under the agreed layouts of its tables.

Expects: inputs `graph` and `target`; `rows`, what was agreed of the tables the graph names; `assume` and `numerics`.
Aside: the side file of lifting, and the paths of labels, for messages. Notes hold sections planned before. Ensures:
`program`, the wire form; `report`, canonical: sections by kind, and how each constant fill is stored; `constant.T`, the
wire form of the graph tensor behind fill T. Raises Refused with every statement that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spatial.build.canonical import digest, encode
from spatial.build.steps.agree import table_of
from spatial.build.steps.given import Given, Notes
from spatial.build.steps.missing import problems_of
from spatial.errors import Problem, Refused
from spatial.ir import wire
from spatial.ir.body import Body
from spatial.ir.graph import Graph, Lifted
from spatial.lowering import Options, ProgramLowering, lower
from spatial.target import Target


def run(given: Given) -> dict[str, bytes]:
    """The program of one graph."""
    graph = wire.unpack(given.inputs["graph"], Graph)
    lifted = replace(wire.unpack(given.aside["side"], Lifted), graph=graph)
    target = wire.unpack(given.inputs["target"], Target)
    rows: Mapping[str, Mapping[str, Any]] = given.params["rows"]
    planned = Planned(given.notes, digest(given.inputs["target"]))
    options = Options(assume=tuple(given.params["assume"]), lookup=planned.lookup, keep=planned.keep)
    lowering = lower(lifted, {name: table_of(name, row) for name, row in rows.items()}, target, options)
    program = lowering.whole()
    if program is None:
        raise Refused(_refusal(lowering, given.aside["paths"]))
    fills = {
        name: {"shape": list(tensor.shape), "prec": tensor.prec, "layout": tensor.layout}
        for name, _ in lowering.fills
        for tensor in program.tensors
        if tensor.name == name
    }
    made = {"program": wire.pack(program), "report": encode({"kinds": dict(lowering.kinds), "fills": fills})}
    for name, number in lowering.fills:
        if name in fills:
            made[f"constant.{name}"] = wire.pack(replace(graph.tensors[number], range=None))
    return made


class Planned:
    """Sections planned before, kept by content: equal statements of any program and any build meet here."""

    def __init__(self, notes: Notes, target: str) -> None:
        self.notes, self.target = notes, target

    def lookup(self, template: Body) -> Body | None:
        """What the passes made of `template`, or None."""
        found = self.notes.find(self._of(template))
        return None if found is None else wire.unpack(found, Body)

    def keep(self, template: Body, body: Body) -> None:
        """Remember that the passes make `body` of `template`."""
        self.notes.keep(self._of(template), wire.pack(body))

    def _of(self, template: Body) -> dict[str, object]:
        return {"target": self.target, "template": digest(wire.pack(template))}


def _refusal(lowering: ProgramLowering, paths: Mapping[str, str]) -> list[Problem]:
    """Every missing statement, after a line that says how many of all."""
    missing = tuple(replace(m, file=paths.get(m.file, m.file)) for m in lowering.missing)
    return problems_of("lowered", lowering.lowered, lowering.statements, missing)
