"""What a program computes, free of any spelling: integer polynomials, values, definitions of tensors.

Indices count from 0 here, extents are exclusive; how a program counts is chosen when it is spelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Quotient:
    """`of / by` or `of % by` for non-negative `of`."""

    op: str
    of: Poly
    by: Poly


@dataclass(frozen=True)
class Lookup:
    """An item of an integer table, inside an index."""

    table: str
    at: tuple[Poly, ...]


Symbol = str | Quotient | Lookup


@dataclass(frozen=True)
class Poly:
    """A polynomial in loop variables, sizes and run-time integers."""

    terms: tuple[tuple[tuple[Symbol, ...], int], ...]

    def __add__(self, other: Poly | int | str) -> Poly:
        return _poly([*self.terms, *poly(other).terms])

    def __sub__(self, other: Poly | int | str) -> Poly:
        return self + poly(other) * -1

    def __mul__(self, other: Poly | int | str) -> Poly:
        return _poly([(a + b, x * y) for a, x in self.terms for b, y in poly(other).terms])

    @property
    def const(self) -> int:
        return dict(self.terms).get((), 0)

    def symbols(self) -> set[str]:
        """Names anywhere within."""
        found: set[str] = set()
        for monomial, _ in self.terms:
            for s in monomial:
                match s:
                    case str():
                        found.add(s)
                    case Quotient(_, of, by):
                        found |= of.symbols() | by.symbols()
                    case Lookup(_, at):
                        found |= {n for a in at for n in a.symbols()}
        return found

    def coefficient(self, name: str) -> Poly | None:
        """Of `name`, if it occurs to the first power only and nowhere inside."""
        found: list[tuple[tuple[Symbol, ...], int]] = []
        for monomial, factor in self.terms:
            if monomial.count(name) == 1:
                rest = tuple(s for s in monomial if s != name)
                found.append((rest, factor))
            elif monomial.count(name) > 1:
                return None
            if any(not isinstance(s, str) and name in _poly([((s,), 1)]).symbols() for s in monomial):
                return None
        return _poly(found)

    def put(self, values: Mapping[str, Poly]) -> Poly:
        """With polynomials in place of names."""
        total = Poly(())
        for monomial, factor in self.terms:
            product = poly(factor)
            for s in monomial:
                match s:
                    case str():
                        product = product * values.get(s, poly(s))
                    case Quotient(op, of, by):
                        product = product * symbol(Quotient(op, of.put(values), by.put(values)))
                    case Lookup(table, at):
                        product = product * symbol(Lookup(table, tuple(a.put(values) for a in at)))
            total = total + product
        return total

    def value(self, sizes: Mapping[str, int]) -> int | None:
        """The number, if only sizes occur."""
        total = 0
        for monomial, factor in self.terms:
            for s in monomial:
                if not isinstance(s, str) or s not in sizes:
                    return None
                factor *= sizes[s]
            total += factor
        return total


def _poly(terms: list[tuple[tuple[Symbol, ...], int]]) -> Poly:
    found: dict[tuple[Symbol, ...], int] = {}
    for monomial, factor in terms:
        key = tuple(sorted(monomial, key=repr))
        found[key] = found.get(key, 0) + factor
    return Poly(tuple(sorted(((m, f) for m, f in found.items() if f), key=repr)))


def poly(value: Poly | int | str) -> Poly:
    match value:
        case Poly():
            return value
        case int():
            return _poly([((), value)])
        case str():
            return _poly([((value,), 1)])


def symbol(value: Symbol) -> Poly:
    return _poly([((value,), 1)])


def over(of: Poly | str, by: Poly | int | str) -> Poly:
    return symbol(Quotient("/", poly(of), poly(by)))


def modulo(of: Poly | str, by: Poly | int | str) -> Poly:
    return symbol(Quotient("%", poly(of), poly(by)))


def lookup(table: str, *at: Poly | int | str) -> Poly:
    return symbol(Lookup(table, tuple(poly(a) for a in at)))


# ---------------------------------------------------------------- values


@dataclass(frozen=True)
class Num:
    value: float | int


@dataclass(frozen=True)
class Count:
    """An integer of the loops as a number; `float`: made a Float by adding 0.0."""

    value: Poly
    float: bool = True


@dataclass(frozen=True)
class At:
    tensor: str
    at: tuple[Poly, ...]


@dataclass(frozen=True)
class Param:
    """What a helper's parameter stands for."""

    name: str


