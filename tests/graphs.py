"""Graphs made by records, and strategies that draw them: maps, rotary pairs, writes, reductions, products, blocks.

Nothing here knows how a graph is lowered. Drawn sizes are ragged on purpose; drawn floats stay tame (no overflow, no
comparison of computed floats), so that an evaluation in binary64 bounds what a chip may give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from hypothesis import strategies as st

from spatial.ir.affine import Affine
from spatial.ir.graph import (
    Acc,
    At,
    Block,
    Carried,
    Fn,
    Graph,
    GraphTensor,
    Num,
    Piece,
    Read,
    Reduction,
    Shown,
    Statement,
    Value,
    Var,
)

EXTENTS = (1, 2, 3, 7, 24, 31, 32, 33, 50, 64, 100)
MOST = 6400
"""Elements of a drawn box at most."""

Index = At | Affine | int


def var(n: int, coef: int = 1) -> Affine:
    """Variable n of a piece, times `coef`."""
    return Affine.sym(f"v{n}", coef)


def at(*indices: Index) -> tuple[At, ...]:
    """Indices of an access."""
    return tuple(i if isinstance(i, At) else At(Affine(i) if isinstance(i, int) else i) for i in indices)


def read(tensor: int, *indices: Index) -> Read:
    return Read(tensor, at(*indices))


def fn(name: str, *args: Value, kind: str = "float") -> Fn:
    return Fn(name, args, kind)


def num(value: float | int) -> Num:
    return Num(value, "float" if isinstance(value, float) else "int")


def via(tensor: int, *indices: Index, base: Index = 0, scale: int = 1) -> At:
    """An index read at run time: `base` plus `scale` times an element of an integer tensor."""
    (first,) = at(base)
    return At(first.base, read(tensor, *indices), scale)


@dataclass
class Maker:
    """Collects a graph, statement by statement."""

    tensors: list[GraphTensor] = field(default_factory=list)
    nodes: list[Statement | Block] = field(default_factory=list)
    results: list[tuple[str, int]] = field(default_factory=list)
    state: list[tuple[str, int, int]] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)

    def tensor(
        self, dims: Sequence[int], kind: str, role: str, name: str = "", bounds: tuple[int, int] | None = None
    ) -> int:
        self.tensors.append(GraphTensor(tuple(dims), kind, role, name, bounds))
        return len(self.tensors) - 1

    def table(
        self, dims: Sequence[int], kind: str = "float", role: str = "input", bounds: tuple[int, int] | None = None
    ) -> int:
        """A named table; integers lie in `bounds`."""
        return self.tensor(dims, kind, role, f"{role}{len(self.tensors)}", bounds if kind == "int" else None)

    def made(self, dims: Sequence[int], kind: str = "float") -> int:
        return self.tensor(dims, kind, "made")

    def put(self, out: int, *pieces: Piece, over: int | None = None) -> int:
        """A statement among the nodes; gives `out`."""
        self.nodes.append(Statement(out, pieces, over))
        return out

    def map(self, dims: Sequence[int], value: Value, kind: str = "float", pos: Sequence[Index] | None = None) -> int:
        """A new tensor of `dims` whose element at v0, v1, … (or `pos`) is `value`."""
        par = tuple(dims)
        where = at(*(pos if pos is not None else [var(n) for n in range(len(par))]))
        return self.put(self.made(dims, kind), Piece(par, (), where, value))

    def result(self, tensor: int) -> None:
        self.results.append((f"result{len(self.results)}", tensor))

    def graph(self, shows: tuple[Shown, ...] = ()) -> Graph:
        return Graph(tuple(self.tensors), tuple(self.nodes), tuple(self.results), tuple(self.state), shows)


@dataclass(frozen=True)
class Drawn:
    """A graph, the formats its deployment stores tables in, and the seed its inputs are drawn with."""

    graph: Graph
    stored: tuple[tuple[str, str], ...] = ()
    seed: int = 0

    def __repr__(self) -> str:
        lines = [f"t{n}: {t}" for n, t in enumerate(self.graph.tensors)]
        lines += [str(n) for n in self.graph.nodes]
        return "\n".join([f"Drawn stored={self.stored} seed={self.seed}", *lines])


def drawn(make: Maker, seed: int) -> Drawn:
    return Drawn(make.graph(), tuple(sorted(make.stored.items())), seed)


# ---------------------------------------------------------------- pieces of strategies

SEEDS = st.integers(0, 1000)
SMALL_INTS = (-9, 9)
TOTAL = Acc(0)


@st.composite
def boxes(draw: st.DrawFn, least: int = 1, most: int = 3, elements: int = MOST) -> tuple[int, ...]:
    """Extents of `least` to `most` variables, `elements` points at most."""
    out: list[int] = []
    for _ in range(draw(st.integers(least, most))):
        room = elements // prod(out)
        out.append(draw(st.sampled_from([e for e in EXTENTS if e <= room])))
    return tuple(out)


@st.composite
def accesses(draw: st.DrawFn, make: Maker, box: tuple[int, ...], kind: str, live: Sequence[int]) -> Read:
    """A read of a new table by variables `live` of `box`: whole, transposed, broadcast, offset, sliced or gathered."""
    names = list(live)
    if names and draw(st.booleans()):
        names = draw(st.permutations(names))
    if names and draw(st.integers(0, 2)) == 0:
        names = names[: draw(st.integers(0, len(names) - 1))]
    dims = [box[n] for n in names]
    indices: list[Index] = [var(n) for n in names]
    role = draw(st.sampled_from(("input", "weight")))
    match draw(st.sampled_from(("plain", "plain", "plain", "offset", "slice", "row", "run", "gather", "fused"))):
        case "offset" if names:
            k = draw(st.integers(0, len(names) - 1))
            shift = draw(st.integers(1, 40))
            indices[k], dims[k] = var(names[k]) + shift, dims[k] + shift + draw(st.integers(0, 3))
        case "slice":
            indices, dims = [draw(st.integers(0, 2)), *indices], [3, *dims]
        case "row":
            p = make.table((1,), "int", "input", (0, 4))
            indices, dims = [via(p, 0), *indices], [5, *dims]
        case "run" if names:
            p = make.table((), "int", "input", (0, 9))
            indices[0], dims[0] = via(p, base=var(names[0])), dims[0] + 9
        case "gather" if names:
            rows = draw(st.sampled_from((1, 7, 40)))
            ids = make.table((dims[0],), "int", "input", (0, rows - 1))
            indices[0], dims[0] = via(ids, var(names[0])), rows
        case "fused" if len(names) > 1:
            a, b = names[-2:]
            indices = [*indices[:-2], var(a, box[b]) + var(b)]
            dims = [*dims[:-2], box[a] * box[b]]
        case _:
            pass
    bounds = draw(st.sampled_from((SMALL_INTS, (-100, 100), (0, 3), (-30000, 30000))))
    return Read(make.table(dims, kind, role, bounds), at(*indices))


FLOAT_UNARY = ("neg", "abs", "exp", "tanh", "sin", "cos", "erf", "sqrt", "log", "float")
INT_BINARY = ("add", "sub", "mul", "min", "max", "floordiv", "truncdiv", "rem", "select")


@st.composite
def values(
    draw: st.DrawFn, make: Maker, box: tuple[int, ...], kind: str, live: Sequence[int], depth: int = 2
) -> Value:
    """An expression over new tables read at the points of `box`."""

    def inner() -> Value:
        return draw(values(make, box, kind, live, depth - 1))

    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(accesses(make, box, kind, live))
    if kind == "int":
        return draw(int_values(make, box, live, depth))
    match draw(st.sampled_from(("add", "sub", "mul", "div", "min", "max", "unary", "const", "select"))):
        case "unary":
            return draw(unary(inner(), box, live))
        case "div":
            return fn("div", inner(), fn("add", fn("abs", inner()), num(1.0)))
        case "const":
            return fn(draw(st.sampled_from(("add", "mul", "sub"))), inner(), num(draw(st.sampled_from((0.5, -3.0)))))
        case "select":
            return fn("select", draw(conditions(make, box, live)), inner(), inner())
        case name:
            return fn(name, inner(), inner())


@st.composite
def unary(draw: st.DrawFn, arg: Value, box: tuple[int, ...], live: Sequence[int]) -> Value:
    name = draw(st.sampled_from(FLOAT_UNARY))
    match name:
        case "exp":
            return fn("exp", fn("min", arg, num(3.0)))
        case "sqrt" | "log":
            return fn(name, fn("add", fn("abs", arg), num(1.0)))
        case "float":
            form = Affine.of(draw(st.integers(-3, 3)), {f"v{n}": draw(st.integers(-2, 2)) for n in live})
            return fn("mul", fn("float", Var(form)), num(0.125))
        case _:
            return fn(name, arg)


@st.composite
def int_values(draw: st.DrawFn, make: Maker, box: tuple[int, ...], live: Sequence[int], depth: int) -> Value:
    x = draw(values(make, box, "int", live, depth - 1))
    name = draw(st.sampled_from((*INT_BINARY, "neg", "abs", "var", "round")))
    match name:
        case "neg" | "abs":
            return fn(name, x, kind="int")
        case "var":
            form = Affine.of(draw(st.integers(-3, 3)), {f"v{n}": draw(st.integers(-2, 2)) for n in live})
            return fn("add", x, Var(form), kind="int")
        case "round":
            half = fn("mul", fn("float", x), num(0.5))
            if draw(st.integers(0, 4)):
                half = fn("min", fn("max", half, num(-50.0)), num(50.5))
            return fn(draw(st.sampled_from(("floor", "ceil", "round"))), half, kind="int")
        case "floordiv" | "truncdiv" | "rem":
            return fn(name, x, num(draw(st.sampled_from((1, 2, 7)))), kind="int")
        case "select":
            y = draw(values(make, box, "int", live, depth - 1))
            return fn("select", draw(conditions(make, box, live)), x, y, kind="int")
        case _:
            return fn(name, x, draw(values(make, box, "int", live, depth - 1)), kind="int")


@st.composite
def conditions(draw: st.DrawFn, make: Maker, box: tuple[int, ...], live: Sequence[int]) -> Value:
    """A condition on coordinates, against a constant or a run-time count."""
    form = Affine()
    if live:
        n = draw(st.sampled_from(list(live)))
        form = var(n)
    most = max([1, *(box[n] for n in live)])
    if draw(st.booleans()):
        bound: Value = num(draw(st.integers(0, most)))
    else:
        bound = read(make.table((), "int", "input", (0, most)))
    name = draw(st.sampled_from(("lt", "le", "eq", "ne")))
    return fn(name, Var(form), bound, kind="bool")


# ---------------------------------------------------------------- whole graphs


@st.composite
def maps(draw: st.DrawFn) -> Drawn:
    """One elementwise statement, its result in the order of its variables or transposed."""
    make = Maker()
    box = draw(boxes(0))
    kind = draw(st.sampled_from(("float", "float", "int")))
    value = draw(values(make, box, kind, range(len(box)), draw(st.integers(0, 3))))
    order = list(range(len(box)))
    if draw(st.booleans()):
        order = draw(st.permutations(order))
    out = make.made([box[n] for n in order], kind)
    make.result(make.put(out, Piece(box, (), at(*(var(n) for n in order)), value)))
    return drawn(make, draw(SEEDS))


@st.composite
def interleaved(draw: st.DrawFn) -> Drawn:
    """Two or three pieces at n * v + j of the columns: rotary pairs and their like, rows or heads before."""
    make = Maker()
    n = draw(st.sampled_from((2, 2, 3)))
    rows = draw(st.sampled_from((None, 1, 3, 7, 33)))
    heads = draw(st.sampled_from((None, 1, 2, 5)))
    half = draw(st.sampled_from((1, 5, 8, 12, 16, 32, 50)))
    par = [e for e in (rows, heads, half) if e is not None]
    h, c = (None if heads is None else len(par) - 2), len(par) - 1
    width = (heads or 1) * half * n

    def column(stride: int, offset: int) -> Affine:
        form = var(c, stride) + offset
        return form if h is None else form + var(h, half * stride)

    dims = [width] if rows is None else [rows, width]
    lead: list[Index] = [] if rows is None else [var(0)]
    x = make.table(dims)
    turn: list[int] = []
    row: list[Index] = []
    if draw(st.booleans()):
        p = make.table((), "int", "input", (0, 9))
        row = [via(p)] if rows is None or draw(st.booleans()) else [via(p, base=var(0))]
        turn = [10 + (rows or 1)]
    cos, sin = make.table([*turn, half], role="weight"), make.table([*turn, half], role="weight")
    pieces: list[Piece] = []
    for j in range(n):
        k = (j + 1) % n
        a, b = (read(x, *lead, column(n, m)) for m in (j, k))
        sign = "sub" if j == 0 else "add"
        value = fn(sign, fn("mul", a, read(cos, *row, var(c))), fn("mul", b, read(sin, *row, var(c))))
        pieces.append(Piece(tuple(par), (), at(*lead, column(n, j)), value))
    make.result(make.put(make.made(dims), *pieces))
    return drawn(make, draw(SEEDS))


@st.composite
def writes(draw: st.DrawFn) -> Drawn:
    """Rows written into a table carried from call to call: at a run-time row, guarded by a count, of one layer."""
    make = Maker()
    kind = draw(st.sampled_from(("float", "float", "int")))
    layers = draw(st.sampled_from((None, 3)))
    rows = draw(st.sampled_from((1, 1, 7, 32, 33)))
    cols = draw(st.sampled_from(EXTENTS))
    positions = rows + draw(st.sampled_from((0, 1, 20)))
    dims = [e for e in (layers, positions, cols) if e is not None]
    cache = make.table(dims, kind, "state", (-100, 100))
    value = draw(accesses(make, (rows, cols), kind, (0, 1)))
    lead: list[Index] = [] if layers is None else [draw(st.integers(0, 2))]
    guards: list[Value] = []
    if draw(st.booleans()):
        start = make.table((), "int", "input", (0, positions - rows))
        row: Index = via(start, base=var(0))
    else:
        row = var(0) + draw(st.integers(0, positions - rows))
    if draw(st.booleans()):
        count = make.table((), "int", "input", (0, rows))
        guards.append(fn("lt", Var(var(0)), read(count), kind="bool"))
    if kind == "int":
        value = fn("min", fn("max", value, num(-100), kind="int"), num(100), kind="int")
    out = make.made(dims, kind)
    piece = Piece((rows, cols), (), at(*lead, row, var(1)), value, (), tuple(guards))
    make.put(out, piece, over=cache)
    make.state.append((make.tensors[cache].name, cache, out))
    return drawn(make, draw(SEEDS))


@st.composite
def reductions(draw: st.DrawFn) -> Drawn:
    """One row or column reduction: any operation, guarded or not, one value a row or mapped further."""
    make = Maker()
    kept, folded = draw(boxes(0, 2, 400)), draw(boxes(1, 2, 400))
    box = kept + folded
    while prod(box) > 4 * MOST:
        kept, box = kept[1:], box[1:]
    par, red = len(kept), list(range(len(kept), len(box)))
    op = draw(
        st.sampled_from(
            ("sum", "max", "min", "product", "argmax_first", "argmax_last", "argmin_first", "argmin_last")
        )
    )
    kind = draw(st.sampled_from(("float", "float", "int")))
    value: Value = draw(accesses(make, box, kind, range(len(box))))
    if kind == "float" and op != "product" and draw(st.booleans()):
        other = value if draw(st.booleans()) else draw(accesses(make, box, kind, range(len(box))))
        value = fn("mul", value, other) if not op.startswith("arg") else fn("neg", value)
    if op == "product":
        value = fn("min", fn("max", value, num(-1), kind="int"), num(1), kind="int") if kind == "int" else (
            fn("add", num(1.0), fn("mul", num(0.01), fn("tanh", value)))
        )  # fmt: skip
    guards: tuple[Value, ...] = ()
    if draw(st.integers(0, 2)) == 0:
        guards = (draw(running_guards(make, box, par)),)
    arg: Value | None = None
    if op.startswith("arg"):
        form, stride = Affine(draw(st.integers(0, 1))), 1
        for n in reversed(red):
            form, stride = form + var(n, stride), stride * box[n]
        arg, kind = Var(form), "int"
    init: Value | None = None
    if arg is None and draw(st.integers(0, 4)) == 0:
        init = num(1 if kind == "int" else 0.5)
    result: Value = Acc(0)
    if draw(st.integers(0, 2)) == 0:
        more = draw(accesses(make, box, kind, range(par)))
        result = fn("add", Acc(0), more, kind=kind)
    keep = draw(st.booleans())
    dims = [*kept, 1] if keep else list(kept)
    where: list[Index] = [var(n) for n in range(par)]
    out = make.made(dims, kind)
    make.result(
        make.put(
            out,
            Piece(
                kept,
                folded,
                at(*where, 0) if keep else at(*where),
                result,
                (Reduction(op, value, guards, arg, init),),
            ),
        )
    )
    return drawn(make, draw(SEEDS))


@st.composite
def running_guards(draw: st.DrawFn, make: Maker, box: tuple[int, ...], par: int) -> Value:
    """A guard that lets the first term of every reduction through: up to a count, or causal."""
    red = draw(st.integers(par, len(box) - 1))
    most = box[red] - 1
    bound: Value = read(make.table((), "int", "input", (0, most))) if draw(st.booleans()) else num(most // 2)
    if par and draw(st.booleans()):
        bound = fn("add", bound, Var(var(draw(st.integers(0, par - 1)))), kind="int")
    return fn("le", Var(var(red)), bound, kind="bool")


@st.composite
def products(draw: st.DrawFn) -> Drawn:
    """One sum of products of two tables: vectors, matrices, batches and groups, either order, mapped further."""
    make = Maker()
    integer = draw(st.integers(0, 4)) == 0
    quantised = not integer and draw(st.integers(0, 3)) == 0
    groups = draw(st.sampled_from((None, None, 1, 2, 3)))
    rep = draw(st.sampled_from((1, 2, 3))) if groups else 1
    m = draw(st.sampled_from((None, 1, 2, 7, 32, 33)))
    n = draw(st.sampled_from((1, 3, 7, 24, 32, 50, 64)))
    k = draw(st.sampled_from((32, 64, 96) if quantised else (1, 7, 24, 31, 32, 33, 50, 64, 100)))
    sizes = [e for e in (groups, rep if groups else None, m, n) if e is not None]
    names = [w for w, e in (("g", groups), ("r", rep if groups else None), ("m", m), ("n", n)) if e is not None]
    v = {w: var(x) for x, w in enumerate(names)} | {"k": var(len(names))}
    extent = dict(zip(names, sizes, strict=True)) | {"k": k}
    heads = (groups or 1) * rep
    head: list[Index] = [var(0, rep) + v["r"]] if groups else []
    kind, bounds = ("int", draw(st.sampled_from((SMALL_INTS, (-128, 127), (0, 200))))) if integer else ("float", None)
    # The first table: one matrix a head, or heads side by side along the reduced axis.
    rows: list[Index] = [] if m is None else [v["m"]]
    if groups and draw(st.booleans()):
        a_at = [*rows, var(0, rep * k) + var(1, k) + v["k"]]
        a_dims = [*([] if m is None else [m]), heads * k]
    else:
        a_at, a_dims = [*head, *rows, v["k"]], [*([heads] if groups else []), *([] if m is None else [m]), k]
    # Now and then a part of the reduced axis, away from both ends of the tables.
    shift = draw(st.sampled_from((0, 0, 0, 32 if quantised else 5)))

    def parted(indices: list[Index], dims: list[int]) -> tuple[list[Index], list[int]]:
        moved: list[Index] = [v["k"] + shift if i == v["k"] else i for i in indices]
        return moved, [n + 2 * shift if i == v["k"] else n for i, n in zip(indices, dims, strict=True)]

    a_at, a_dims = parted(a_at, a_dims)
    a = make.table(a_dims, kind, "input", bounds)
    if groups:
        matrix = draw(st.sampled_from(("knh", "nk", "kn")))
        b_at: list[Index] = (
            [v["k"], var(0, n) + v["n"]]
            if matrix == "knh"
            else [v["g"], *([v["n"], v["k"]] if matrix == "nk" else [v["k"], v["n"]])]
        )
        b_dims = [k, groups * n] if matrix == "knh" else [groups, *([n, k] if matrix == "nk" else [k, n])]
        stored_nk = matrix == "nk"
    else:
        stored_nk = quantised or draw(st.booleans())
        b_at, b_dims = ([v["n"], v["k"]], [n, k]) if stored_nk else ([v["k"], v["n"]], [k, n])
    b_at, b_dims = parted(b_at, b_dims)
    layer = draw(st.booleans())
    if layer:
        b_at, b_dims = [1, *b_at], [2, *b_dims]
    b = make.table(b_dims, kind, "weight", bounds)
    if quantised and stored_nk:
        make.stored[make.tensors[b].name] = "q8_0"
    elif not integer and draw(st.integers(0, 3)) == 0:
        make.stored[make.tensors[b].name] = "bf16"
    guards: tuple[Value, ...] = ()
    box = tuple(sizes)
    if draw(st.integers(0, 2)) == 0:
        count = read(make.table((), "int", "input", (0, k - 1)))
        bound: Value = fn("add", count, Var(v["m"]), kind="int") if m is not None and draw(st.booleans()) else count
        guards = (fn("le", Var(v["k"]), bound, kind="bool"),)
    factors = (read(a, *a_at), read(b, *b_at))
    if draw(st.booleans()):
        factors = factors[::-1]
    value: Value = Acc(0)
    match draw(st.sampled_from(("plain", "scale", "add", "silu"))):
        case "scale" if not integer:
            value = fn("mul", Acc(0), num(0.125))
        case "add":
            value = fn("add", Acc(0), draw(accesses(make, box, kind, range(len(box)))), kind=kind)
        case "silu" if not integer:
            value = fn("div", Acc(0), fn("add", num(1.0), fn("exp", fn("neg", Acc(0)))))
        case _:
            pass
    side_by_side = bool(groups) and draw(st.booleans())
    order = draw(st.booleans()) and m is not None
    if side_by_side:
        pos: list[Index] = [*rows, var(0, rep * n) + var(1, n) + v["n"]]
        dims = [*([] if m is None else [m]), heads * n]
    elif order:
        pos, dims = [*head, v["n"], v["m"]], [*([heads] if groups else []), n, m or 1]
    else:
        pos, dims = [*head, *rows, v["n"]], [*([heads] if groups else []), *([] if m is None else [m]), n]
    assert extent["k"] == k
    piece = Piece(box, (k,), at(*pos), value, (Reduction("sum", fn("mul", *factors, kind=kind), guards),))
    make.result(make.put(make.made(dims, kind), piece))
    return drawn(make, draw(SEEDS))


STATEMENTS = maps() | interleaved() | writes() | reductions() | products()


# ---------------------------------------------------------------- programs of several statements


def rmsnorm(make: Maker, x: int, gain: Read, width: int, rows: int | None = None) -> int:
    """x over the root of its mean square, row by row, times `gain` (read at the last variable)."""
    lead: list[Index] = [] if rows is None else [var(0)]
    par = () if rows is None else (rows,)
    last = var(len(par))
    square = fn("mul", read(x, *lead, last), read(x, *lead, last))
    root = fn("sqrt", fn("add", fn("div", Acc(0), num(float(width))), num(1e-5)))
    s = make.put(make.made(par), Piece(par, (width,), at(*lead), root, (Reduction("sum", square),)))
    return make.map((*par, width), fn("mul", fn("div", read(x, *lead, last), read(s, *lead)), gain))


def softmax(make: Maker, x: int, rows: int, width: int, bound: Value) -> int:
    """Row by row e^(x - greatest) over its sum, of the columns not beyond `bound`; the others hold 0."""
    guard = fn("le", Var(var(1)), bound, kind="bool")
    term = read(x, var(0), var(1))
    m = make.put(
        make.made((rows,)), Piece((rows,), (width,), at(var(0)), Acc(0), (Reduction("max", term, (guard,)),))
    )
    e = make.map((rows, width), fn("select", guard, fn("exp", fn("sub", term, read(m, var(0)))), num(0.0)))
    term = read(e, var(0), var(1))
    s = make.put(make.made((rows,)), Piece((rows,), (width,), at(var(0)), Acc(0), (Reduction("sum", term),)))
    return make.map((rows, width), fn("div", term, read(s, var(0))))


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder."""

    layers: int = 2
    heads: int = 4
    groups: int = 2
    head: int = 24
    ffn: int = 64
    positions: int = 50
    vocabulary: int = 50

    @property
    def width(self) -> int:
        return self.heads * self.head

    @property
    def kv(self) -> int:
        return self.groups * self.head


