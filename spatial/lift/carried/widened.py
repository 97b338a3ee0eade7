"""Numbers that are Ints before a loop and Floats in it: refused where that would show.

The lift takes such a number for a Float from the first iteration on. In the language it is an Int until the loop sets
it: it is divided as one, is exact beyond the Floats, and whatever keeps it meanwhile has an Int.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from spatial.lift.algebra.bounds import bounds
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.values import Const, Get, Made, Node, Op, Sym, Tensor, constant
from spatial.lift.algebra.walk import below, tensor_nodes
from spatial.lift.carried.carries import Carry, Closing
from spatial.lift.context.state import NotLifted, Seq, Value

_MEND = "start it as a Float: 0.0"

_EXACT = 1 << 53
"""Ints up to this are Floats as they are."""


def check_widened(c: Closing, widened: Sequence[Sym], told: bool) -> None:
    """Refuses numbers that are Ints before a loop and Floats in it, where that would show: after a loop that may run no
    time; in a division, which is another of Ints; where a Float does not hold them; and in what keeps them, if the
    program tells Ints from Floats anywhere (`told`)."""
    name = widened[0].name
    if not c.runs:
        why = f'"{name}" is a Float after this loop, but still an Int if the loop runs no time'
        raise NotLifted(why, _MEND, c.span, binder=name)
    values = [n for k in c.carries for n in _values(k.exit)]
    for start in widened:
        computed = [n for v in values for n in below(v) if start in n.free]
        if any(_tells(n, start) for n in computed):
            raise _refused(c, start, "and is divided")
        entry = next(k.entry for k in c.carries if k.start is start)
        assert isinstance(entry, Node)
        if any(_int_with(n, start) and _size(n, start, entry) >= _EXACT for n in computed):
            raise _refused(c, start, "and is larger than what a Float has exactly")
        for k in c.carries if told else ():
            if k.start is not start and any(_kept(v, start, entry) for v in _left(k)):
                raise _refused(c, start, f'and "{k.cell.name}" keeps it')


def _refused(c: Closing, start: Sym, what: str) -> NotLifted:
    why = f'"{start.name}" is an Int in the first iteration and a Float in the others, {what}'
    return NotLifted(why, _MEND, c.span, binder=start.name)


def _values(exit: Value) -> list[Node]:
    """What a variable is after an iteration, or what an iteration writes into it."""
    if isinstance(exit, Node):
        return [exit]
    return [n for made in _versions(exit) for n in tensor_nodes(made)]


def _left(k: Carry) -> list[Node]:
    """What an iteration leaves in a variable, or in its items."""
    if isinstance(k.exit, Node):
        return [k.exit]
    return [p.value for made in _versions(k.exit) for p in made.pieces]


def _versions(exit: Value) -> Iterator[Made]:
    tensor: Tensor | None = exit.tensor if isinstance(exit, Seq) else None
    while isinstance(tensor, Made):
        yield tensor
        tensor = tensor.base


def _kept(value: Node, start: Sym, entry: Node) -> bool:
    """Whether a value may be the Int that a variable is at first, or one made of it; zero is no other as a Float."""
    if start not in value.free or not _int_with(value, start):
        return False
    return constant(entry) is None or constant(Substitution({start: entry}).node(value)) != 0


def _tells(node: Node, start: Sym) -> bool:
    """Whether an operation is another one where a variable in it is an Int: its operands would all be Ints."""
    return (
        isinstance(node, Op) and node.fn in ("div", "floordiv", "pow") and all(_int_with(a, start) for a in node.args)
    )


def _int_with(node: Node, start: Sym) -> bool:
    """Whether an expression may be an Int where a variable is one."""
    match node:
        case Const(value=value):
            return float(value).is_integer()
        case Op(fn="add" | "sub" | "mul" | "neg" | "abs" | "min" | "max", args=args):
            return all(_int_with(a, start) for a in args)
        case Op(fn="select", args=(_, a, b)):
            return _int_with(a, start) and _int_with(b, start)
        case Op(fn="float"):
            return True
        case Get(tensor=Made(pieces=pieces)) if start in node.tensor.free:
            return any(_int_with(p.value, start) for p in pieces)
        case _:
            return node is start


def _size(node: Node, start: Sym, entry: Node) -> int:
    """How large an Int may get that is made of a variable that is one at first, as far as bounds are known."""
    match node:
        case Const(value=value):
            return int(abs(value)) if math.isfinite(value) else 0
        case Op(fn="float", args=(of,)):
            return max((abs(n) for n in bounds(of) if n is not None), default=0)
        case Op(fn="mul", args=args):
            return math.prod(_size(a, start, entry) for a in args)
        case Op(fn="select", args=(_, a, b)):
            return max(_size(a, start, entry), _size(b, start, entry))
        case Op(args=args):
            return sum(_size(a, start, entry) for a in args)
        case _:
            return _size(entry, start, entry) if node is start else 0
