"""The state of a symbolic execution: cells, scopes, sequence values, and the refusal that unwinds it.

A cell is one variable. Loops note which cells their bodies assign, so that an attempt that fails can be undone from a
journal instead of from a copy.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from spatial.lift.algebra.values import Made, Node, Piece, Source, Sym, Tensor, get
from spatial.logos.syntax import Span

cell_serial = itertools.count()


class NotLifted(Exception):
    """A statement that cannot be lifted: `why` in the user's terms, `mend` the spelling that would lift.

    `kind`: "unrecognized", "write" or "read". `binder`: the variable or tensor at fault.
    """

    def __init__(
        self, why: str, mend: str = "", span: Span | None = None, kind: str = "unrecognized", binder: str = ""
    ) -> None:
        super().__init__(why)
        self.why, self.mend, self.span, self.kind = why, mend, span, kind
        self.binder = binder
        self.silent = False
        """The statement is not at fault: what it reads is not lifted."""
        self.carried = False
        """The loop is no nest because of what it carries; as a block it may yet lift."""
        self.numbers = False
        """What is carried so are numbers: a few iterations may be taken one after the other."""
        self.index: Node | None = None
        """The index, from 0, that is not proved in range."""
        self.of = ""
        """The sequence it is an index of."""
        self.number: Tensor | None = None
        """The sequence that stands where a number is wanted."""
        self.within = 0
        """Iterations of a loop inside a block that would itself be a block."""
        self.beside: tuple[NotLifted, ...] = ()
        """What else is refused of a loop, whether or not this is: of variables that depend on no other one."""
        self.final = False
        """No other reading of the loop would help: an index out of range stays one."""

    def at(self, span: Span, binder: str = "") -> NotLifted:
        """The refusal, placed if it has no place yet."""
        if self.span is None or not self.span.line:
            self.span = span
        if not self.binder:
            self.binder = binder
        return self


def together(found: Sequence[NotLifted]) -> NotLifted:
    """Several refusals of one loop as one: the first, the others beside it."""
    first, *others = found
    first.beside = tuple(others)
    return first


def follows(why: str) -> NotLifted:
    """The refusal of what is not at fault itself, but depends on what is."""
    problem = NotLifted(why)
    problem.silent = True
    return problem


class WrongKind(Exception):
    """An undeclared input turned out to hold integers: the execution starts again knowing it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Site:
    """Where a value comes from, for messages: what the source calls it, and the statement."""

    name: str
    span: Span


@dataclass(frozen=True)
class Seq:
    """A sequence value: a tensor, or the slice of one at `prefix`.

    `table`: the declared table of several axes that the tensor is a version of. The program may index it as one flat
    sequence: then its axes are not those of the tensor.
    """

    tensor: Tensor
    prefix: tuple[Node, ...] = ()
    table: Source | None = None

    @property
    def dims(self) -> tuple[int | None, ...] | None:
        """Extents of the slice, None if its rank is unknown: a source then remembers that somebody asked."""
        if self.tensor.dims is None:
            if isinstance(self.tensor, Source):
                self.tensor.asked = True
            return None
        return self.tensor.dims[len(self.prefix) :]

    @property
    def whole(self) -> bool:
        """Whether it is the tensor itself."""
        return not self.prefix


@dataclass(frozen=True)
class Text:
    """A line to show: literal texts and values."""

    parts: tuple[str | Value, ...]


@dataclass(frozen=True)
class Nothing:
    """The value of a function that returns none."""


@dataclass(frozen=True)
class Poison:
    """What a refused statement (`at`) would have bound, or a value that is not kept (`why`, and what would mend it)."""

    why: str = ""
    mend: str = ""
    at: Span | None = None


Value = Node | Seq | Text | Nothing | Poison


@dataclass(eq=False)
class Cell:
    """One variable."""

    name: str
    value: Value
    top: bool = False
    """A top-level variable of Main, or an input."""
    span: Span | None = None
    """The statement that changed it last."""
    given: bool = False
    """A table, a weight or an input under its own name, no copy of one."""
    table: Source | None = None
    """The declared table of several axes of which it holds a version, whatever is written into it."""
    serial: int = field(default_factory=cell_serial.__next__)
    """Its place in the order in which variables come to be."""

    @property
    def held(self) -> Value:
        """Its value, a version of its table as one."""
        value = self.value
        return Seq(value.tensor, value.prefix, self.table) if isinstance(value, Seq) and self.table else value


@dataclass(eq=False)
class Scope:
    """The bindings of one block; functions see their own, then Main's top level."""

    names: dict[str, Cell] = field(default_factory=dict[str, Cell])
    outer: Scope | None = None
    shared: set[str] = field(default_factory=set[str])
    """Mutable parameters: their cells are the caller's until they are set whole."""
    depth: int = 0
    """Of a function: the branches and loops around its call."""

    def unshare(self, name: str, depth: int, span: Span) -> None:
        """Before a variable is set whole, `depth` branches and loops deep: a mutable parameter then is its own.

        Raises NotLifted where it may be so or not.
        """
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        if scope is not None and name in scope.shared:
            if depth != scope.depth:
                raise NotLifted(
                    f'"{name}" is the caller\'s until it is set whole, and a branch or loop sets it so',
                    "Let a variable of its own take the new sequence",
                    span,
                )
            scope.names[name] = Cell(name, scope.names[name].held)
            scope.shared.discard(name)

    def holds(self, cell: Cell) -> bool:
        """Whether a variable is bound here or around, under whichever name."""
        scope: Scope | None = self
        while scope is not None:
            if scope.names.get(cell.name) is cell or any(scope.names[name] is cell for name in scope.shared):
                return True
            scope = scope.outer
        return False

    def owns(self, cell: Cell) -> bool:
        """Whether a variable is bound here or around, and by no one else."""
        scope: Scope | None = self
        while scope is not None:
            if scope.names.get(cell.name) is cell:
                return cell.name not in scope.shared
            scope = scope.outer
        return False

    def find(self, name: str) -> Cell | None:
        """The innermost binding."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def whole_of(value: Seq, order: int, origin: Span) -> Tensor:
    """The slice as a tensor of its own (a copy, which later turns out a view or a gather)."""
    dims = value.dims
    if value.whole:
        return value.tensor
    if dims is None:
        return Made(value.tensor.name, (None,), None, (), order, origin, kind=value.tensor.kind)
    vars = tuple(Sym("k", d) for d in dims)
    piece = Piece(vars, (), vars, get(value.tensor, (*value.prefix, *vars)))
    return Made(value.tensor.name, dims, None, (piece,), order, origin)