def decoder(shape: Shape, q8: bool = False) -> Drawn:
    """A Llama-shaped decode step: norms, products, rotary pairs, cache, grouped attention, SwiGLU, arg-max."""
    s, make = shape, Maker()
    w, kv, half = s.width, s.kv, s.head // 2
    p = make.tensor((1,), "int", "input", "position", (0, s.positions - 1))
    x0 = make.tensor((w,), "float", "input", "x")
    caches = [make.tensor((s.layers, s.positions, kv), "float", "state", n) for n in ("k_cache", "v_cache")]

    def weight(name: str, *dims: int) -> int:
        if q8 and len(dims) == 3:
            make.stored[name] = "q8_0"
        return make.tensor(dims, "float", "weight", name)

    wq, wk, wv, wo = (weight(n, s.layers, r, w) for n, r in (("wq", w), ("wk", kv), ("wv", kv), ("wo", w)))
    gate, up = (weight(n, s.layers, s.ffn, w) for n in ("gate", "up"))
    down = weight("down", s.layers, w, s.ffn)
    norms = [weight(f"norm{n}", s.layers, w) for n in range(2)]
    tables = [weight(n, s.positions, half) for n in ("cos", "sin")]
    head = weight("head", s.vocabulary, w)
    xi = make.made((w,))
    old = [make.made((s.layers, s.positions, kv)) for _ in caches]
    outer, make.nodes = make.nodes, []
    b, here = Affine.sym("b"), via(p, 0)

    def product(x: int, table: int, n: int, k: int, value: Value = TOTAL) -> Piece:
        term = fn("mul", read(x, var(1)), read(table, b, var(0), var(1)))
        return Piece((n,), (k,), at(var(0)), value, (Reduction("sum", term),))

    def rotated(x: int, heads: int, lead: Sequence[Index]) -> tuple[Piece, ...]:
        cos, sin = (read(t, here, var(1)) for t in tables)
        x0, x1 = (read(x, var(0, s.head) + var(1, 2) + j) for j in (0, 1))
        even = fn("sub", fn("mul", x0, cos), fn("mul", x1, sin))
        odd = fn("add", fn("mul", x0, sin), fn("mul", x1, cos))
        return tuple(
            Piece((heads, half), (), at(*lead, var(0, s.head) + var(1, 2) + j), v) for j, v in enumerate((even, odd))
        )

    h = rmsnorm(make, xi, read(norms[0], b, var(0)), w)
    q, k = make.put(make.made((w,)), product(h, wq, w, w)), make.put(make.made((kv,)), product(h, wk, kv, w))
    q = make.put(make.made((w,)), *rotated(q, s.heads, ()))
    cache = [make.made((s.layers, s.positions, kv)) for _ in caches]
    make.put(cache[0], *rotated(k, s.groups, (b, here)), over=old[0])
    row = product(h, wv, kv, w)
    make.put(cache[1], Piece(row.par, row.red, at(b, here, var(0)), row.value, row.accs), over=old[1])
    rep = s.heads // s.groups
    head_of = var(0, rep) + var(1)
    term = fn(
        "mul",
        read(q, var(0, rep * s.head) + var(1, s.head) + var(3)),
        read(cache[0], b, var(2), var(0, s.head) + var(3)),
    )
    scores = make.put(
        make.made((s.heads, s.positions)),
        Piece(
            (s.groups, rep, s.positions),
            (s.head,),
            at(head_of, var(2)),
            fn("mul", Acc(0), num(s.head**-0.5)),
            (Reduction("sum", term),),
        ),
    )
    weights = softmax(make, scores, s.heads, s.positions, read(p, 0))
    term = fn("mul", read(weights, head_of, var(3)), read(cache[1], b, var(3), var(0, s.head) + var(2)))
    guard = fn("le", Var(var(3)), read(p, 0), kind="bool")
    mixed = make.put(
        make.made((w,)),
        Piece(
            (s.groups, rep, s.head),
            (s.positions,),
            at(var(0, rep * s.head) + var(1, s.head) + var(2)),
            Acc(0),
            (Reduction("sum", term, (guard,)),),
        ),
    )
    x1 = make.put(make.made((w,)), product(mixed, wo, w, w, fn("add", read(xi, var(0)), Acc(0))))
    h = rmsnorm(make, x1, read(norms[1], b, var(0)), w)
    g, u = (
        make.put(make.made((s.ffn,)), product(h, gate, s.ffn, w)),
        make.put(make.made((s.ffn,)), product(h, up, s.ffn, w)),
    )
    gv = read(g, var(0))
    silu = fn("div", gv, fn("add", num(1.0), fn("exp", fn("neg", gv))))
    f = make.map((s.ffn,), fn("mul", silu, read(u, var(0))))
    xo = make.put(make.made((w,)), product(f, down, w, s.ffn, fn("add", read(x1, var(0)), Acc(0))))
    body, make.nodes = tuple(make.nodes), outer
    final = [make.made((w,)), *(make.made((s.layers, s.positions, kv)) for _ in caches)]
    carried = [Carried(x0, xi, xo, final[0])]
    carried += [Carried(a, i, m, z) for a, i, m, z in zip(caches, old, cache, final[1:], strict=True)]
    make.nodes.append(Block(s.layers, body, tuple(carried)))  # type: ignore[arg-type]
    term = fn("mul", read(final[0], var(1)), read(head, var(0), var(1)))
    logits = make.put(
        make.made((s.vocabulary,)), Piece((s.vocabulary,), (w,), at(var(0)), Acc(0), (Reduction("sum", term),))
    )
    best = Reduction("argmax_first", read(logits, var(0)), (), Var(var(0)))
    token = make.put(make.made((), "int"), Piece((), (s.vocabulary,), (), Acc(0), (best,)))
    make.results += [("hidden", final[0]), ("logits", logits), ("token", token)]
    make.state += [(n, c, z) for n, c, z in zip(("k_cache", "v_cache"), caches, final[1:], strict=True)]
    return drawn(make, 0)


