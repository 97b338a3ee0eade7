"""The symbolic machine: variables, guards in force, the journal, and the proof that every access is in range.

Holds no rule of the language; `expressions` and `execute` drive it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeVar

from spatial.errors import nearest
from spatial.lift.algebra.bounds import at_least_zero, bounds
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.solve import element
from spatial.lift.algebra.values import (
    Get,
    Node,
    Source,
    Start,
    Sym,
    Tensor,
    combine,
    free_of,
    integer,
    plus,
    scale,
)
from spatial.lift.algebra.walk import below
from spatial.lift.context.accesses import Access, no_number, out_of_range, said
from spatial.lift.context.changes import Changes, Variable
from spatial.lift.context.facts import Facts
from spatial.lift.context.flat import places, rolled, unrolled
from spatial.lift.context.state import Cell, NotLifted, Scope, Seq, Value, WrongKind, follows
from spatial.lift.context.survey import Survey
from spatial.logos import syntax
from spatial.logos.syntax import Span

V = TypeVar("V", bound=Value)


@dataclass(frozen=True)
class Mark:
    """A point the machine can return to."""

    journal: int
    accesses: int
    guards: int
    shows: int


@dataclass(eq=False)
class Machine:
    """One execution of one program. `shapes`: extents of weights and open inputs known so far; `flat_sources`: the
    tables of several axes that it is known to index as one sequence."""

    program: syntax.Program
    facts: Facts
    shapes: dict[str, tuple[int, ...]]
    integers: frozenset[str]
    changes: Changes
    flat_sources: frozenset[str] = frozenset()
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    globals: Scope = field(default_factory=Scope)
    guards: list[Node] = field(default_factory=list[Node])
    assumed: tuple[Node, ...] = ()
    journal: list[tuple[Cell, Value]] = field(default_factory=list[tuple[Cell, Value]])
    accesses: list[Access] = field(default_factory=list[Access])
    shows: list[Value] = field(default_factory=list[Value])
    calls: list[str] = field(default_factory=list[str])
    lent: list[Cell] = field(default_factory=list[Cell])
    """Variables passed to be changed, to calls that are running or whose arguments are taken."""
    deep: set[str] = field(default_factory=set[str])
    """Tables of which an item of a row is taken."""
    long: set[str] = field(default_factory=set[str])
    """Tables of which an item is taken that is perhaps no row of theirs."""
    nest_depth: int = 0
    block_depth: int = 0
    written_out: int = 0
    """Loops that would be blocks are executed iteration by iteration."""
    single: int = 0
    """Loops of one iteration around, which are no nests."""
    steps: int = 1
    """How often the loops around that are recurrences of numbers are taken step by step."""
    discovering: bool = False
    unsure: bool = False
    """While discovering: something was let pass that another execution must prove."""
    survey: Survey | None = None
    """Set where refused statements are stepped over."""
    order: int = 0
    guarded: dict[int, tuple[syntax.Stmt, Sequence[syntax.Stmt]]] = field(
        default_factory=dict[int, tuple[syntax.Stmt, Sequence[syntax.Stmt]]]
    )
    """Bodies of loops as they are run, where that is another than what is written; by identity of the loop."""

    @property
    def around(self) -> int:
        """The branches and loops around what is executed."""
        return len(self.guards) + self.nest_depth + self.block_depth

    def tick(self) -> int:
        """The next place in the order of completion."""
        self.order += 1
        return self.order

    # -- variables

    def assign(self, cell: Cell, value: Value) -> None:
        """Gives a variable a value, undoably."""
        self.journal.append((cell, cell.value))
        cell.value = value

    def mark(self) -> Mark:
        """Where the machine stands."""
        return Mark(len(self.journal), len(self.accesses), len(self.guards), len(self.shows))

    def undo(self, mark: Mark) -> None:
        """Back to where it stood."""
        for cell, value in reversed(self.journal[mark.journal :]):
            cell.value = value
        del self.journal[mark.journal :]
        del self.accesses[mark.accesses :]
        del self.guards[mark.guards :]
        del self.shows[mark.shows :]

    def known(self) -> tuple[Node, ...]:
        """What holds here: guards of loops and branches, and the declared relations of inputs."""
        return (*self.guards, *self.assumed)

    def kept(self, value: Value) -> Value:
        """A value to bind or to show, noted if it is an item of what has no known shape yet: it is taken for a row."""
        if isinstance(value, Seq) and isinstance(value.tensor, Source) and value.tensor.dims is None:
            value.tensor.bound.add(len(value.prefix))
        return value

    # -- names

    def source(self, name: str, span: Span) -> Value:
        """What an unbound name means: a size, a table, a weight, or an input of its own."""
        if name in self.facts.sizes:
            return integer(self.facts.sizes[name])
        if name in self.facts.tables:
            t = self.facts.tables[name]
            role = "state" if t.state else "input"
            made = Source(name, role, t.dims, t.kind, t.range, t.state)
        elif name in self.facts.weights:
            made = Source(name, "weight", self.shapes.get(name), "float", None, False)
        elif self.facts.open_inputs:
            kind = "int" if name in self.integers else "float"
            made = Source(name, "input", self.shapes.get(name), kind, None, False)
        else:
            raise NotLifted(
                f'"{name}" is not bound here, and no size, table or weight of the spec has that name',
                nearest(name, sorted(self.facts.names())),
                span,
            )
        made.mode = "flat" if name in self.flat_sources else ""
        self.sources[name] = made
        return Seq(made)

    def lookup(self, name: str, scope: Scope, span: Span) -> Cell:
        """The variable a name means."""
        cell = scope.find(name) or self.globals.find(name)
        if cell is None:
            value = self.source(name, span)
            table = self.sources[name] if name in self.facts.tables and len(self.facts.tables[name].dims) > 1 else None
            cell = Cell(name, value, top=True, given=isinstance(value, Seq), table=table)
            self.globals.names[name] = cell
        return cell

    def cells(self, variables: Iterable[Variable], scope: Scope, span: Span) -> list[Cell]:
        """Those of variables that are there now, tables too, each once."""
        found: dict[Cell, None] = {}
        for name, top in variables:
            within = self.globals if top else scope
            known = within.find(name) or self.globals.find(name)
            if known is not None or name in self.facts.tables:
                found[known or self.lookup(name, within, span)] = None
        return list(found)

    def writable(self, cell: Cell, span: Span, whole: bool = False) -> None:
        """Refuses to write what is given from outside: only state outlives a run. `whole`: a variable bound anew."""
        source = self.sources[cell.name] if cell.given else None
        declared = cell.name in self.facts.tables
        if whole and cell in self.lent:
            raise NotLifted(
                f'"{cell.name}" is set whole while a function runs that it was passed to, to be changed',
                "set it before the call or after it",
                span,
            )
        if source is None or source.state or (whole and not declared):
            return
        raise NotLifted(
            f'"{cell.name}" is written but is no state: writes of an input are lost',
            "declare the table `state: true`, or build a new Seq"
            if declared
            else "build a new Seq, or write into a copy",
            span,
            "write",
            cell.name,
        )

    # -- accesses

    def as_index(self, node: Node, span: Span) -> Node:
        """An Int to index or count with."""
        if node.kind != "int":
            # An undeclared input is taken for floats until an index shows that it holds integers.
            for n in below(node):
                source = n.tensor if isinstance(n, Get) and n.kind == "float" else None
                if isinstance(source, Source) and source.role == "input" and source.name not in self.facts.tables:
                    raise WrongKind(source.name)
            raise NotLifted("an index or a bound must be an Int", "count with Ints, or take floor of the value", span)
        return node

    def demand(self, index: Node, tensor: Tensor, axis: int, span: Span) -> None:
        """Notes that `index` is used on an axis of a tensor, and proves it in range or refuses."""
        size: Node | None = None
        source = None
        if tensor.dims is not None and isinstance(tensor, Source) and tensor.role == "weight" and self.discovering:
            self.unsure = True  # its shape may yet grow
        elif tensor.dims is not None and axis < len(tensor.dims):
            extent = tensor.dims[axis]
            size = tensor.length if axis == 0 and tensor.length is not None else None
            if size is None and extent is not None:
                size = integer(extent)
        elif tensor.dims is None and axis == 0:
            size = tensor.length  # a sequence that starts empty in a loop: what its items are is not known yet
        if isinstance(tensor, Source) and tensor.name not in self.facts.tables:
            source = tensor
        if size is None and source is None:
            return
        self.settle(Access(index, size, source, axis, self.known(), tensor.name, span))

    def settle(self, access: Access) -> None:
        """Proves an access, or keeps it until the loop that carries its symbols is closed."""
        symbols = free_of((access.index, *((access.size,) if access.size is not None else ())))
        if any((isinstance(s, Sym) and s.carried) or isinstance(s, Start) for s in symbols):
            self.accesses.append(access)
            return
        if access.source is not None:
            high = bounds(access.index)[1]
            if high is not None:
                needs = access.source.needs
                needs[access.axis] = max(needs.get(access.axis, 0), high + 1)
            elif self.discovering:
                self.unsure = True
            elif access.size is None:
                self.refuse(access, "its greatest value is not known")
        if not at_least_zero(access.index, access.guards):
            self.refuse(access, "it may be 0 or negative")
        if access.size is not None and not at_least_zero(
            plus(combine(access.size, access.index, -1), -1), access.guards
        ):
            self.refuse(access, f"it may exceed {said(access.size)}, the length")

    def refuse(self, access: Access, why: str) -> None:
        """An index that is not proved in range."""
        if self.discovering:
            self.unsure = True
            return
        raise out_of_range(access, why, self.facts.open_inputs)

    def resume(self, accesses: Sequence[Access], change: Substitution) -> None:
        """Takes up the accesses of a closed loop, its symbols replaced."""
        failed = False
        for a in accesses:
            size = change.node(a.size) if a.size is not None else None
            guards = tuple(change.node(g) for g in a.guards)
            try:
                self.settle(Access(change.node(a.index), size, a.source, a.axis, guards, a.name, a.span))
            except NotLifted as problem:
                if self.survey is None:
                    raise
                self.survey.note(problem, a.span)
                failed = True
        if failed:
            raise follows("an index in it is not proved in range")

    def learn(self, shapes: Mapping[str, tuple[int, ...]], flat: Set[str]) -> bool:
        """Whether all went as if `shapes`, which the accesses imply, had been known before; they then are.

        `flat`: the tables that were known to be indexed as one sequence.
        """
        open_ = [s for s in self.sources.values() if s.dims is None]
        for s in open_:
            rank = len(shapes.get(s.name, ()))
            if s.asked or rank in s.bound or s.items - {rank}:
                return False
        if self.unsure or self.flat_tables() != flat:
            return False
        for s in open_:
            s.dims = shapes.get(s.name)
        return True

    # -- sequences

    def step(self, value: Seq, index: Node, span: Span) -> Value:
        """`item (index + 1) of value`, index counted from 0."""
        tensor = value.tensor
        prefix = (*value.prefix, index)
        table = value.table
        if table is not None and value.prefix:
            self.deep.add(table.name)
        if table is not None and not table.mode:
            if not value.prefix:
                if not at_least_zero(plus(scale(index, -1), _extents(tensor)[0] - 1), self.known()):
                    self.long.add(table.name)
                return Seq(tensor, prefix, table)  # nested or flat: what is done with it will say
            self.set_mode(table, "nested", span)
            self.demand(value.prefix[0], tensor, 0, span)
        if table is not None and table.mode == "flat":
            return self.flat(tensor, prefix, span)
        if tensor.dims is not None and len(prefix) > len(tensor.dims):
            raise NotLifted(
                f'"{tensor.name}" is indexed deeper than it is nested', "use as many indices as it has axes", span
            )
        self.demand(index, tensor, len(prefix) - 1, span)
        if tensor.dims is not None and len(prefix) == len(tensor.dims):
            return self.element(tensor, prefix)
        return Seq(tensor, prefix, table)

    def flat_tables(self) -> frozenset[str]:
        """Tables of several axes that are indexed as one sequence: a number is made of an item, or items are taken
        where there are no rows, and none of a row."""
        flat = {name for name, source in self.sources.items() if source.mode == "flat"}
        return frozenset(flat | (self.long - self.deep))

    def set_mode(self, source: Source, mode: str, span: Span) -> None:
        """A table of several axes is read nested or flat, all through."""
        if source.mode and source.mode != mode:
            raise NotLifted(
                f'"{source.name}" is used both as a nested and as a flat sequence',
                "index it as deep as it has axes everywhere, or with one flat index everywhere",
                span,
            )
        source.mode = mode

    def flat(self, tensor: Tensor, prefix: tuple[Node, ...], span: Span) -> Node:
        """An element of a table read as one row-major sequence."""
        return self.element(tensor, self.flat_index(tensor, prefix, span))

    def flat_index(self, source: Tensor, prefix: tuple[Node, ...], span: Span) -> tuple[Node, ...]:
        """One index an axis for a flat index."""
        if len(prefix) != 1:
            raise NotLifted(f'"{source.name}" is used both as a nested and as a flat sequence', "", span)
        dims = _extents(source)
        self.settle(Access(prefix[0], integer(math.prod(dims)), None, 0, self.known(), source.name, span))
        return places(dims, prefix[0])

    def laid(self, value: V) -> V | Seq:
        """A table read as one sequence, used whole, as that sequence; any other value as it is."""
        flat = isinstance(value, Seq) and value.whole and value.table is not None and value.table.mode == "flat"
        return Seq(unrolled(value.tensor, self.tick())) if isinstance(value, Seq) and flat else value

    def replaced(self, table: Source, value: Value, span: Span) -> Value:
        """What a table is set to whole: rows make it nested, as many numbers flat; anything else is as it is."""
        if not isinstance(value, Seq) or value.tensor.length is not None:
            return value
        extents = _extents(table)
        if value.dims == table.dims:
            self.set_mode(table, "nested", span)
        elif value.dims == (math.prod(extents),):
            self.set_mode(table, "flat", span)
            return Seq(rolled(value.tensor, value.prefix, extents, self.tick(), span))
        return value

    def element(self, tensor: Tensor, index: tuple[Node, ...]) -> Node:
        """The element, its kind proved."""
        found = element(tensor, index, self.known())
        if found.kind == "none":
            named = f'"{tensor.name}"' if tensor.name else "a sequence of this statement"
            raise NotLifted(f"{named} has no items", "give it at least one item")
        if found.kind not in ("int", "float", "bool"):
            raise NotLifted(f'an item of "{tensor.name}" may be an Int or a Float', "store one kind everywhere (0.0)")
        return found

    def scalar(self, value: Value, span: Span) -> Node:
        """A number or a truth value."""
        match value:
            case Node():
                return value
            case Seq(tensor=tensor, table=table) if table is not None and self.undecided(value):
                self.set_mode(table, "flat", span)
                return self.flat(tensor, value.prefix, span)
            case Seq(tensor=tensor) if tensor.dims is None and value.prefix:
                if isinstance(tensor, Source):
                    tensor.items.add(len(value.prefix))
                found = element(tensor, value.prefix, self.known())
                if isinstance(found, Get) and isinstance(found.tensor, Source):
                    self.note(found, span)
                return found
            case Seq():
                problem = NotLifted(*no_number(value, self.facts), span)
                problem.number = value.tensor if value.whole else None
                raise problem
            case _:
                raise NotLifted("a text, or nothing, stands where a number is wanted", "compute with numbers", span)

    def undecided(self, value: Seq) -> bool:
        """Whether a value is an item of a table that was not known to be nested or flat when the item was taken."""
        return value.table is not None and len(value.prefix) == 1 and value.table.mode != "nested"

    def like(self, value: Value, other: Value, span: Span) -> Value:
        """A value to stand in the place of another: an item that may yet be a row is a number where that is one."""
        if not isinstance(value, Seq) or not value.prefix:
            return value
        flat = value.table is not None and value.table.mode == "flat"
        open_ = value.tensor.dims is None or self.undecided(value)
        return self.scalar(value, span) if flat or (open_ and isinstance(other, Node)) else value

    def note(self, read: Get, span: Span) -> None:
        """Records what a read of a source of unknown shape says about its shape."""
        source = read.tensor
        if isinstance(source, Source) and source.name not in self.facts.tables:
            for axis, index in enumerate(read.index):
                self.settle(Access(index, None, source, axis, self.known(), source.name, span))

    def settled(self, value: Seq, span: Span) -> Seq:
        """A sequence used whole: a slice of a table is then nested, and a flat table one sequence."""
        if value.table is not None and value.prefix and not value.table.mode:
            self.set_mode(value.table, "nested", span)
            for axis, index in enumerate(value.prefix):
                self.demand(index, value.tensor, axis, span)
        return self.laid(value)

    def length(self, value: Seq, span: Span) -> Node:
        """How many items a sequence has."""
        tensor = value.tensor
        if value.whole and tensor.length is not None:
            return tensor.length
        if isinstance(tensor, Source) and tensor.name not in self.facts.tables:
            raise NotLifted(f'the length of "{tensor.name}" is not known here', "use a size of the spec", span)
        dims = value.dims
        if value.table is not None and value.table.mode == "flat" and value.whole:
            return integer(math.prod(_extents(tensor)))
        if not dims or dims[0] is None:
            raise NotLifted(f'the length of "{tensor.name}" is not known here', "use a size of the spec", span)
        return integer(dims[0])


def _extents(tensor: Tensor) -> list[int]:
    return [d or 1 for d in tensor.dims or ()]
