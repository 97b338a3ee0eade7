"""Obligation 15: the programs of a deployment agree on what they share, and on where everything lies.

Each shared table has one placement, and one shape, format, layout, role and meaning in every program, and the
dimensions that the graphs know it by; what one program may store into it, every other may read. No two allocations
overlap; each is aligned, as large as its layout says, and in memory. Weights are bound by digest. Knows no body:
programs are judged one by one elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from spatial.check.bindings import contains, range_of
from spatial.check.spans import is_int
from spatial.check.verdict import Log, Spot
from spatial.ir.bundle import Bundle, Entry, Placement, Table
from spatial.ir.graph import Graph
from spatial.ir.layout import layout_of
from spatial.ir.program import Tensor
from spatial.numerics import PRECISIONS
from spatial.target import Target

DIGEST = re.compile(r"[0-9a-f]{64}")

LANGUAGE_PROGRAMS = ("prefill", "decode")
LANGUAGE_TABLES = ("tokens", "start", "count", "token", "position")
LANGUAGE_RESULTS = ("logits",)


def check_deployment(bundle: Bundle, known: Mapping[str, Mapping[str, Tensor]], log: Log) -> None:
    """Judge what the programs share; `known`: the well-formed tensors of each program, by name."""
    at = log.at("deployment", "bundle")
    for what, names in (("program", [e.name for e in bundle.entries]), ("table", [t.name for t in bundle.tables])):
        at.require(len(set(names)) == len(names) and all(names), f"two {what}s have one name, or one has none")
    at.require(bool(bundle.entries), "it has no program")
    tables = {t.name: t for t in bundle.tables}
    places: dict[tuple[str, str], Placement] = {}
    for p in bundle.memory:
        name = f"placement of {p.tensor}" + (f" of {p.program}" if p.program else "")
        here = at.at(name)
        here.require((p.program, p.tensor) not in places, "it is placed twice")
        here.require(not p.program or p.program in known, f"there is no program {p.program!r}")
        owner = p.tensor in tables if not p.program else p.tensor in known.get(p.program, {})
        here.require(owner, "nothing is called so")
        places[p.program, p.tensor] = p
    _memory(bundle, at)
    for entry in bundle.entries:
        tensors = known.get(entry.name, {})
        for tensor in tensors.values():
            _tensor(entry, tensor, places, bundle.target, at.at(f"program {entry.name}, tensor {tensor.name}"))
        _interface(entry, tensors, tables, bundle, at.at(f"program {entry.name}"))
    for table in bundle.tables:
        _shared(table, bundle.entries, known, at.at(f"table {table.name}"))
    _language(bundle, tables, at.at("generate"))


def _memory(bundle: Bundle, at: Spot) -> None:
    """Alignment, size and disjointness of all allocations."""
    memory = bundle.target.memory
    for p in bundle.memory:
        here = at.at(f"placement of {p.tensor}")
        here.require(
            p.address >= 0 and p.bytes > 0 and p.address + p.bytes <= memory.bytes,
            f"bytes {p.address} to {p.address + p.bytes} are not all of the {memory.bytes} of memory",
        )
        here.require(
            memory.align > 0 and p.address % memory.align == 0, f"address {p.address} is not aligned to {memory.align}"
        )
    for a, b in pairwise(sorted(bundle.memory, key=lambda p: (p.address, p.bytes))):
        at.require(
            a.address + a.bytes <= b.address,
            f"{a.tensor} (bytes {a.address} to {a.address + a.bytes}) and {b.tensor} (from {b.address} on) overlap",
            "link the programs again",
        )


def _tensor(
    entry: Entry,
    tensor: Tensor,
    places: Mapping[tuple[str, str], Placement],
    target: Target,
    at: Spot,
) -> None:
    """A tensor has one allocation, of its layout's size, and a digest where the deployment fills it."""
    own, common = places.get((entry.name, tensor.name)), places.get(("", tensor.name))
    if not at.require(
        (own is None) != (common is None), "it has no allocation of its own or of the deployment, or both"
    ):
        return
    placement = own or common
    shared = tensor.role in ("input", "state", "result")
    at.require(not shared or own is None, f"a {tensor.role} lies in the program's own memory, where no host looks")
    size = layout_of(tensor.layout, tensor.prec, tensor.shape, target).bytes
    given = placement.bytes if placement else 0
    at.require(given == size, f"its allocation has {given} bytes, and its layout takes {size}")
    data = placement.data if placement else ""
    if tensor.role == "weight":
        at.require(DIGEST.fullmatch(data) is not None, f"the weight's data is bound by no digest, but by {data!r}")
    else:
        at.require(not data, f"a {tensor.role} comes with data")


