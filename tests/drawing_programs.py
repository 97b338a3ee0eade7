"""Strategies that draw graphs of several statements: blocks, chains, tables written in place."""

from __future__ import annotations

from collections.abc import Sequence

from drawing import SEEDS
from graphs import Drawn, Index, Maker, at, drawn, fn, num, read, var, via
from hypothesis import strategies as st

from spatial.ir.affine import Affine
from spatial.ir.graph import (
    Acc,
    Block,
    Carried,
    Piece,
    Reduction,
    Statement,
    Value,
    Var,
)


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
            term = fn("mul", read(first, *(names[d] for d in range(len(dims)))), read(table, var(last - 1), var(last)))
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