@st.composite
def blocks(draw: st.DrawFn) -> Drawn:
    """A block that carries a vector through layers, read early or late, and writes a row of a table each time."""
    make = Maker()
    n, trip = draw(st.sampled_from((7, 31, 32, 50, 64))), draw(st.integers(1, 4))
    x = make.table((n,))
    bias = make.table((trip, n), role="weight")
    weight = make.table((trip, n, n), role="weight")
    log = make.table((trip, n), role="state")
    inner, old = make.made((n,)), make.made((trip, n))
    b = Affine.sym("b")
    term = fn("mul", read(inner, var(1)), read(weight, b, var(0), var(1)))
    m = make.made((n,))
    first = Statement(m, (Piece((n,), (n,), at(var(0)), fn("tanh", Acc(0)), (Reduction("sum", term),)),))
    made = make.made((n,))
    second = Statement(made, (Piece((n,), (), at(var(0)), fn("add", read(m, var(0)), read(bias, b, var(0)))),))
    # What the instance began with is read after what it hands on was made: two buffers are needed.
    late, new = draw(st.booleans()), make.made((trip, n))
    source = fn("sub", read(made, var(0)), read(inner if late else m, var(0)))
    if draw(st.booleans()):  # the table is read where it is written, or where another instance wrote
        where: Index = b if draw(st.booleans()) else draw(st.integers(0, trip - 1))
        source = fn("add", source, read(old, where, var(0)))
    third = Statement(new, (Piece((n,), (), at(b, var(0)), source),), old)
    final, logged = make.made((n,)), make.made((trip, n))
    make.nodes.append(
        Block(trip, (first, second, third), (Carried(x, inner, made, final), Carried(log, old, new, logged)))
    )
    make.result(final)
    make.state.append((make.tensors[log].name, log, logged))
    return drawn(make, draw(SEEDS))


