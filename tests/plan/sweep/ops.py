"""The operations of the sweep, each as a graph of one statement, and what it costs to run.

An operation is named with its sizes; how its tables are stored is one word, `f32`, `bf16`, `q8_0` or `i8`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from graphs import Drawn, Maker, Piece, Reduction, at, drawn, fn, num, read, var, via
from plan.priced_and_timed import product as matmul

from spatial.ir.graph import Acc, Value, Var

Sizes = tuple[int, ...]


class _Tables(Maker):
    """A maker whose tables are stored in one format."""

    def __init__(self, stored: str) -> None:
        super().__init__()
        self.format = stored

    def floats(self, *dims: int, role: str = "input", stored: str = "") -> int:
        number = self.table(dims, role=role)
        self.stored[self.tensors[number].name] = stored or self.format
        return number


def _mapped(make: Maker, dims: Sizes, value: Value) -> Drawn:
    make.result(make.map(dims, value))
    return drawn(make, 0)


def _reduced(make: Maker, rows: int, width: int, op: str, term: Value, value: Value | None = None) -> Drawn:
    piece = Piece((rows,), (width,), at(var(0)), value or Acc(0), (Reduction(op, term),))
    make.result(make.put(make.made((rows,)), piece))
    return drawn(make, 0)


def add(sizes: Sizes, stored: str) -> Drawn:
    """A residual: two tables added."""
    make = _Tables(stored)
    x, y = make.floats(*sizes), make.floats(*sizes)
    return _mapped(make, sizes, fn("add", read(x, var(0), var(1)), read(y, var(0), var(1))))


def swiglu(sizes: Sizes, stored: str) -> Drawn:
    """The gate of a feed-forward layer: silu(g) * u."""
    make = _Tables(stored)
    g, u = (read(make.floats(*sizes), var(0), var(1)) for _ in range(2))
    silu = fn("div", g, fn("add", num(1.0), fn("exp", fn("neg", g))))
    return _mapped(make, sizes, fn("mul", silu, u))


def rotary(sizes: Sizes, stored: str) -> Drawn:
    """Rows of heads turned by the angles of their positions, pairs of neighbours together."""
    rows, heads, head = sizes
    make = _Tables(stored)
    x = make.floats(rows, heads * head)
    cos, sin = (read(make.floats(rows, head // 2, role="weight"), var(0), var(2)) for _ in range(2))
    column = var(1, head) + var(2, 2)
    a, b = (read(x, var(0), column + j) for j in (0, 1))
    turned = (
        fn("sub", fn("mul", a, cos), fn("mul", b, sin)),
        fn("add", fn("mul", a, sin), fn("mul", b, cos)),
    )
    pieces = [Piece((rows, heads, head // 2), (), at(var(0), column + j), v) for j, v in enumerate(turned)]
    make.result(make.put(make.made((rows, heads * head)), *pieces))
    return drawn(make, 0)


def row_max(sizes: Sizes, stored: str) -> Drawn:
    """The first step of a softmax."""
    make = _Tables(stored)
    return _reduced(make, *sizes, "max", read(make.floats(*sizes), var(0), var(1)))


def exponentials(sizes: Sizes, stored: str) -> Drawn:
    """The second: e^(x - greatest)."""
    make = _Tables(stored)
    x, m = make.floats(*sizes), make.floats(sizes[0], stored="f32")
    return _mapped(make, sizes, fn("exp", fn("sub", read(x, var(0), var(1)), read(m, var(0)))))


def row_sum(sizes: Sizes, stored: str) -> Drawn:
    """The third."""
    make = _Tables(stored)
    return _reduced(make, *sizes, "sum", read(make.floats(*sizes), var(0), var(1)))


def shares(sizes: Sizes, stored: str) -> Drawn:
    """The last: each over its row's sum."""
    make = _Tables(stored)
    x, s = make.floats(*sizes), make.floats(sizes[0], stored="f32")
    total = fn("add", fn("abs", read(s, var(0))), num(1.0))
    return _mapped(make, sizes, fn("div", read(x, var(0), var(1)), total))


def root_mean_square(sizes: Sizes, stored: str) -> Drawn:
    """The reduction of an RMSNorm."""
    make = _Tables(stored)
    x = read(make.floats(*sizes), var(0), var(1))
    root = fn("sqrt", fn("add", fn("div", Acc(0), num(float(sizes[1]))), num(1e-5)))
    return _reduced(make, *sizes, "sum", fn("mul", x, x), root)


