"""Linking: the programs of a deployment over one memory, as one bundle; or every reason why they don't go together.

Place: pure, from lowered programs to a `Bundle`. Knows no file, no spec and no layout's making. What is shared is told
by role: inputs, weights, state and results are the deployment's, each with one placement. Constant fills and
intermediates are a program's own. No two placements overlap; fills of equal bytes name them by the same digest, so that
a deployment carries them once.

The memory map is in a stable order: state, inputs, results, weights, each by name; then by program its fills and its
intermediates, in the program's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spatial.errors import Bug, Problem, Refused
from spatial.graph.names import untaken
from spatial.ir.bundle import Bundle, Entry, Placement, Table
from spatial.ir.graph import Graph, GraphTensor
from spatial.ir.layout import layout_of, round_up
from spatial.ir.program import Program, Tensor, renamed
from spatial.target import Target

SHARED = ("state", "input", "result", "weight")
"""Roles of a deployment's tables, in the order of the memory map."""

ALIKE = {"role": "role", "shape": "shape", "precision": "prec", "layout": "layout"}
"""What is the same of a table in every program: its name for a reader, and as `Tensor` has it."""

Generate = tuple[tuple[str, str | tuple[int, ...]], ...]


@dataclass(frozen=True)
class Part:
    """One program to link, the graph it was lowered from, and the digest of each constant fill's bytes by tensor."""

    name: str
    program: Program
    graph: Graph
    fills: Mapping[str, str] = field(default_factory=dict[str, str])


def link(
    parts: Sequence[Part],
    weights: Mapping[str, str],
    target: Target,
    assume: tuple[str, ...] = (),
    generate: Generate = (),
) -> Bundle:
    """The bundle of `parts`; `weights` gives the digest of each stored weight's bytes.

    Raises Refused with every disagreement between programs, each naming both and the table, and with what does not fit
    the chip's memory.
    """
    parts = _apart(parts)
    problems = [*_disagreements(parts), *_ranges(parts)]
    if problems:
        raise Refused(problems)
    memory = _memory(parts, weights, target)
    needed = max((p.address + p.bytes for p in memory), default=0)
    if needed > target.memory.bytes:
        raise Refused(_too_much(memory, needed, target))
    entries = tuple(_entry(part) for part in sorted(parts, key=lambda p: p.name))
    return Bundle(target, entries, tuple(_tables(parts)), memory, assume, generate)


def _apart(parts: Sequence[Part]) -> list[Part]:
    """The parts, their own tensors not called as tables and results of others are: `_` stands before such a name."""
    shared = {t.name for part in parts for t in _shared(part)}
    found: list[Part] = []
    for part in parts:
        own = {t.name for t in part.program.tensors} - {t.name for t in _shared(part)}
        names: dict[str, str] = {}
        for name in sorted(own & shared):
            names[name] = untaken(name, own | shared | set(names.values()))
        if names:
            program = renamed(part.program, names)
            fills = {names.get(name, name): digest for name, digest in part.fills.items()}
            ordered = tuple(sorted(program.tensors, key=lambda t: t.name))
            part = replace(part, program=replace(program, tensors=ordered), fills=fills)
        found.append(part)
    return found


# ---------------------------------------------------------------- what programs say of one table


def _shared(part: Part) -> Iterator[Tensor]:
    """The tensors of a program that are the deployment's."""
    return (t for t in part.program.tensors if t.role in SHARED and t.name not in part.fills)


def _disagreements(parts: Sequence[Part]) -> Iterator[Problem]:
    """What two programs say differently of one table: each later one is compared with the first that has it."""
    seen: dict[str, tuple[Part, Tensor]] = {}
    for part in parts:
        for tensor in _shared(part):
            other, first = seen.setdefault(tensor.name, (part, tensor))
            facts = {what: (getattr(first, key), getattr(tensor, key)) for what, key in ALIKE.items()}
            if first.role == tensor.role == "result" and first.shape == tensor.shape:
                facts["dimensions"] = _dims(other, tensor.name), _dims(part, tensor.name)
            for what, (there, here) in facts.items():
                if here != there:
                    yield Problem(
                        f"programs `{other.name}` and `{part.name}` disagree on the {what} of table `{tensor.name}`: "
                        f"{_plain(there)} and {_plain(here)}",
                        "it lies once in the memory they share",
                        "let both read and write it alike, or give one its own table",
                    )


def _dims(part: Part, result: str) -> tuple[int, ...]:
    """The dimensions of a result as its program makes it, of which several are stored in one shape."""
    return part.graph.tensors[dict(part.graph.results)[result]].dims


def _plain(value: str | tuple[int, ...]) -> str:
    return value if isinstance(value, str) else " x ".join(map(str, value)) or "none"