@st.composite
def chains(draw: st.DrawFn) -> Drawn:
    """Statements that read what earlier ones made, in any order of its dimensions: maps, row reductions, products."""
    make = Maker()
    sizes = draw(st.lists(st.sampled_from((1, 3, 7, 24, 32, 33, 50)), min_size=2, max_size=3))
    pool = [make.table([draw(st.sampled_from(sizes)) for _ in range(draw(st.integers(1, 3)))]) for _ in range(2)]
    for _ in range(draw(st.integers(2, 5))):
        pool.append(draw(links(make, pool)))
    for tensor in pool[-2:]:
        if make.tensors[tensor].role == "made":
            make.result(tensor)
    return drawn(make, draw(SEEDS))


@st.composite
def links(draw: st.DrawFn, make: Maker, pool: Sequence[int]) -> int:
    """One more statement over tensors of `pool`."""
    first = draw(st.sampled_from(list(pool)))
    dims = make.tensors[first].dims
    order = draw(st.permutations(range(len(dims))))
    x = read(first, *(var(n) for n in range(len(dims))))
    kept = [var(n) for n in order]
    match draw(st.sampled_from(("map", "map", "reduce", "product"))):
        case "reduce" if len(dims) > 1:
            # The variable reduced comes last; the others keep the order of the tensor.
            red = order[-1]
            names = {n: var(k) for k, n in enumerate(n for n in range(len(dims)) if n != red)} | {
                red: var(len(dims) - 1)
            }
            par = tuple(e for n, e in enumerate(dims) if n != red)
            term = read(first, *(names[n] for n in range(len(dims))))
            op = draw(st.sampled_from(("sum", "max", "min")))
            where = at(*(var(n) for n in range(len(par))))
            return make.put(make.made(par), Piece(par, (dims[red],), where, Acc(0), (Reduction(op, term),)))
        case "product" if 1 <= len(dims) <= 2:
            k = order[-1]
            n = draw(st.sampled_from((3, 24, 33)))
            table = make.table((n, dims[k]), role="weight")
            rows = tuple(e for d, e in enumerate(dims) if d != k)
            last = len(rows) + 1
            names = {d: var(j) for j, d in enumerate(d for d in range(len(dims)) if d != k)} | {k: var(last)}
            term = fn(
                "mul", read(first, *(names[d] for d in range(len(dims)))), read(table, var(last - 1), var(last))
            )
            where = at(*(var(j) for j in range(last)))
            value = fn("mul", Acc(0), num(0.25))
            return make.put(
                make.made((*rows, n)), Piece((*rows, n), (dims[k],), where, value, (Reduction("sum", term),))
            )
        case _:
            value: Value = x
            for other in draw(st.lists(st.sampled_from(list(pool)), max_size=2)):
                at_ = [var(dims.index(e)) for e in make.tensors[other].dims if e in dims]
                if len(at_) == len(make.tensors[other].dims):
                    value = fn(draw(st.sampled_from(("add", "sub", "max"))), value, read(other, *at_))
            if draw(st.booleans()):
                value = fn("tanh", value)
            return make.put(make.made([dims[n] for n in order]), Piece(dims, (), at(*kept), value))