def normalised(sizes: Sizes, stored: str) -> Drawn:
    """The rest of an RMSNorm: each over its row's root, times a gain."""
    make = _Tables(stored)
    x, s, gain = make.floats(*sizes), make.floats(sizes[0], stored="f32"), make.floats(sizes[1], role="weight")
    root = fn("add", fn("abs", read(s, var(0))), num(1.0))
    return _mapped(make, sizes, fn("mul", fn("div", read(x, var(0), var(1)), root), read(gain, var(1))))


def scores(sizes: Sizes, stored: str) -> Drawn:
    """Queries of rows by the keys of all positions, heads in groups that share a key."""
    rows, groups, rep, head, positions = sizes
    make = _Tables(stored)
    q, k = make.floats(rows, groups * rep * head), make.floats(positions, groups * head, role="state")
    term = fn(
        "mul",
        read(q, var(2), var(0, rep * head) + var(1, head) + var(4)),
        read(k, var(3), var(0, head) + var(4)),
    )
    box = (groups, rep, rows, positions)
    scaled = fn("mul", Acc(0), num(head**-0.5))
    piece = Piece(box, (head,), at(var(0, rep) + var(1), var(2), var(3)), scaled, (Reduction("sum", term),))
    make.result(make.put(make.made((groups * rep, rows, positions)), piece))
    return drawn(make, 0)


def mix(sizes: Sizes, stored: str) -> Drawn:
    """The shares of all positions by their values."""
    rows, groups, rep, head, positions = sizes
    make = _Tables(stored)
    s, v = make.floats(groups * rep, rows, positions), make.floats(positions, groups * head, role="state")
    term = fn("mul", read(s, var(0, rep) + var(1), var(2), var(4)), read(v, var(4), var(0, head) + var(3)))
    box = (groups, rep, rows, head)
    place = at(var(2), var(0, rep * head) + var(1, head) + var(3))
    make.result(
        make.put(
            make.made((rows, groups * rep * head)), Piece(box, (positions,), place, Acc(0), (Reduction("sum", term),))
        )
    )
    return drawn(make, 0)


def gather(sizes: Sizes, stored: str) -> Drawn:
    """Rows of a table at places known when the program runs."""
    tokens, vocabulary, width = sizes
    make = _Tables(stored)
    token = make.table((tokens,), "int", "input", (0, vocabulary - 1))
    table = make.floats(vocabulary, width, role="weight")
    return _mapped(make, (tokens, width), read(table, via(token, var(0)), var(1)))


def int_product(sizes: Sizes, stored: str) -> Drawn:
    """A product of tables of small integers."""
    m, k, n = sizes
    make = Maker()
    x, w = make.table((m, k), "int", "input", (-127, 127)), make.table((k, n), "int", "weight", (-127, 127))
    term = fn("mul", read(x, var(0), var(2)), read(w, var(2), var(1)), kind="int")
    piece = Piece((m, n), (k,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((m, n), "int"), piece))
    return drawn(make, 0)


def argmax(sizes: Sizes, stored: str) -> Drawn:
    """The place of the greatest of a row."""
    make = _Tables(stored)
    best = Reduction("argmax_first", read(make.floats(*sizes), var(0)), (), Var(var(0)))
    make.result(make.put(make.made((), "int"), Piece((), sizes, (), Acc(0), (best,))))
    return drawn(make, 0)


OPS: dict[str, Callable[[Sizes, str], Drawn]] = {
    "matmul": lambda sizes, stored: matmul((sizes[0], sizes[1], sizes[2]), stored),
    "add": add,
    "swiglu": swiglu,
    "rotary": rotary,
    "row_max": row_max,
    "exponentials": exponentials,
    "row_sum": row_sum,
    "shares": shares,
    "root_mean_square": root_mean_square,
    "normalised": normalised,
    "scores": scores,
    "mix": mix,
    "gather": gather,
    "int_product": int_product,
    "argmax": argmax,
}


def steps(op: str, sizes: Sizes) -> int:
    """Terms or values of a call."""
    return sizes[0] * sizes[2] if op == "gather" else prod(sizes)


def elements(op: str, sizes: Sizes) -> int:
    """Elements of the largest table."""
    match op:
        case "matmul" | "int_product":
            m, k, n = sizes
            return max(m * k, k * n, m * n)
        case "scores" | "mix":
            rows, groups, rep, head, positions = sizes
            return max(positions * groups * head, groups * rep * rows * positions, rows * groups * rep * head)
        case "gather":
            return sizes[1] * sizes[2]
        case _:
            return prod(sizes)