def _ranges(parts: Sequence[Part]) -> Iterator[Problem]:
    """Integers that one program may leave in a table and another does not expect there."""
    for writer in parts:
        for name, _, final in writer.graph.state:
            tensor = writer.graph.tensors[final]
            for reader in parts if tensor.kind == "int" else ():
                expected = _started(reader, name)
                if expected is None or expected.range is None or _inside(tensor.range, expected.range):
                    continue
                low, high = expected.range
                left = "any integer" if tensor.range is None else f"{tensor.range[0]} to {tensor.range[1]}"
                yield Problem(
                    f"program `{writer.name}` may leave {left} in table `{name}`; program `{reader.name}` relies on "
                    f"{low} to {high}",
                    "what one program carries on is what the next begins with",
                    "clamp what is stored, or widen the table's range in the spec",
                )


def _started(part: Part, name: str) -> GraphTensor | None:
    """The table `name` as a program finds it."""
    return next((t for t in part.graph.tensors if t.name == name and t.role in ("state", "input")), None)


def _inside(inner: tuple[int, int] | None, outer: tuple[int, int]) -> bool:
    return inner is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


# ---------------------------------------------------------------- the host's view


def _tables(parts: Sequence[Part]) -> list[Table]:
    """Every table of the deployment, by name, as its host sees it."""
    found: dict[str, Table] = {}
    for part in parts:
        for tensor in _shared(part):
            if tensor.role != "result":
                seen = next((t for t in part.graph.tensors if t.name == tensor.name), None)
                if seen is None:
                    raise Bug(f"program {part.name} has a table {tensor.name} that its graph lacks")
                found.setdefault(tensor.name, _table(tensor.name, seen, tensor))
        numbers = dict(part.graph.results)
        for name, stored, _ in part.program.results:
            made, tensor = part.graph.tensors[numbers[name]], part.program.tensor(stored)
            if tensor.role == "result":
                # What the program was proved to leave there may be wider than what its graph says.
                table = replace(_table(name, made, tensor), range=tensor.range)
                found[name] = _wider(found.get(name, table), table)
    return [found[name] for name in sorted(found)]


def _table(name: str, seen: GraphTensor, stored: Tensor) -> Table:
    return Table(name, seen.dims, seen.kind, stored.role, stored.shape, seen.range)


def _wider(a: Table, b: Table) -> Table:
    """A result of two programs holds what either may leave there."""
    span = None if a.range is None or b.range is None else (min(a.range[0], b.range[0]), max(a.range[1], b.range[1]))
    return replace(a, range=span)


def _entry(part: Part) -> Entry:
    program = part.program
    names = {role: tuple(sorted(t.name for t in _shared(part) if t.role == role)) for role in SHARED}
    results = tuple(name for name, _, _ in program.results)
    return Entry(part.name, program, names["input"], results, names["state"], part.graph)


# ---------------------------------------------------------------- the memory map


class _Map:
    """Addresses handed out upwards, every placement at the memory's alignment."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.next = 0
        self.placed: list[Placement] = []

    def place(self, program: str, tensor: Tensor, data: str) -> None:
        size = layout_of(tensor.layout, tensor.prec, tensor.shape, self.target).bytes
        self.placed.append(Placement(program, tensor.name, self.next, size, data))
        self.next = round_up(self.next + size, self.target.memory.align)


def _memory(parts: Sequence[Part], weights: Mapping[str, str], target: Target) -> tuple[Placement, ...]:
    memory = _Map(target)
    shared = {t.name: t for part in parts for t in _shared(part)}
    for tensor in sorted(shared.values(), key=lambda t: (SHARED.index(t.role), t.name)):
        if tensor.role == "weight" and tensor.name not in weights:
            raise Bug(f"weight {tensor.name} was not packed")
        memory.place("", tensor, weights[tensor.name] if tensor.role == "weight" else "")
    for part in sorted(parts, key=lambda p: p.name):
        own = [t for t in part.program.tensors if t.name in part.fills or t.role == "intermediate"]
        for tensor in sorted(own, key=lambda t: t.role == "intermediate"):
            memory.place(part.name, tensor, part.fills.get(tensor.name, ""))
    return tuple(memory.placed)


def _too_much(memory: tuple[Placement, ...], needed: int, target: Target) -> Problem:
    largest = sorted(memory, key=lambda p: -p.bytes)[:3]
    told = ", ".join(f"{p.tensor} {p.bytes}" for p in largest)
    return Problem(
        f"the deployment needs {needed} bytes of memory, {target.name} has {target.memory.bytes}",
        f"the largest tensors, in bytes: {told}",
        "store weights or tables narrower, or choose another target",
    )
