"""Tensor graphs: what a program computes, after lifting; no spelling, no chip.

A graph is tensors and, in order, nodes that make them. Every tensor is made once (static single assignment): a table
written in place is a chain of tensors, each `over` the one before. Numbering is canonical, and only inputs, weights,
state, results and sizes keep names, so equal meaning gives equal bytes. Spans and local names live in a side table
(`Origin`) that only messages read.

Coordinates in affine forms: v0, v1, … the variables of a piece (first its `par`, then its `red`), and b, the instance
number of the enclosing block. All count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.ir.affine import Affine

# ---------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Num:
    """A constant; `kind` is "int" or "float" (a float is kept in binary64)."""

    value: int | float
    kind: str


@dataclass(frozen=True)
class Var:
    """The integer value of an affine form over the coordinates."""

    value: Affine


@dataclass(frozen=True)
class At:
    """One index of an access: `base`, plus `scale` times element `via` of an integer tensor (one such per access)."""

    base: Affine
    via: Read | None = None
    scale: int = 0


@dataclass(frozen=True)
class Read:
    """Element of `tensor` (by number) at one index per dimension."""

    tensor: int
    at: tuple[At, ...]


@dataclass(frozen=True)
class Fn:
    """An operation of `FNS` over expressions; `kind` ("int", "float", "bool") is the kind of its result."""

    fn: str
    args: tuple[Value, ...]
    kind: str


@dataclass(frozen=True)
class Acc:
    """The value of the piece's reduction number `red` (see `Piece.accs`)."""

    red: int


Value = Num | Var | Read | Fn | Acc