def _interface(
    entry: Entry, tensors: Mapping[str, Tensor], tables: Mapping[str, Table], bundle: Bundle, at: Spot
) -> None:
    """What a program takes, gives and carries is what its entry says, and every table is one of the deployment."""
    given = {role: {t.name for t in tensors.values() if t.role == role} for role in ("input", "state")}
    given["result"] = {name for name, _, _ in entry.program.results}
    said = {"input": entry.inputs, "state": entry.state, "result": entry.results}
    for role, names in said.items():
        held = given[role]
        at.require(
            set(names) == held and len(set(names)) == len(names),
            f"its {role}s are said to be {', '.join(names) or 'none'}, and are {', '.join(sorted(held)) or 'none'}",
        )
        for name in names:
            at.require(name in tables, f"its {role} {name} is no table of the deployment")
    for name, tensor, _ in entry.program.results:
        at.require(name == tensor, f"the result {name} lies in a table of another name, {tensor}")
    if entry.graph is not None:
        _graph(entry, entry.graph, tables, at)
    missing = [a for a in entry.program.assume if a not in bundle.assume]
    at.require(not missing, f"it assumes {'; '.join(missing)}, which the deployment does not declare")


def _graph(entry: Entry, graph: Graph, tables: Mapping[str, Table], at: Spot) -> None:
    """A table has the dimensions and the kind that each graph knows it by; several are stored in one shape."""
    made = ((name, graph.tensors[n]) for name, n in graph.results if 0 <= n < len(graph.tensors))
    named = [*((t.name, t) for t in graph.tensors if t.name), *(m for m in made if m[0] in entry.results)]
    for name, tensor in named:
        if name in tables:
            here, table = (tensor.dims, tensor.kind), tables[name]
            at.require(
                here == (table.dims, table.kind),
                f"its graph has {name} as {here}, and the deployment as {(table.dims, table.kind)}",
            )


def _shared(table: Table, entries: Sequence[Entry], known: Mapping[str, Mapping[str, Tensor]], at: Spot) -> None:
    """Every program sees a table alike, and what one may store into it, all others may read."""
    at.require(prod(table.dims) == prod(table.shape), f"dimensions {table.dims} do not fill the shape {table.shape}")
    users = [(e, known[e.name][table.name]) for e in entries if table.name in known.get(e.name, {})]
    at.require(bool(users), "no program uses it")
    for entry, tensor in users:
        here = at.at(f"program {entry.name}")
        here.require(tensor.role == table.role, f"it is a {table.role}, and a {tensor.role} there")
        here.require(tensor.shape == table.shape, f"its shape is {table.shape}, and {tensor.shape} there")
        first = users[0][1]
        here.require(
            (tensor.prec, tensor.layout) == (first.prec, first.layout),
            f"it is {tensor.prec} {tensor.layout} there, and {first.prec} {first.layout} in {users[0][0].name}",
            "lay the table out alike in every program",
        )
        if tensor.prec not in PRECISIONS or not is_int(tensor.prec) or tensor.prec != first.prec:
            continue
        holds = range_of(tensor.prec, tensor.range)
        if table.role == "input" or (table.range is not None and table.role == "state"):
            # An input without a declared range may hold whatever its format holds.
            declared = range_of(tensor.prec, table.range)
            here.require(
                contains(holds, declared),
                f"[{declared[0]}, {declared[1]}] is declared, the program was made for [{holds[0]}, {holds[1]}]",
                "build the program for the declared range",
            )
        for other, written in users:
            if _stores(other, table.name):
                may = range_of(written.prec, written.range)
                at.require(
                    table.range is None or contains(table.range, may),
                    f"{other.name} may store [{may[0]}, {may[1]}] into it, and {table.range} is declared",
                    "widen the declared range",
                )
                here.require(
                    contains(holds, may),
                    f"{other.name} may store [{may[0]}, {may[1]}] into it, and it holds [{holds[0]}, {holds[1]}] here",
                    "widen the range of the reader",
                )


def _stores(entry: Entry, tensor: str) -> bool:
    return any(
        bind.tensor == tensor and operand.mode == "out"
        for phase in entry.program.phases
        for call in phase
        if 0 <= call.body < len(entry.program.bodies)
        for operand, bind in zip(entry.program.bodies[call.body].operands, call.binds, strict=False)
    )


def _language(bundle: Bundle, tables: Mapping[str, Table], at: Spot) -> None:
    """The roles of a language model name programs and tables there are."""
    programs = {e.name for e in bundle.entries}
    for role, value in bundle.generate:
        names = (value,) if isinstance(value, str) else ()
        if role in LANGUAGE_PROGRAMS:
            at.require(len(names) == 1 and names[0] in programs, f"{role} is {value!r}, which is no program")
        elif role in (*LANGUAGE_TABLES, *LANGUAGE_RESULTS):
            at.require(len(names) == 1 and names[0] in tables, f"{role} is {value!r}, which is no table")
        else:
            at.require(role == "stop" and not names, f"there is no role {role!r} of {value!r}")
