"""Rules on programs: tensors, binds, versions, the sites of a phase.

Knows of bodies only their operands and rectangle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spatial.errors import Problem
from spatial.ir.body import Operand
from spatial.ir.program import ROLES, Bind, Phase, Program, Tensor
from spatial.ir.validate.problems import problem
from spatial.ir.validate.shape import repeated
from spatial.numerics import PRECISIONS, Q8_BLOCK, int_range
from spatial.target import Target


def program_problems(program: Program, target: Target) -> list[Problem]:
    """Every problem of a program's own: what its bodies are is judged one by one elsewhere."""
    found = list(_tensors(program))
    tensors = {t.name: t for t in program.tensors}
    for n, phase in enumerate(program.phases):
        found += _calls(program, phase, tensors, target, f"phase {n}")
        found += _sites(program, phase, target, f"phase {n}")
    return found or [*_versions(program, tensors), *_readers(program, tensors)]


def _tensors(program: Program) -> Iterator[Problem]:
    for name in repeated([t.name for t in program.tensors]):
        yield problem(f"tensor {name}", "the name is taken twice", mend="rename one")
    for t in program.tensors:
        place = f"tensor {t.name}"
        if t.role not in ROLES:
            yield problem(place, f"no role is called {t.role!r}", f"roles are {', '.join(ROLES)}")
        if min(t.shape) < 1:
            yield problem(place, f"the shape {t.shape} is empty")
        if (t.layout == "q8_0") != (t.prec == "q8_0"):
            yield problem(place, f"{t.prec} in the layout {t.layout}", "q8_0 is a format and a layout at once")
        elif t.layout == "q8_0" and (t.role != "weight" or t.shape[1] % Q8_BLOCK):
            yield problem(place, f"q8_0 of shape {t.shape} as {t.role}", "it is a weight, its rows whole blocks of 32")
        elif t.layout != "q8_0" and (t.prec not in PRECISIONS or t.layout not in ("flat", "dense")):
            yield problem(place, f"no format is {t.prec} {t.layout}")


def _calls(
    program: Program, phase: Phase, tensors: Mapping[str, Tensor], target: Target, place: str
) -> Iterator[Problem]:
    for n, call in enumerate(phase):
        at = f"{place} / call {n}"
        if not 0 <= call.body < len(program.bodies):
            yield problem(at, f"there is no body {call.body}", f"bodies are 0 to {len(program.bodies) - 1}")
            continue
        operands = program.bodies[call.body].operands
        if len(operands) != len(call.binds):
            yield problem(at, f"{len(call.binds)} binds for {len(operands)} operands", "each operand is bound once")
            continue
        for operand, bind in zip(operands, call.binds, strict=True):
            if bind.tensor not in tensors:
                yield problem(f"{at} / {operand.name}", f"no tensor is called {bind.tensor!r}")
            else:
                yield from _bind(f"{at} / {operand.name}", operand, bind, tensors[bind.tensor], target)


def _bind(at: str, operand: Operand, bind: Bind, tensor: Tensor, target: Target) -> Iterator[Problem]:
    if (operand.prec, operand.layout) != (tensor.prec, tensor.layout):
        what = f"{tensor.name}, {tensor.prec} {tensor.layout}, as an operand of {operand.prec} {operand.layout}"
        yield problem(at, what, "formats and layouts are part of a body", "a body of that format, or a bridge")
    if operand.extent != bind.extent:
        yield problem(at, f"an extent of {bind.extent} for an operand of {operand.extent}", "extents agree")
    ends = [o + e for o, e in zip(bind.origin, bind.extent, strict=True)]
    if min(bind.origin) < 0 or any(e > n for e, n in zip(ends, tensor.shape, strict=True)):
        yield problem(at, f"{bind.origin} to {tuple(ends)} of {tensor.name}", f"its shape is {tensor.shape}")
    rows, cols = _grain(operand, target)
    if bind.origin[1] % rows or bind.origin[2] % cols:
        why = f"in this layout a part begins at multiples of {rows} rows and {cols} columns"
        yield problem(at, f"the origin {bind.origin}", why, "move the offset into the body's places")
    if operand.mode == "out" and tensor.role in ("input", "weight"):
        why = "only state, results and intermediates are made"
        yield problem(at, f"a store into {tensor.name}, {tensor.role}", why)
    if operand.prec in PRECISIONS and PRECISIONS[operand.prec].kind == "int":
        whole = int_range(operand.prec)
        inner, outer = tensor.range or whole, operand.range or whole
        if operand.mode == "out":
            inner, outer = outer, inner
        if not (outer[0] <= inner[0] and inner[1] <= outer[1]):
            what = f"values {inner[0]}..{inner[1]} where {outer[0]}..{outer[1]} are allowed"
            yield problem(at, what, "what is loaded or stored lies within what was proved")


