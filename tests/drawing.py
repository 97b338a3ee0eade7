"""Strategies that draw graphs of one statement: maps, interleaved pieces, writes, reductions, products.

Drawn sizes are ragged on purpose; drawn floats stay tame (no overflow, no comparison of computed floats), so that an
evaluation in binary64 bounds what a chip may give.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from graphs import Drawn, Index, Maker, at, drawn, fn, num, read, var, via
from hypothesis import strategies as st

from spatial.ir.affine import Affine
from spatial.ir.graph import (
    Acc,
    Piece,
    Read,
    Reduction,
    Value,
    Var,
)

EXTENTS = (1, 2, 3, 7, 24, 31, 32, 33, 50, 64, 100)
MOST = 6400
"""Elements of a drawn box at most."""
SEEDS = st.integers(0, 1000)
SMALL_INTS = (-9, 9)


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
def values(draw: st.DrawFn, make: Maker, box: tuple[int, ...], kind: str, live: Sequence[int], depth: int = 2) -> Value:
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
        st.sampled_from(("sum", "max", "min", "product", "argmax_first", "argmax_last", "argmin_first", "argmin_last"))
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
