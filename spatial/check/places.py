"""Places and conditions of a graph's pieces, as linear forms over integers.

Serves the obligation on graphs. Variables of a piece are symbols, and so is whatever only a run knows: an item that is
read, a quotient, a condition. What is the same on both sides has one symbol; a quotient by a constant is bounded by
what it divides; an item of a constant is what its form says there. A condition is told as ways in which it can hold,
and what is chosen, as a least or a greatest number is, as ways in which it can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, At, Fn, GraphTensor, Num, Piece, Read, Value, Var

FAR = 1 << 63
"""Beyond the values of any integer of an artifact."""

MOST_WAYS = 16
"""Ways in which a piece's conditions can hold that are told apart; where there are more, a condition is left out."""

MOST_NESTED = 8
"""Constants read at places that are items of constants, followed so deep."""

MOST_READ = 256
"""Items of constants followed for one piece: what is read further is any number."""

Ways = tuple[tuple[Affine, ...], ...]
"""Alternatives: in each, forms that are all at least zero. None of them: it cannot hold."""

ALWAYS: Ways = ((),)

Ranges = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Side:
    """A piece with variables of its own: its places, in which ways it writes them, and the range of every symbol."""

    places: tuple[Affine, ...]
    ways: Ways
    ranges: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Places:
    """Spells the pieces of a graph of `tensors`, in a block of `trip` instances."""

    tensors: Sequence[GraphTensor]
    trip: int

    def side(self, piece: Piece, name: str) -> Side:
        """The piece, its variables called after `name`."""
        own = {f"v{n}": f"{name}{n}" for n in range(len(piece.par))}
        ranges = {own[f"v{n}"]: (0, extent - 1) for n, extent in enumerate(piece.par)} | {"b": (0, self.trip - 1)}
        work = _Speller(self.tensors, name, ranges)
        change = {v: Affine.sym(s) for v, s in own.items()}
        places = tuple(work.place(i, change, 0) for i in piece.pos)
        ways = ALWAYS
        for guard in piece.guards:
            ways = _both(ways, work.holds(guard, True, change, 0))
        for choice in work.choices:
            ways = _both(ways, choice)
        return Side(places, _both(ways, (tuple(work.known),)), ranges)


