"""Obligations 10 and 12: calls bind operands to tensors that are what the body was proved for, at places the chip has.

Formats, layouts and extents are equal; the bound part lies in the tensor, at any slice, and at rows and columns by the
tile (of a flat tensor that is stored: by the granule); what a tensor may hold, a loading operand allows, and what a
body may store, the tensor allows. A float operand may be called finite only where every version it can read was stored
by bodies whose stored values are bounded: no input, weight or state is, for nobody here has seen their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from spatial.check.bodies import Facts
from spatial.check.spans import is_int
from spatial.check.verdict import Log, Spot
from spatial.ir.body import Body, Operand
from spatial.ir.program import Bind, Call, Phase, Program, Tensor
from spatial.numerics import PRECISIONS, Q8_BLOCK, int_range, precision
from spatial.target import Target


def range_of(prec: str, said: tuple[int, int] | None) -> tuple[int, int]:
    """The values an integer tensor or operand may hold: what is said of it, or all its format holds."""
    return said if said is not None else int_range(prec)


def contains(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    """Whether interval `inner` lies in `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def check_call(
    call: Call, program: Program, tensors: Mapping[str, Tensor], bounded: frozenset[str], target: Target, at: Spot
) -> bool:
    """Whether the binds of one call fit its body; `bounded`: tensors whose stored floats are finite."""
    if not at.require(0 <= call.body < len(program.bodies), f"there is no body {call.body}"):
        return False
    body = program.bodies[call.body]
    if not at.require(
        len(call.binds) == len(body.operands), f"{len(call.binds)} parts are bound to {len(body.operands)} operands"
    ):
        return False
    before = at.log.findings
    for operand, bind in zip(body.operands, call.binds, strict=True):
        here = at.at(f"operand {operand.name}")
        if here.require(bind.tensor in tensors, f"no tensor is called {bind.tensor!r}"):
            _bind(operand, bind, tensors[bind.tensor], bounded, target, here)
    return at.log.findings == before


def _bind(operand: Operand, bind: Bind, tensor: Tensor, bounded: frozenset[str], target: Target, at: Spot) -> None:
    at.require(
        (operand.prec, operand.layout) == (tensor.prec, tensor.layout),
        f"{tensor.name} is {tensor.prec} {tensor.layout}, the operand {operand.prec} {operand.layout}",
        "bind a body made for this format and layout",
    )
    at.require(
        bind.extent == operand.extent,
        f"a part of {bind.extent} is bound to an operand of {operand.extent}",
        "bind a part of the operand's extent",
    )
    at.require(
        all(o >= 0 and o + n <= size for o, n, size in zip(bind.origin, bind.extent, tensor.shape, strict=True)),
        f"the part at {bind.origin} of {bind.extent} leaves {tensor.name}, which is {tensor.shape}",
        "bind a part inside the tensor",
    )
    rows, cols = _grain(operand, target)
    at.require(
        bind.origin[1] % rows == 0 and bind.origin[2] % cols == 0,
        f"the origin {bind.origin} is not by {rows} rows and {cols} columns",
        "move the origin, or leave the axis to the body",
    )
    if operand.prec in PRECISIONS and is_int(operand.prec) and operand.prec == tensor.prec:
        said, holds = range_of(operand.prec, operand.range), range_of(tensor.prec, tensor.range)
        load = operand.mode == "in"
        at.require(
            contains(said, holds) if load else contains(holds, said),
            f"{tensor.name} holds [{holds[0]}, {holds[1]}], the operand {'expects' if load else 'stores'} "
            f"[{said[0]}, {said[1]}]",
            f"{'narrow' if load else 'widen'} the range of {tensor.name}, or bind a body proved for it",
        )
    elif operand.finite:
        at.require(
            operand.mode == "in" and tensor.name in bounded,
            f"nothing proves that {tensor.name} holds no infinity and no NaN",
            "let the body select what may be neither",
        )


def _grain(operand: Operand, target: Target) -> tuple[int, int]:
    """Rows and columns an origin goes by."""
    match operand.layout:
        case "dense":
            return target.tile
        case "q8_0":
            return Q8_BLOCK, Q8_BLOCK
        case _ if operand.mode == "out" and operand.prec in PRECISIONS:
            return 1, max(1, target.memory.granule // precision(operand.prec).bytes)
        case _:
            return 1, 1


def check_rectangles(phase: Phase, bodies: Sequence[Body], target: Target, at: Spot) -> None:
    """The rectangles of a phase lie on the chip and share no site."""
    owner = np.full((target.columns, target.rows), -1, dtype=np.int64)
    for n, call in enumerate(phase):
        if not 0 <= call.body < len(bodies):
            continue
        (x, y), (w, h) = call.place, bodies[call.body].rect
        here = at.at(f"call {n}")
        if not here.require(
            x >= 0 and y >= 0 and w >= 1 and h >= 1 and x + w <= target.columns and y + h <= target.rows,
            f"the {w} x {h} sites at ({x}, {y}) are not all of the chip's {target.columns} x {target.rows}",
            "place the call on sites the chip has",
        ):
            continue
        part = owner[x : x + w, y : y + h]
        taken = part[part >= 0]
        here.require(
            not len(taken),
            f"its sites at ({x}, {y}) are also those of call {int(taken[0]) if len(taken) else ''}",
            "place the calls of a phase on disjoint sites, or in different phases",
        )
        part[...] = n


def bounded_tensors(program: Program, facts: Sequence[Facts | None]) -> frozenset[str]:
    """Intermediates and results whose every store is of finite floats."""
    roles = {t.name for t in program.tensors if t.role in ("intermediate", "result")}
    stored: dict[str, bool] = {}
    for phase in program.phases:
        for call in phase:
            known = facts[call.body] if 0 <= call.body < len(facts) else None
            operands = program.bodies[call.body].operands if known is not None else ()
            for operand, bind in zip(operands, call.binds, strict=False):
                if operand.mode == "out" and known is not None:
                    span = known.stored.get(operand.name)
                    stored[bind.tensor] = stored.get(bind.tensor, True) and span is not None and span.finite
    return frozenset(name for name, finite in stored.items() if finite and name in roles)


def check_tensors(
    program: Program, declared: Mapping[str, tuple[int, int]], target: Target, place: str, log: Log
) -> dict[str, Tensor]:
    """The well-formed tensors of a program by name; what is declared of inputs lies in what they are said to hold."""
    out: dict[str, Tensor] = {}
    for tensor in program.tensors:
        at = log.at("binding", f"{place}, tensor {tensor.name}")
        fine = at.require(tensor.name not in out and bool(tensor.name), "two tensors are called so")
        fine &= _tensor(tensor, at)
        if not fine:
            continue
        out[tensor.name] = tensor
        if tensor.prec in PRECISIONS and is_int(tensor.prec):
            holds = range_of(tensor.prec, tensor.range)
            at.require(
                holds[0] <= holds[1] and contains(int_range(tensor.prec), holds),
                f"a range [{holds[0]}, {holds[1]}] is none of {tensor.prec}",
            )
            if tensor.role == "state":
                at.require(contains(holds, (0, 0)), f"it starts as zeros and is said to hold [{holds[0]}, {holds[1]}]")
            if tensor.role == "input" and tensor.name in declared:
                low, high = declared[tensor.name]
                at.require(
                    contains(holds, (low, high)),
                    f"inputs of [{low}, {high}] are declared, the program was made for [{holds[0]}, {holds[1]}]",
                    "build the program for the declared range",
                )
    return out


def _tensor(tensor: Tensor, at: Spot) -> bool:
    roles = ("input", "weight", "state", "result", "intermediate")
    fine = at.require(tensor.role in roles, f"no role is called {tensor.role!r}")
    sizes = tensor.shape
    fine &= at.require(min(sizes) >= 1 and prod(sizes) < 1 << 53, f"the shape {sizes} is empty or beyond all memory")
    if tensor.layout == "q8_0":
        blocks = tensor.shape[1] % Q8_BLOCK == 0
        return fine & at.require(
            tensor.prec == "q8_0" and tensor.role == "weight" and blocks, "a q8_0 tensor is a weight of whole blocks"
        )
    fine &= at.require(tensor.layout in ("flat", "dense"), f"no layout is called {tensor.layout!r}")
    return fine & at.require(tensor.prec in PRECISIONS, f"no precision is called {tensor.prec!r}")
