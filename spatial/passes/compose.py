"""compose: sections to a program: phases of calls, versions, tensors, blocks repeated.

A section's body is shared by all its calls; a block's sections are packed once and called once an instance, each call
binding the instance's slices and versions. Nothing here plans or proves a section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spatial.errors import Bug
from spatial.graph.names import names_of, untaken
from spatial.ir import graph as g
from spatial.ir.body import Body
from spatial.ir.program import Bind, Block, Call, Program, Show, Tensor, renamed
from spatial.passes.pack import Packed, pack
from spatial.select.pieces import piece_reads
from spatial.target import Target


@dataclass(frozen=True)
class Operand:
    """What an operand of a section is bound to: graph tensor, first slice (`base + step * b`), slices, mode."""

    tensor: int
    base: int
    step: int
    slices: int
    mode: str


@dataclass(frozen=True)
class Section:
    """A lowered statement, or one part of it: its body, the binding of each operand, and the statement.

    The parts of a statement stand one after the other, make the same tensor, and go to one phase."""

    body: Body
    operands: tuple[Operand, ...]
    statement: g.Statement


@dataclass
class Composer:
    """Puts a program together, phase by phase. `stored`: IR name, shape and facts of every graph tensor."""

    graph: g.Graph
    stored: Mapping[int, Tensor]
    target: Target
    bodies: dict[Body, int] = field(default_factory=dict[Body, int])
    phases: list[tuple[Call, ...]] = field(default_factory=list[tuple[Call, ...]])
    versions: dict[str, int] = field(default_factory=dict[str, int])
    blocks: list[Block] = field(default_factory=list[Block])
    names: dict[int, str] = field(default_factory=dict[int, str])
    twins: dict[str, str] = field(default_factory=dict[str, str])

    def name(self, tensor: int) -> str:
        """The IR tensor a graph tensor is kept in now."""
        return self.names.get(tensor, self.stored[tensor].name)

    def run(self, sections: Sequence[Section]) -> None:
        """Append sections that stand one after the other in the source."""
        packed = pack(rects(sections), depends(sections, {}), self.target, groups(sections))
        self.emit(sections, packed, 0)

    def block(self, node: g.Block, sections: Sequence[Section]) -> None:
        """Append every instance of a block."""
        inner = {c.inner: c.made for c in node.carried}
        packed = pack(rects(sections), depends(sections, inner), self.target, groups(sections))
        order = {s.statement.out: n for n, s in reversed(list(enumerate(sections)))}
        double = {
            c.made for c in node.carried if self.stored[c.made].role == "intermediate" and _late(c, sections, order)
        }
        first, carried = len(self.phases), list[tuple[tuple[str, int], ...]]()
        for instance in range(node.trip):
            for c in node.carried:
                if instance == 0:
                    self.names[c.inner] = self.name(c.initial)
                else:
                    self.names[c.inner] = self.name(c.made)
            for made in double:
                plain = self.stored[made].name
                twin = untaken(f"{plain}b", names_of(self.graph))
                self.twins[twin] = plain
                self.names[made] = plain if instance % 2 == 0 else twin
            self.emit(sections, packed, instance)
            carried.append(tuple((self.name(c.made), self.versions.get(self.name(c.made), 0)) for c in node.carried))
        for c in node.carried:
            self.names[c.final] = self.name(c.made)
        self.blocks.append(Block(first, packed.phases, node.trip, tuple(carried)))

    def emit(self, sections: Sequence[Section], packed: Packed, instance: int) -> None:
        """Append the phases of one instance."""
        for phase in range(packed.phases):
            calls: list[Call] = []
            made: set[str] = set()
            for n, section in enumerate(sections):
                if packed.phase[n] == phase:
                    calls.append(self.call(section, packed.place[n], instance, made))
            for name in made:
                self.versions[name] = self.versions.get(name, 0) + 1
            self.phases.append(tuple(calls))

    def call(self, section: Section, place: tuple[int, int], instance: int, made: set[str]) -> Call:
        """One call of a section; the names of the tensors it stores to are added to `made`."""
        number = self.bodies.setdefault(section.body, len(self.bodies))
        binds: list[Bind] = []
        for operand, facts in zip(section.operands, section.body.operands, strict=True):
            name = self.name(operand.tensor)
            version = self.versions.get(name, 0)
            if operand.mode == "out":
                version += 1
                made.add(name)
            origin = (operand.base + operand.step * instance, 0, 0)
            binds.append(Bind(name, version, origin, facts.extent))
        return Call(number, tuple(binds), place)

    def finish(self, results: Sequence[tuple[str, int]], assume: tuple[str, ...]) -> Program:
        """The program."""
        used = {b.tensor for phase in self.phases for c in phase for b in c.binds}
        used |= {self.name(part) for line in self.graph.shows for part in line.parts if isinstance(part, int)}
        used |= {name for block in self.blocks for versions in block.carried for name, _ in versions}
        named = {t.name: t for t in self.stored.values()}
        tensors = [t for t in named.values() if t.name in used or t.role in ("input", "state")]
        tensors += [replace(named[plain], name=twin) for twin, plain in self.twins.items() if twin in used]
        program = Program(
            tensors=tuple(tensors),
            bodies=tuple(self.bodies),
            phases=tuple(self.phases),
            results=tuple((n, self.name(t), self.versions.get(self.name(t), 0)) for n, t in results),
            state=tuple((name, self.versions.get(name, 0)) for name, _, _ in self.graph.state),
            blocks=tuple(self.blocks),
            shows=tuple(tuple(self.shown(p) for p in s.parts) for s in self.graph.shows),
            assume=assume,
        )
        return name_results(program)

    def shown(self, part: str | int) -> Show:
        """A part of a line the program prints."""
        return Show(part) if isinstance(part, str) else Show("", self.name(part))


def name_results(program: Program) -> Program:
    """The program with each tensor that holds a result named as the result is, and tensors in order of name."""
    role = {t.name: t.role for t in program.tensors}
    new: dict[str, str] = {}
    for result, tensor, _ in program.results:
        if role.get(tensor) == "intermediate":
            new.setdefault(tensor, result)

    made, results = renamed(program, new), set(new.values())
    tensors = [replace(t, role="result" if t.name in results else t.role) for t in made.tensors]
    return replace(made, tensors=tuple(sorted(tensors, key=lambda t: t.name)))


def rects(sections: Sequence[Section]) -> list[tuple[int, int]]:
    """The rectangle of sites each section takes."""
    return [s.body.rect for s in sections]


def groups(sections: Sequence[Section]) -> list[int]:
    """For each section the number of its statement: the tensor it makes, for every tensor is made once."""
    return [s.statement.out for s in sections]


def reads(statement: g.Statement) -> Iterator[int]:
    """The graph tensors a statement reads, the one it is written over apart."""
    for piece in statement.pieces:
        for read in piece_reads(piece):
            yield read.tensor


def depends(sections: Sequence[Section], inner: Mapping[int, int]) -> list[frozenset[int]]:
    """For each section the earlier ones it must strictly follow.

    It follows who makes what it reads or writes over; and a section that writes over a tensor, or makes what the next
    instance reads as `inner`, follows everyone who still reads the old one. Parts of one statement do not follow each
    other.
    """
    maker = {s.statement.out: n for n, s in enumerate(sections)}
    readers: dict[int, set[int]] = {}
    for n, s in enumerate(sections):
        for t in reads(s.statement):
            readers.setdefault(t, set()).add(n)
    old: dict[int, list[int]] = {}
    for i, made in inner.items():
        old.setdefault(made, []).append(i)
    out: list[frozenset[int]] = []
    for n, s in enumerate(sections):
        found = {maker[t] for t in reads(s.statement) if t in maker}
        gone = [*old.get(s.statement.out, ())] + ([] if s.statement.over is None else [s.statement.over])
        for t in gone:
            found |= {maker[t]} if t in maker else set()
            found |= {r for r in readers.get(t, set()) if r < n}
        if any(d > n for d in found):
            raise Bug("a statement reads what a later one makes")
        out.append(frozenset(d for d in found if sections[d].statement.out != s.statement.out))
    return out


def _late(carried: g.Carried, sections: Sequence[Section], order: Mapping[int, int]) -> bool:
    """Whether a section at or after the maker of the carried tensor still reads what the instance began with.

    What is made before the block, alike for every instance, overwrites nothing that an instance reads.
    """
    at = order.get(carried.made)
    return at is not None and any(carried.inner in set(reads(s.statement)) for n, s in enumerate(sections) if n >= at)