@st.composite
def places(draw: st.DrawFn) -> Drawn:
    """Tables written in place from whatever version of any of them: whole, in part, at a run-time row, in a block."""
    make = Maker()
    rows, cols = draw(st.sampled_from((2, 7, 33))), draw(st.sampled_from((1, 7, 32, 50)))
    tables = [make.table((rows, cols), role="state") for _ in range(2)]
    row = make.table((), "int", "input", (0, rows - 1))
    now, seen = list(tables), list(tables)

    def source(*indices: Index) -> Value:
        x, y = (read(draw(st.sampled_from(seen)), *indices) for _ in range(2))
        return fn(draw(st.sampled_from(("add", "sub", "min"))), x, fn("tanh", y))

    for _ in range(draw(st.integers(1, 4))):
        k = draw(st.integers(0, 1))
        out = make.made((rows, cols))
        match draw(st.sampled_from(("whole", "rows", "row", "moved", "sum", "guarded"))):
            case "whole":
                piece = Piece((rows, cols), (), at(var(0), var(1)), source(var(0), var(1)))
            case "rows":
                part = draw(st.integers(1, rows))
                piece = Piece((part, cols), (), at(var(0) + (rows - part), var(1)), source(var(0), var(1)))
            case "row":
                piece = Piece((cols,), (), at(via(row), var(0)), source(via(row), var(0)))
            case "moved":
                piece = Piece((cols,), (), at(via(row), var(0)), source(draw(st.integers(0, rows - 1)), var(0)))
            case "sum":
                term = source(var(0), var(1))
                total = fn("mul", Acc(0), num(0.125))
                piece = Piece((rows,), (cols,), at(var(0), 0), total, (Reduction("sum", term),))
            case _:
                guard = fn("le", Var(var(0)), read(row), kind="bool")
                value = source(var(0), var(1))
                piece = Piece((rows, cols), (), at(var(0), var(1)), value, (), (guard,))
        make.put(out, piece, over=now[k])
        now[k] = out
        seen.append(out)
        if draw(st.integers(0, 3)) == 0:
            make.result(make.map((rows, cols), source(var(0), var(1))))
    if draw(st.booleans()):
        make.result(draw(st.sampled_from(seen)))
    if draw(st.integers(0, 4)) == 0:
        now.reverse()
    make.state += [(make.tensors[t].name, t, last) for t, last in zip(tables, now, strict=True)]
    return drawn(make, draw(SEEDS))
