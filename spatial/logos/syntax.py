"""The syntax tree of a LOGOS program: frozen records, two closed families (`Expr`, `Stmt`), one form per meaning.

The parser folds every spelling of a construct into the one record below, so whoever walks the tree meets few shapes:

    xs at i, xs[i], item i of xs                  Index
    [], new Seq of T, [] of T                     NewSeq                (a ListLiteral is never empty)
    x plus y, the sum of x and y, x followed by y Binary("+")
    -3, -x, ~x                                    IntLiteral(-3), 0 - x, x ^ -1
    a < b < c, x is between a and c               and of two comparisons (the middle operand stands twice)
    x is even, x is divisible by n                x % 2 == 0, x % n == 0
    n copies of x                                 Call("repeatSeq", (x, n))
    x += e, x = e                                 Set (or Let, where nothing above binds x)
    xs[i] += e                                    SetItem of the item plus e
    Push a, b to xs                               two Push
    Repeat forever                                While true
    Return e if c                                 If of a Return
    Show e to f                                   CallStmt
    f with x and y, x.f(y)                        Call
    Requires c, Ensures c                         Assert at entry, before each Return and at the end

Spans never take part in equality. The tree knows nothing of tokens, values or tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from spatial.errors import Place


@dataclass(frozen=True)
class Span:
    """Where a node stands: lines and columns count from 1, the end is exclusive (0: unknown)."""

    file: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @property
    def place(self) -> Place:
        """Its first character, as errors name it."""
        return Place(self.file, self.line, self.column)

    def to(self, end: Span) -> Span:
        """From the start of this one to the end of `end` (this one alone if they are of two files)."""
        if end.file != self.file:
            return self
        return Span(self.file, self.line, self.column, end.end_line, end.end_column)


NO_SPAN = Span()


@dataclass(frozen=True)
class Type:
    """A type as written, in canonical words (`List of Real` is Seq of Float); no value is converted by it."""

    name: str
    element: Type | None = None


# Expressions


@dataclass(frozen=True)
class IntLiteral:
    """An integer; the sign of a negative one is part of it."""

    value: int
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class FloatLiteral:
    """A binary64 number; `infinity` and `nan` too."""

    value: float
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class BoolLiteral:
    """`true` or `false`."""

    value: bool
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class TextLiteral:
    """A string without holes, escapes resolved."""

    value: str
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class NothingLiteral:
    """`nothing`."""

    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Name:
    """A variable, or an input if the program never binds it."""

    name: str
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Not:
    """`not e`: the opposite of the truth of e, a Bool."""

    operand: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


# fmt: off
BinaryOp = Literal[
    "+", "-", "*", "/", "//", "%", "**",
    "==", "!=", "<", "<=", ">", ">=",
    "~=",          # is approximately
    "in",          # x in xs; `xs contains x` is the same
    "and", "or",   # short-circuit, truthiness in, Bool out
    "&", "|", "^",
    "<<", ">>",    # shifted left by, shifted right by
    "++",          # combined with: the Show forms joined
]
# fmt: on


@dataclass(frozen=True)
class Binary:
    """Two operands, the left evaluated first."""

    op: BinaryOp
    left: Expr
    right: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Index:
    """One item of a sequence, counted from 1, from the end if negative. Also a place that can be set."""

    collection: Expr
    index: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Slice:
    """`items first through last of collection`: both ends included, a fresh sequence."""

    collection: Expr
    first: Expr
    last: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Length:
    """How many items a sequence has (bytes of a Text)."""

    collection: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Copy:
    """A deep copy; by value semantics, the value itself."""

    value: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Call:
    """A builtin, a function of the program or a native, in that order of precedence."""

    function: str
    args: tuple[Expr, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class ListLiteral:
    """A sequence of one or more items."""

    items: tuple[Expr, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class NewSeq:
    """An empty sequence; `element` is the type written, if one was."""

    element: Type | None = None
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Hole:
    """A `{value:spec}` of a string: spec is `.N`, `N`, `<N`, `>N`, `^N`, `$` or empty."""

    value: Expr
    spec: str = ""
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Interpolation:
    """A string with holes; literal parts are never empty or adjacent."""

    parts: tuple[str | Hole, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


Expr = (
    IntLiteral
    | FloatLiteral
    | BoolLiteral
    | TextLiteral
    | NothingLiteral
    | Name
    | Not
    | Binary
    | Index
    | Slice
    | Length
    | Copy
    | Call
    | ListLiteral
    | NewSeq
    | Interpolation
)

# Statements


@dataclass(frozen=True)
class Let:
    """Binds `name` in the innermost block; `mutable` and `type` change nothing at run time."""

    name: str
    value: Expr
    type: Type | None = None
    mutable: bool = False
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Set:
    """Gives the innermost binding of `name` a new value."""

    name: str
    value: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class SetItem:
    """Changes one item in place: index, value and then collection are evaluated."""

    place: Index
    value: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Push:
    """Appends a value to the sequence at `place`."""

    value: Expr
    place: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Pop:
    """Takes the last item away, and binds it to `into` (as Let does) if given; `nothing` from an empty sequence."""

    place: Expr
    into: str | None = None
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class If:
    """The body of the first branch whose condition is truthy, else `otherwise`."""

    branches: tuple[tuple[Expr, tuple[Stmt, ...]], ...]
    otherwise: tuple[Stmt, ...] = ()
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class While:
    """Repeats while the condition is truthy; the body's bindings are not seen by the condition."""

    condition: Expr
    body: tuple[Stmt, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class RepeatRange:
    """`var` runs from `first` to `last`, both included and evaluated once; no time at all if last < first."""

    var: str
    first: Expr
    last: Expr
    body: tuple[Stmt, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class RepeatIn:
    """`var` takes each item of the collection as it was at the start."""

    var: str
    collection: Expr
    body: tuple[Stmt, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Break:
    """Leaves the innermost loop (outside one: ends the function, or Main)."""

    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Return:
    """Leaves the function with a value (`nothing` if None); in Main, ends the program."""

    value: Expr | None = None
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class CallStmt:
    """A call whose value is dropped."""

    call: Call
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Show:
    """Prints one line."""

    value: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Assert:
    """Stops the program if the condition is not truthy."""

    condition: Expr
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


Stmt = (
    Let | Set | SetItem | Push | Pop | If | While | RepeatRange | RepeatIn | Break | Return | CallStmt | Show | Assert
)


# Programs


@dataclass(frozen=True)
class Param:
    """A parameter; `mutable` sequences are changed in the caller's place."""

    name: str
    type: Type
    mutable: bool = False
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Function:
    """`## To name (params) -> returns:` and its body."""

    name: str
    params: tuple[Param, ...]
    returns: Type | None
    body: tuple[Stmt, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Native:
    """`## To native name (params) -> returns`: a function the language gets from outside."""

    name: str
    params: tuple[Param, ...]
    returns: Type | None
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True)
class Program:
    """Functions and natives under distinct names (of two definitions the later counts), and Main's statements."""

    functions: tuple[Function, ...] = ()
    natives: tuple[Native, ...] = ()
    main: tuple[Stmt, ...] = ()

    def function(self, name: str) -> Function | Native | None:
        """What the program itself defines under `name` (builtins come before it: `words.BUILTINS`)."""
        return next((f for f in (*self.functions, *self.natives) if f.name == name), None)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct operands of an expression, in the order of evaluation."""
    match expr:
        case Not(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Index(collection, index):
            return (collection, index)
        case Slice(collection, first, last):
            return (collection, first, last)
        case Length(inner) | Copy(inner):
            return (inner,)
        case Call(_, args):
            return args
        case ListLiteral(items):
            return items
        case Interpolation(parts):
            return tuple(part.value for part in parts if isinstance(part, Hole))
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, outermost first."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def root_name(place: Expr) -> str | None:
    """The variable that a change of `place` changes: `g` for `item i of item j of g`; None if there is none."""
    while isinstance(place, Index):
        place = place.collection
    return place.name if isinstance(place, Name) else None


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """The expressions that stand directly in a statement, bodies of inner statements excluded."""
    match statement:
        case Let(_, value) | Set(_, value) | Show(value) | Assert(value):
            return (value,)
        case SetItem(place, value):
            return (place, value)
        case Push(value, place):
            return (value, place)
        case Pop(place):
            return (place,)
        case If(branches):
            return tuple(condition for condition, _ in branches)
        case While(condition):
            return (condition,)
        case RepeatRange(_, first, last):
            return (first, last)
        case RepeatIn(_, collection):
            return (collection,)
        case Return(value):
            return () if value is None else (value,)
        case CallStmt(call):
            return (call,)
        case Break():
            return ()


def bodies(statement: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks inside a statement."""
    match statement:
        case If(branches, otherwise):
            return (*(body for _, body in branches), otherwise)
        case While(_, body) | RepeatRange(_, _, _, body) | RepeatIn(_, _, body):
            return (body,)
        case _:
            return ()


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of a body, those of inner blocks included, in the order of the text."""
    pending = list(reversed(body))
    while pending:
        statement = pending.pop()
        yield statement
        for inner in reversed(bodies(statement)):
            pending.extend(reversed(inner))
