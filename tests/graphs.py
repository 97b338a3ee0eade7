"""Graphs made by records, statement by statement, and a decoder of any size made so.

Nothing here knows how a graph is lowered or drawn; strategies stand in `drawing` and `drawing_programs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
    m = make.put(make.made((rows,)), Piece((rows,), (width,), at(var(0)), Acc(0), (Reduction("max", term, (guard,)),)))
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


TOTAL = Acc(0)


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