@dataclass
class _Speller:
    tensors: Sequence[GraphTensor]
    name: str
    ranges: Ranges
    known: list[Affine] = field(default_factory=list[Affine])
    """Forms that are never negative: what is known of quotients."""
    choices: list[Ways] = field(default_factory=list[Ways])
    """What is chosen: of each, the ways in which it can be."""
    followed: int = 0
    """Items of constants that were followed."""

    # -- conditions

    def holds(self, value: Value, truth: bool, change: Mapping[str, Affine], depth: int) -> Ways:
        """The ways in which a condition is true, or false."""
        match value:
            case Fn("not", (a,)):
                return self.holds(a, not truth, change, depth)
            case Fn("and" | "or" as fn, (a, b)):
                first, second = self.holds(a, truth, change, depth), self.holds(b, truth, change, depth)
                return _both(first, second) if (fn == "and") == truth else _either(first, second)
            case Fn("le" | "lt" | "eq" | "ne" as fn, (a, b)) if _is_int(a, self.tensors) and _is_int(b, self.tensors):
                ahead = self.sum(b, change, depth) - self.sum(a, change, depth)
                match fn, truth:
                    case "le", _:
                        return ((ahead if truth else ahead * -1 - 1,),)
                    case "lt", _:
                        return ((ahead - 1 if truth else ahead * -1,),)
                    case ("eq", True) | ("ne", False):
                        return ((ahead, ahead * -1),)
                    case _:
                        return (ahead - 1,), (ahead * -1 - 1,)
            case _:
                symbol = self.symbol(value, change, (0, 1))
                return ((symbol - 1 if truth else symbol * -1,),)

    # -- integers

    def place(self, at: At, change: Mapping[str, Affine], depth: int) -> Affine:
        """An index as a form."""
        base = self.form(at.base, change)
        return base if at.via is None else base + self.sum(at.via, change, depth) * at.scale

    def sum(self, value: Value, change: Mapping[str, Affine], depth: int) -> Affine:
        """An integer as a form; what is no sum is a symbol."""
        match value:
            case Num(int(n)):
                return Affine(n)
            case Var(form):
                return self.form(form, change)
            case Read():
                return self.read(value, change, depth)
            case Fn("add" | "sub" | "mul" as fn, (a, b)):
                first, second = self.sum(a, change, depth), self.sum(b, change, depth)
                if fn != "mul":
                    return first + second if fn == "add" else first - second
                if first.is_const or second.is_const:
                    return second * first.const if first.is_const else first * second.const
            case Fn("neg", (a,)):
                return self.sum(a, change, depth) * -1
            case Fn("floordiv" | "truncdiv" | "rem" as fn, (a, Num(int(n)))) if n > 0:
                whole = self.sum(a, change, depth)
                quotient = self.quotient(whole, n) if fn == "floordiv" else self.towards_zero(whole, n)
                return whole - quotient * n if fn == "rem" else quotient
            case Fn("min" | "max" as fn, (a, b)):
                first, second = self.sum(a, change, depth), self.sum(b, change, depth)
                ahead = second - first if fn == "min" else first - second
                return self.chosen(f"{fn}({first}, {second})", (((ahead,),), first), (((ahead * -1,),), second))
            case Fn("abs", (a,)):
                inner = self.sum(a, change, depth)
                return self.chosen(f"abs({inner})", (((inner,),), inner), (((inner * -1,),), inner * -1))
            case Fn("select", (condition, a, b)):
                first, second = self.sum(a, change, depth), self.sum(b, change, depth)
                return self.chosen(
                    f"select({self.words(condition, change)}, {first}, {second})",
                    (self.holds(condition, True, change, depth), first),
                    (self.holds(condition, False, change, depth), second),
                )
            case _:
                pass
        return self.symbol(value, change, (-FAR, FAR))

    def chosen(self, name: str, *cases: tuple[Ways, Affine]) -> Affine:
        """The symbol `name` for what is one of several forms, each where its condition holds."""
        found = Affine.sym(name)
        if name not in self.ranges:
            ends = [form.bounds(self.ranges) for _, form in cases]
            self.ranges[name] = min(low for low, _ in ends), max(high for _, high in ends)
            self.choices.append(tuple((*way, found - f, f - found) for condition, f in cases for way in condition))
        return found

    def form(self, form: Affine, change: Mapping[str, Affine]) -> Affine:
        """A sum of variables; of what is none, a symbol that nothing is known of."""
        found = form.subst(change)
        known = all(s in self.ranges for s in found.symbols)
        return found if known else self.symbol(Var(form), change, (-FAR, FAR))

    def quotient(self, whole: Affine, by: int) -> Affine:
        """`whole` divided by a positive number, rounded down: one symbol for one sum."""
        name = f"({whole})//{by}"
        if name not in self.ranges:
            low, high = whole.bounds(self.ranges)
            self.ranges[name] = (low // by, high // by)
            rest = whole - Affine.sym(name, by)
            self.known += [rest, rest * -1 + (by - 1)]
        return Affine.sym(name)

    def towards_zero(self, whole: Affine, by: int) -> Affine:
        """`whole` divided by a positive number, rounded towards zero."""
        low, high = whole.bounds(self.ranges)
        if low >= 0:
            return self.quotient(whole, by)
        below = self.quotient(whole * -1, by) * -1
        if high <= 0:
            return below
        above = self.quotient(whole, by)
        return self.chosen(f"({whole})/{by}", (((whole,),), above), (((whole * -1,),), below))

    def read(self, read: Read, change: Mapping[str, Affine], depth: int) -> Affine:
        """An item of a table: of a constant what stands there, else one symbol for what is read at one place."""
        if not 0 <= read.tensor < len(self.tensors):
            return self.symbol(read, change, (-FAR, FAR))
        tensor, form = self.tensors[read.tensor], self.tensors[read.tensor].fill
        told = form is not None and tensor.kind == "int" and len(form.pos) == len(read.at) and _is_function(form)
        if form is not None and told and depth < MOST_NESTED and self.followed < MOST_READ:
            self.followed += 1
            point = zip((i.base.terms[0][0] for i in form.pos), read.at, strict=True)
            return self.sum(form.value, {v: self.place(i, change, depth + 1) for v, i in point}, depth + 1)
        return self.symbol(read, change, tensor.range or (-FAR, FAR))

    def symbol(self, value: Value, change: Mapping[str, Affine], ends: tuple[int, int]) -> Affine:
        """One symbol for what is written alike of the same variables, within `ends`."""
        name = self.words(value, change)
        self.ranges.setdefault(name, ends)
        return Affine.sym(name)

    def words(self, value: Value, change: Mapping[str, Affine]) -> str:
        """An expression in words that are equal where it is the same."""
        match value:
            case Num(n, kind):
                return f"{kind} {n!r}"
            case Var(form):
                return str(form.subst(change))
            case Acc(n):
                return f"{self.name} acc{n}"
            case Fn(fn, args):
                return f"{fn}({', '.join(self.words(a, change) for a in args)})"
            case Read(tensor, at):
                places = (
                    str(i.base.subst(change))
                    + (f" + {i.scale}*{self.words(i.via, change)}" if i.via is not None else "")
                    for i in at
                )
                return f"t{tensor}[{', '.join(places)}]"


def _is_int(value: Value, tensors: Sequence[GraphTensor]) -> bool:
    match value:
        case Read(tensor):
            return tensors[tensor].kind == "int"
        case Acc():
            return False  # its kind is that of its reduction: it is told as a whole
        case Var():
            return True
        case Num(kind=kind) | Fn(kind=kind):
            return kind == "int"


def _is_function(form: Piece) -> bool:
    """Whether a constant is told item by item: at its own coordinates, by what can be read there."""
    own = [i.base.terms[0][0] for i in form.pos if i.via is None and len(i.base.terms) == 1 and not i.base.const]
    plain = all(i.base.terms[0][1] == 1 for i in form.pos if i.base.terms)
    return plain and len(own) == len(form.pos) == len(set(own)) == len(form.par) and not form.guards and not form.accs


def _both(first: Ways, second: Ways) -> Ways:
    """The ways in which two conditions hold at once; where there are too many, one of them is left out."""
    if len(first) * len(second) > MOST_WAYS:
        return first
    return tuple((*a, *b) for a in first for b in second)


def _either(first: Ways, second: Ways) -> Ways:
    """The ways in which one of two conditions holds; where there are too many, nothing is told."""
    return (*first, *second) if len(first) + len(second) <= MOST_WAYS else ALWAYS