FNS = {
    **dict.fromkeys(("neg", "abs", "exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "float", "not"), 1),
    **dict.fromkeys(("floor", "ceil", "round"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "truncdiv", "floordiv", "rem", "pow", "min", "max"), 2),
    **dict.fromkeys(("eq", "ne", "lt", "le", "and", "or"), 2),
    "select": 3,
}
"""Operations and their arity, with the meaning LOGOS gives them.

`div` is of floats; `truncdiv` and `rem` are LOGOS `/` and `%` of integers, `floordiv` its `//`: of floats the floor of
the rounded quotient, a float. `float` makes a float of an integer. `floor`, `ceil`, `round` give integers. Comparisons
and the connectives give "bool". Greater-than is spelled as less-than with its operands exchanged.
"""


# ---------------------------------------------------------------- statements


@dataclass(frozen=True)
class Reduction:
    """One reduction of a piece over its `red` variables, in ascending lexicographic order where order matters.

    `op`: "sum", "product", "max", "min" of `value`; or "argmax_first", "argmax_last", "argmin_first", "argmin_last":
    then the result is `arg` at the best `value`. `guards`: conditions (bool) under which a term takes part; `init`: the
    value where the reduction starts (None: the identity; of max, min and arg: the terms alone, and at least one takes
    part).
    """

    op: str
    value: Value
    guards: tuple[Value, ...] = ()
    arg: Value | None = None
    init: Value | None = None


@dataclass(frozen=True)
class Piece:
    """Part of a tensor: for every point of the box `par` where `guards` hold, element `pos` is `value`.

    `par`, `red`: extents of the variables. `value` may use `Acc(i)` for `accs[i]`, but reads no `red` variable itself.
    `pos` has one index per dimension of the tensor made; with an indirect index the writes happen in lexicographic
    order of `par` (the last one shows), else they are injective. `guards` occur only on writes `over` another tensor.
    """

    par: tuple[int, ...]
    red: tuple[int, ...]
    pos: tuple[At, ...]
    value: Value
    accs: tuple[Reduction, ...] = ()
    guards: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Statement:
    """Makes tensor `out`: its pieces, pairwise disjoint, and elsewhere the elements of `over`.

    Without `over` the pieces cover the tensor.
    """

    out: int
    pieces: tuple[Piece, ...]
    over: int | None = None


@dataclass(frozen=True)
class Carried:
    """A tensor handed from instance to instance of a block, all by number.

    Instance 0 reads `initial` where the body says `inner`; instance n reads what instance n - 1 made as `made`; after
    the last instance it is called `final`.
    """

    initial: int
    inner: int
    made: int
    final: int


@dataclass(frozen=True)
class Block:
    """`trip` instances (b = 0, 1, …) of `body`; its own tensors live for one instance, but for the carried ones."""

    trip: int
    body: tuple[Statement, ...]
    carried: tuple[Carried, ...]


Node = Statement | Block

GRAPH_ROLES = ("input", "weight", "state", "fill", "made")


@dataclass(frozen=True)
class GraphTensor:
    """A tensor of `dims` (() is a scalar) and `kind` "int" or "float".

    `role`: "input" (given by the host), "weight", "state" (version the call starts with), "fill" (a build-time
    constant: `fill` is a piece without reads or reductions whose value is evaluated in binary64, natives and `pow`
    correctly rounded, then rounded once to storage) or "made" (by a statement). `name`: for the first three; "" else.
    `range`: of an int tensor, declared or proved bounds.
    """

    dims: tuple[int, ...]
    kind: str
    role: str
    name: str = ""
    range: tuple[int, int] | None = None
    fill: Piece | None = None


@dataclass(frozen=True)
class Shown:
    """One line the program prints: literal texts and tensors (by number), in order."""

    parts: tuple[str | int, ...]


@dataclass(frozen=True)
class Graph:
    """A lifted program.

    `results`: (name, tensor) of every result read from outside; `state`: (name, tensor the call starts with, tensor it
    ends with); `shows`: what is printed, in order.
    """

    tensors: tuple[GraphTensor, ...]
    nodes: tuple[Node, ...]
    results: tuple[tuple[str, int], ...]
    state: tuple[tuple[str, int, int], ...]
    shows: tuple[Shown, ...] = ()


# ---------------------------------------------------------------- the side table


@dataclass(frozen=True)
class Origin:
    """Where a statement stands in the source, for messages: file, line, column, and what the source calls it.

    `node`: position among the graph's nodes; `inner`: position in a block's body (-1: not in a block); `statement`:
    the source's statement, counted from 0 in the order of the text.
    """

    node: int
    inner: int
    name: str
    file: str
    line: int
    column: int
    statement: int = 0


@dataclass(frozen=True)
class Recorded:
    """A statement of the source that is no statement of the graph of its own, and why.

    `fate`: "joined" (part of the statement that makes tensor `of`), "view" (reads of it are reads of `of`), "fill" (the
    build-time constant `of`), "duplicate" (equal to what makes `of`) or "dead" (nothing that is read from outside needs
    it). `of` is -1 where there is no such tensor: what it gives stands in its readers as a number or an index.
    """

    fate: str
    name: str
    of: int
    file: str
    line: int
    column: int
    statement: int = 0


@dataclass(frozen=True)
class Missing:
    """A source statement that was not lifted or not lowered: its number, binder, kind, where it stands, and why.

    `statement`: as in `Origin`. `mend`: the spelling that would lift, where there is one. `kind` is the recognised kind
    of the statement, or one of "unrecognized", "write", "read", "compose", "verify", "link", "nothing" (there is no
    statement); "depends" where it is not at fault itself, but reads what is missing.
    """

    statement: int
    binder: str
    kind: str
    why: str
    mend: str = ""
    file: str = ""
    line: int = 0
    column: int = 0


NAMED = 6
"""How many missing statements a message names before it counts the rest."""


@dataclass(frozen=True)
class Lifted:
    """What lifting makes of a source: the graph (None unless every statement lifted), origins, counts, what is missing.

    `statements`: tensor statements seen, missing ones included; `views`, `fills`, `dead`, `duplicates`: how many of
    them are views, build-time constants, read by nothing, or equal to another. `missing`: those refused for a reason
    of their own; `depending`: those that read what is missing; `partial`: the graph of the rest, which is never a
    program, and of which counts, origins and what is recorded then tell.
    """

    graph: Graph | None
    origins: tuple[Origin, ...]
    statements: int
    views: int
    fills: int
    dead: int
    missing: tuple[Missing, ...]
    depending: tuple[Missing, ...] = ()
    partial: Graph | None = None
    duplicates: int = 0
    recorded: tuple[Recorded, ...] = ()
