"""Numbers that are Ints before a loop and Floats in it: refused where that would show.

The lift takes such a number for a Float from the first iteration on. In the language it is an Int until the loop sets
it: it is divided as one, is exact beyond the Floats, and whatever keeps it meanwhile has an Int. What is made of it is
an Int too unless a Float takes part, so every value is taken for one that is not surely a Float.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spatial.lift.algebra.bounds import bounds
from spatial.lift.algebra.values import Const, Fold, Get, Made, Node, Op, Sym, Tensor
from spatial.lift.algebra.walk import within
from spatial.lift.carried.carries import Carry, Closing
from spatial.lift.context.changes import EXACT
from spatial.lift.context.state import NotLifted, Seq

_MEND = "start it as a Float: 0.0"

_UNBOUNDED = 1 << 31
"""How large an Int is taken to be of which no bounds are known: as tables hold them."""

_JOINING = ("add", "sub", "mul", "div", "floordiv", "pow", "min", "max", "neg", "abs")
"""Operations that make a Float where one operand is a Float, and else an Int."""


def check_widened(c: Closing, widened: Sequence[Sym], told: bool) -> None:
    """Refuses numbers that are Ints before a loop and Floats in it, where that would show: after a loop that may run no
    time; in a division, which is another of Ints; where a Float does not hold them; and in what keeps them, if the
    program tells Ints from Floats anywhere (`told`)."""
    if not c.runs:
        name = widened[0].name
        why = f'"{name}" is a Float after this loop, but still an Int if the loop runs no time'
        raise NotLifted(why, _MEND, c.span, binder=name)
    entries = {k.start: k.entry for k in c.carries if isinstance(k.start, Sym) and isinstance(k.entry, Node)}
    kinds = _Kinds({start: entries[start] for start in widened})
    for at in within([root for k in c.carries for root in _roots(k)], kinds.starts):
        if isinstance(at, Tensor) or at.kind != "float" or kinds.surely_float(at):
            continue
        if isinstance(at, Op) and at.fn in ("div", "floordiv", "pow"):
            raise kinds.refused(c, at, "and is divided")
        if kinds.size(at) >= EXACT:
            raise kinds.refused(c, at, "and is larger than what a Float has exactly")
    for k in c.carries if told else ():
        for value in _left(k):
            if value.free & kinds.starts and value.kind == "float" and not kinds.surely_float(value):
                raise kinds.refused(c, value, f'and "{k.cell.name}" keeps it')


def _roots(k: Carry) -> list[Node | Tensor]:
    """What an iteration makes of a variable."""
    if isinstance(k.exit, Node):
        return [k.exit]
    return [k.exit.tensor] if isinstance(k.exit, Seq) else []


def _left(k: Carry) -> Iterator[Node]:
    """What an iteration leaves in a variable, or in its items."""
    if isinstance(k.exit, Node):
        yield k.exit
    made: Tensor | None = k.exit.tensor if isinstance(k.exit, Seq) else None
    while isinstance(made, Made):
        yield from (p.value for p in made.pieces)
        made = made.base


@dataclass(eq=False)
class _Kinds:
    """What may be an Int where the variables `entries` are, whose values before the loop these are."""

    entries: dict[Sym, Node]
    sure: dict[Node | Tensor, bool] = field(default_factory=dict[Node | Tensor, bool])
    sizes: dict[Node | Tensor, int] = field(default_factory=dict[Node | Tensor, int])

    def __post_init__(self) -> None:
        self.starts = frozenset(self.entries)

    def refused(self, c: Closing, node: Node, what: str) -> NotLifted:
        """The refusal of a value in which one of the variables shows."""
        start = next(s for s in self.entries if s in node.free)
        why = f'"{start.name}" is an Int in the first iteration and a Float in the others, {what}'
        return NotLifted(why, _MEND, c.span, binder=start.name)

    def surely_float(self, at: Node | Tensor) -> bool:
        """Whether an expression, or every element of a tensor, is a Float whatever the variables are."""
        if at not in self.sure:
            self.sure[at] = self._tensor_sure(at) if isinstance(at, Tensor) else self._sure(at)
        return self.sure[at]

    def _tensor_sure(self, tensor: Tensor) -> bool:
        if not tensor.free & self.starts:
            return True
        if not isinstance(tensor, Made):
            return False
        return all(self.surely_float(x) for x in (*(p.value for p in tensor.pieces), *_base(tensor)))

    def _sure(self, node: Node) -> bool:
        match node:
            case Const(value=value):
                return not float(value).is_integer()
            case Sym():
                return node not in self.starts
            case Op(fn="float"):
                return False
            case Op(fn="select", args=(_, a, b)):
                return self.surely_float(a) and self.surely_float(b)
            case Op(fn=fn, args=args) if fn in _JOINING:
                return any(map(self.surely_float, args))
            case Op():
                return True
            case Get():
                return self.surely_float(node.tensor)
            case Fold(init=init):
                # One that takes no term is what it starts with.
                takes = not node.guards and all(v.extent for v in node.vars)
                own = self.surely_float(node.arg or node.value)
                return own and (init is None or takes or self.surely_float(init))
            case _:
                return False

    def size(self, at: Node | Tensor) -> int:
        """How large an Int may get that is not surely a Float, up to `EXACT`."""
        if at not in self.sizes:
            self.sizes[at] = self._tensor_size(at) if isinstance(at, Tensor) else min(self._size(at), EXACT)
        return self.sizes[at]

    def _tensor_size(self, tensor: Tensor) -> int:
        if not isinstance(tensor, Made):
            return EXACT
        return max((self.size(x) for x in (*(p.value for p in tensor.pieces), *_base(tensor))), default=0)

    def _size(self, node: Node) -> int:
        if self.surely_float(node):
            return 0
        match node:
            case Const(value=value):
                return int(abs(value))
            case Sym():
                return self.size(self.entries[node])
            case Op(fn="float", args=(of,)):
                low, high = bounds(of)
                return _UNBOUNDED if low is None or high is None else max(abs(low), abs(high))
            case Op(fn="mul" | "pow", args=args):
                return math.prod(map(self.size, args)) if node.fn == "mul" else EXACT
            case Op(fn="select" | "min" | "max", args=args):
                return max(map(self.size, args[-2:]))
            case Op(args=args):
                return sum(map(self.size, args))
            case Get():
                return self.size(node.tensor)
            case Fold(init=init):
                start = 0 if init is None else self.size(init)
                own = self.size(node.arg or node.value)
                terms = math.prod(v.extent if v.extent is not None else EXACT for v in node.vars)
                match node.op:
                    case "sum":
                        return start + terms * own
                    case "product":
                        return max(start, 1) if own <= 1 else EXACT
                    case _:
                        return max(start, own)
            case _:
                return EXACT


def _base(tensor: Made) -> tuple[Tensor, ...]:
    return () if tensor.base is None else (tensor.base,)