def _grain(operand: Operand, target: Target) -> tuple[int, int]:
    """Rows and columns of which an origin is a multiple."""
    match operand.layout:
        case "dense":
            return target.tile
        case "q8_0":
            return Q8_BLOCK, Q8_BLOCK
        case _ if operand.mode == "out" and operand.prec in PRECISIONS:
            return 1, max(target.memory.granule // PRECISIONS[operand.prec].bytes, 1)
        case _:
            return 1, 1


def _sites(program: Program, phase: Phase, target: Target, place: str) -> Iterator[Problem]:
    """Calls of a phase stand on the chip, on sites of their own."""
    placed: list[tuple[int, int, int, int, int]] = []
    for n, call in enumerate(phase):
        if not 0 <= call.body < len(program.bodies):
            continue
        (x, y), (w, h) = call.place, program.bodies[call.body].rect
        at = f"{place} / call {n}"
        if min(x, y) < 0 or x + w > target.columns or y + h > target.rows:
            what = f"{w}x{h} sites at ({x}, {y})"
            yield problem(at, what, f"the chip has {target.columns} x {target.rows}", "place it elsewhere")
        for other, ox, oy, ow, oh in placed:
            if x < ox + ow and ox < x + w and y < oy + oh and oy < y + h:
                yield problem(at, f"it shares sites with call {other}", "calls of a phase run at once")
        placed.append((n, x, y, w, h))


def _versions(program: Program, tensors: Mapping[str, Tensor]) -> Iterator[Problem]:
    """A load names the version current when its phase begins, a store the next one; what is read was made."""
    current = dict.fromkeys(tensors, 0)
    for n, phase in enumerate(program.phases):
        made: set[str] = set()
        for c, call in enumerate(phase):
            for operand, bind in zip(program.bodies[call.body].operands, call.binds, strict=True):
                at = f"phase {n} / call {c} / {operand.name}"
                have = current[bind.tensor]
                if operand.mode == "out":
                    made.add(bind.tensor)
                    if bind.version != have + 1:
                        why = f"stores of this phase make version {have + 1}"
                        yield problem(at, f"a store of {bind.tensor}@{bind.version}", why)
                elif bind.version != have:
                    why = f"version {have} is current when the phase begins"
                    yield problem(at, f"a load of {bind.tensor}@{bind.version}", why)
                elif have == 0 and tensors[bind.tensor].role in ("result", "intermediate"):
                    yield problem(at, f"a load of {bind.tensor} before any store", "nothing is in it")
        for name in made:
            current[name] += 1
    named = [(f"result {n}", t, v) for n, t, v in program.results] + [(f"state {t}", t, v) for t, v in program.state]
    for at, tensor, version in named:
        if tensor not in tensors:
            yield problem(at, f"no tensor is called {tensor!r}")
        elif version != current[tensor]:
            yield problem(at, f"version {version} of {tensor}", f"the program ends with version {current[tensor]}")
    ends = {t for t, _ in program.state}
    for t in program.tensors:
        if t.role == "state" and current[t.name] and t.name not in ends:
            yield problem(f"tensor {t.name}", "a state that is made and not listed", "the next call reads it")


def _readers(program: Program, tensors: Mapping[str, Tensor]) -> Iterator[Problem]:
    """Blocks and shows speak of what there is."""
    for n, block in enumerate(program.blocks):
        at = f"block {n}"
        last = block.first + block.length * block.trip
        if block.first < 0 or block.length < 1 or block.trip < 1 or last > len(program.phases):
            what = f"phases {block.first} to {last - 1}"
            yield problem(at, what, f"the program has {len(program.phases)}")
        if len(block.carried) != block.trip:
            yield problem(at, f"{len(block.carried)} lists of what is carried", f"there are {block.trip} instances")
    names = [(f"block {n}", t) for n, b in enumerate(program.blocks) for inst in b.carried for t, _ in inst]
    names += [("show", s.tensor) for shown in program.shows for s in shown if s.tensor]
    for at, tensor in names:
        if tensor not in tensors:
            yield problem(at, f"no tensor is called {tensor!r}")
