"""Obligation 11: every load reads bytes that are initialised and of the version it names.

Phase by phase. Inputs and weights have version 0 and are never stored. State has version 0, and inherits what a phase
does not store. Intermediates and results have no version 0, and each version is covered whole by the stores of its
phase, so every byte of every version that exists is initialised. A load names the version current when its phase
begins; all stores of a phase into a tensor make the next. Within a phase no byte is stored twice, none is both stored
and loaded, and no two calls write into one granule. A store that an index or a mask decides goes to state only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from spatial.check.bodies import Facts
from spatial.check.cover import Box
from spatial.check.verdict import Log, Spot
from spatial.ir.body import Body, Operand
from spatial.ir.program import Bind, Phase, Program, Tensor
from spatial.numerics import Array, precision
from spatial.target import Target

MOST_BOXES = 1 << 12
"""Boxes that the stores of one phase may make of one tensor; more are not compared pairwise."""

WRITABLE = ("state", "result", "intermediate")
COVERED = ("result", "intermediate")


@dataclass
class _Use:
    """What one phase does with one tensor: boxes stored, by call and operand, and boxes loaded, by call."""

    owners: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    boxes: list[Box] = field(default_factory=list[Box])
    loads: list[tuple[int, Box]] = field(default_factory=list[tuple[int, Box]])
    stored: bool = False


def check_versions(
    program: Program,
    tensors: Mapping[str, Tensor],
    facts: Sequence[Facts | None],
    target: Target,
    place: str,
    log: Log,
) -> dict[str, int]:
    """The final version of each tensor (-1: none)."""
    current = {name: (0 if t.role not in COVERED else -1) for name, t in tensors.items()}
    history: list[dict[str, int]] = []
    for n, phase in enumerate(program.phases):
        at = log.at("version", f"{place}, phase {n}")
        uses: dict[str, _Use] = {}
        for c, operand, bind, known in _bound(phase, program.bodies, facts):
            if bind.tensor not in tensors:
                continue
            tensor = tensors[bind.tensor]
            here = at.at(f"call {c}, operand {operand.name}")
            use = uses.setdefault(tensor.name, _Use())
            if operand.mode == "in":
                use.loads += [(c, _moved(box, bind)) for box in known.read.get(operand.name, ())]
                _load(bind, current[tensor.name], here)
            else:
                use.stored = True
                _store(operand, bind, tensor, current[tensor.name], known, here)
                boxes = known.written[operand.name].boxes if operand.name in known.written else ()
                use.boxes += [_moved(box, bind) for box in boxes]
                use.owners += [(c, operand.name)] * len(boxes)
        for name, use in uses.items():
            if use.stored:
                _phase(use, tensors[name], target, at.at(f"tensor {name}"))
                current[name] = max(current[name], 0) + 1
        history.append(dict(current))
    _ends(program, tensors, current, history, place, log)
    return current


def _bound(
    phase: Phase, bodies: Sequence[Body], facts: Sequence[Facts | None]
) -> Iterator[tuple[int, Operand, Bind, Facts]]:
    """Each operand of each call whose body was proved."""
    for c, call in enumerate(phase):
        known = facts[call.body] if 0 <= call.body < len(bodies) else None
        if known is not None:
            for operand, bind in zip(bodies[call.body].operands, call.binds, strict=False):
                yield c, operand, bind, known


def _moved(box: Box, bind: Bind) -> Box:
    s, r, c = bind.origin
    return box[0] + s, box[1] + s, box[2] + r, box[3] + r, box[4] + c, box[5] + c


def _load(bind: Bind, current: int, at: Spot) -> None:
    words = f"version {current} is current" if current >= 0 else "it has no version yet"
    at.require(
        bind.version == current >= 0,
        f"it loads version {bind.version} of {bind.tensor} and {words} when the phase begins",
        "load the version that an earlier phase made last",
    )


def _store(operand: Operand, bind: Bind, tensor: Tensor, current: int, known: Facts, at: Spot) -> None:
    at.require(tensor.role in WRITABLE, f"it stores {tensor.name}, which is a {tensor.role}")
    following = max(current, 0) + 1
    at.require(
        bind.version == following,
        f"it makes version {bind.version} of {tensor.name}, whose next is {following}",
        "number versions by the phases that store",
    )
    written = known.written.get(operand.name)
    at.require(
        written is None or not written.indirect or tensor.role == "state",
        f"an index or a mask decides what is stored of {tensor.name}, a {tensor.role} that must be covered",
        "only state may be stored in part",
    )


def _phase(use: _Use, tensor: Tensor, target: Target, at: Spot) -> None:
    """Disjointness and coverage of what a phase stores of one tensor."""
    if len(use.boxes) > MOST_BOXES:
        at.unsure(f"its stores make {len(use.boxes)} boxes of one tensor")
        return
    boxes = np.array(use.boxes, dtype=np.int64).reshape(-1, 6)
    numbers = {owner: n for n, owner in enumerate(dict.fromkeys(use.owners))}
    owners = np.array([numbers[owner] for owner in use.owners], dtype=np.int64)
    at.log.count("version", len(boxes))
    wide = _widened(boxes, tensor, target)
    for a in range(len(boxes)):
        meets = _meets(wide[a], wide[a + 1 :]) & (owners[a + 1 :] != owners[a])
        if meets.any():
            b = a + 1 + int(np.argmax(meets))
            both = "store the same elements" if _meets(boxes[a], boxes[b : b + 1])[0] else "write into one granule"
            first, second = (f"call {call}, operand {name}," for call, name in (use.owners[a], use.owners[b]))
            at.reject(
                f"{first} and {second} {both} of it ({_words(boxes[a])} and {_words(boxes[b])})",
                "let the calls of a phase store different parts",
            )
            return
    for call, box in use.loads:
        meets = _meets(np.array(box, dtype=np.int64), wide)
        if meets.any():
            b = int(np.argmax(meets))
            at.reject(
                f"call {call} loads {_words(box)} of it while call {use.owners[b][0]} stores {_words(boxes[b])}",
                "load it in another phase",
            )
            return
    if tensor.role in COVERED:
        sizes = boxes[:, 1::2] - boxes[:, 0::2]
        stored, whole = int(sizes.prod(axis=1).sum()), prod(tensor.shape)
        at.require(
            stored == whole,
            f"{stored} of its {whole} elements are stored, and a version of a {tensor.role} is covered whole",
            "store the rest in the same phase",
        )


def _widened(boxes: Array, tensor: Tensor, target: Target) -> Array:
    """The boxes grown to whole granules of memory: whole tiles, or whole runs of a row."""
    size = precision(tensor.prec).bytes
    grain = max(1, target.memory.granule // size)
    th, tw = (1, grain) if tensor.layout == "flat" else target.tile
    if tensor.layout == "dense" and tw % grain == 0:
        th, tw = 1, grain
    out = boxes.copy()
    out[:, 2], out[:, 3] = boxes[:, 2] // th * th, -(-boxes[:, 3] // th) * th
    out[:, 4], out[:, 5] = boxes[:, 4] // tw * tw, -(-boxes[:, 5] // tw) * tw
    return out


def _meets(box: Array, others: Array) -> Array:
    """Which of `others` share an element with `box`."""
    apart = (box[0::2] >= others[:, 1::2]) | (others[:, 0::2] >= box[1::2])
    return np.logical_not(np.logical_or.reduce(apart, axis=1))


def _words(box: Array | Box) -> str:
    s0, s1, r0, r1, c0, c1 = (int(v) for v in box)
    return f"slices {s0}..{s1 - 1}, rows {r0}..{r1 - 1}, columns {c0}..{c1 - 1}"


def _ends(
    program: Program,
    tensors: Mapping[str, Tensor],
    current: Mapping[str, int],
    history: Sequence[Mapping[str, int]],
    place: str,
    log: Log,
) -> None:
    """Results, state and blocks name versions that are there when they are read."""
    at = log.at("version", place)
    for name, tensor, version in program.results:
        held = tensors.get(tensor)
        at.at(f"result {name}").require(
            held is not None and held.role in ("result", "state") and 0 <= version == current[tensor],
            f"version {version} of {tensor} is not what memory holds at the end",
            "name the last version of a result or of state",
        )
    named = {t for _, t, _ in program.results}
    carried = dict(program.state)
    for name, tensor in tensors.items():
        here = at.at(f"tensor {name}")
        if tensor.role == "result":
            here.require(name in named, "it is a result that the program does not list")
        if tensor.role == "state":
            here.require(
                carried.get(name) == current[name],
                f"the program carries version {carried.get(name)} on, and memory holds {current[name]} at the end",
                "carry the last version of each table",
            )
    for name in carried:
        at.require(name in tensors and tensors[name].role == "state", f"it carries {name!r}, which is no state")
    for n, block in enumerate(program.blocks):
        here = at.at(f"block {n}")
        last = block.first + block.length * block.trip
        fine = block.first >= 0 and min(block.length, block.trip) >= 1 and last <= len(history)
        if not here.require(fine and len(block.carried) == block.trip, "its instances are not phases of the program"):
            continue
        for i, versions in enumerate(block.carried):
            then = history[block.first + block.length * (i + 1) - 1]
            for name, version in versions:
                here.require(
                    name in tensors and then[name] == version,
                    f"instance {i} hands on version {version} of {name}, which memory does not hold then",
                )
    for show in program.shows:
        for part in show:
            fine = not part.tensor or current.get(part.tensor, -1) >= 0
            at.require(fine, f"it shows {part.tensor!r}, which has no value at the end")