@dataclass(frozen=True)
class Bin:
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Fn:
    """A builtin or native."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Helper:
    """A named expression of one value: spelled in place, by a temporary or as a function."""

    name: str
    param: str
    arg: Expr
    body: Expr


@dataclass(frozen=True)
class Test:
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Choose:
    """`then` if every test holds, else `other`."""

    tests: tuple[Test, ...]
    then: Expr
    other: Expr


@dataclass(frozen=True)
class Fold:
    """A reduction of `term` over `var` below `extent`, which is at most `box`; `nonempty`: it has a first term."""

    op: str
    var: str
    extent: Poly
    term: Expr
    box: Poly | None = None
    nonempty: bool = True
    tests: tuple[Test, ...] = ()
    kind: str = "Float"


@dataclass(frozen=True)
class Best:
    """The place (from `base`) of the largest term; the last of equals if `last`."""

    var: str
    extent: Poly
    term: Expr
    last: bool = False
    base: int = 0
    least: bool = False
    kind: str = "Float"


Expr = Num | Count | At | Param | Bin | Fn | Helper | Choose | Fold | Best


# ---------------------------------------------------------------- programs


@dataclass(frozen=True)
class Def:
    """A tensor over its axes. Two values make pairs along the last axis: neighbours (`near`) or halves (`far`)."""

    name: str
    axes: tuple[tuple[str, Poly], ...]
    values: tuple[Expr, ...]
    kind: str = "Float"
    pairs: str = ""


@dataclass(frozen=True)
class Update:
    """Items of a state table set over the axes, where the tests hold."""

    table: str
    axes: tuple[tuple[str, Poly], ...]
    at: tuple[Poly, ...]
    value: Expr
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True)
class Running:
    """A value that loops keep up to date: begun inside the first `begins` of them, changed at the end of `level`.

    Values of the same scan name it as a parameter.
    """

    name: str
    op: str
    start: Expr
    term: Expr
    begins: int
    level: int
    tests: tuple[Test, ...] = ()
    kind: str = "Float"


@dataclass(frozen=True)
class Kept:
    """A tensor of what a value of running ones is in every iteration of `level` loops: at its end, or as it begins."""

    name: str
    level: int
    value: Expr
    early: bool = False
    kind: str = "Float"


@dataclass(frozen=True)
class Scan:
    """Loops in this order, what they keep up to date, and the tensors made of it."""

    loops: tuple[tuple[str, Poly], ...]
    running: tuple[Running, ...]
    kept: tuple[Kept, ...]


@dataclass(frozen=True)
class Part:
    """Items one behind the other, `value` for `var` from `first` to below `extent`; a single item without `var`."""

    value: Expr
    var: str = ""
    first: Poly = Poly(())
    extent: Poly = Poly((((), 1),))

    @property
    def length(self) -> Poly:
        return self.extent - self.first


@dataclass(frozen=True)
class Join:
    """A sequence of parts in a row; `rows`: the axes of an item; `room`: the most items there can be."""

    name: str
    parts: tuple[Part, ...]
    rows: tuple[tuple[str, Poly], ...]
    room: Poly
    kind: str = "Float"
    pairs: str = ""

    @property
    def length(self) -> Poly:
        whole = poly(0)
        for p in self.parts:
            whole = whole + p.length
        return whole

    @property
    def axes(self) -> tuple[tuple[str, Poly], ...]:
        return (("", self.room), *self.rows)

    @property
    def values(self) -> tuple[Expr, ...]:
        return tuple(p.value for p in self.parts)


Step = Def | Update | Scan | Join


@dataclass(frozen=True)
class Input:
    """A table of the program: extents, and the bounds of integers (as polynomials in sizes)."""

    shape: tuple[Poly, ...]
    kind: str = "Float"
    range: tuple[Poly, Poly] | None = None
    state: bool = False
    weight: bool = False


@dataclass(frozen=True)
class Problem:
    """One family's program under named sizes. `scalars`: run-time integers, read once from one-item tables."""

    family: str
    variant: str
    sizes: tuple[Mapping[str, int], Mapping[str, int]]
    inputs: Mapping[str, Input]
    steps: tuple[Step, ...]
    results: tuple[str, ...] = ("y",)
    scalars: Mapping[str, str] = field(default_factory=dict[str, str])
    assume: tuple[str, ...] = ()


def at(tensor: str, *index: Poly | int | str) -> At:
    return At(tensor, tuple(poly(i) for i in index))


def total(var: str, extent: Poly | str, term: Expr, **more: object) -> Fold:
    return Fold("+", var, poly(extent), term, **more)  # type: ignore[arg-type]


def define(name: str, axes: Mapping[str, Poly | str | int], *values: Expr, kind: str = "Float", pairs: str = "") -> Def:
    return Def(name, tuple((v, poly(n)) for v, n in axes.items()), values, kind, pairs)
