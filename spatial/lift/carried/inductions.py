"""Closing a loop over what it carries in a form that is known in every iteration: a read of it is then no recurrence.

Counters by a constant or by a step that grows with the loop's variable, lengths of sequences that grow, values that
swing between two, Floats moved or scaled by a constant where that rounds nowhere, variables that hold what the
iteration before was given, and sequences emptied or zeroed again at the end of each.
"""

from __future__ import annotations

from collections.abc import Callable

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.solve import covers
from spatial.lift.algebra.values import (
    ZERO,
    Const,
    Made,
    Node,
    Op,
    Start,
    Sym,
    Symbol,
    Tensor,
    combine,
    constant,
    int_constant,
    integer,
    parts,
    plus,
    real,
    scale,
)
from spatial.lift.algebra.walk import alike
from spatial.lift.carried.carries import Carry, Closing, length_of
from spatial.lift.context.state import NotLifted, Seq

_TRIED = 4096
"""Iterations over which a closed form of Floats is compared with the sums or products that it stands for."""

Form = Callable[[Node], Node]


def close_inductions(c: Closing) -> None:
    """Gives a form to every variable that has one; `c.nodes` and `c.tensors` then say what stands for its stand-in."""
    progress = True
    while progress:
        progress = False
        change = Substitution(c.nodes, c.tensors)
        for carry in c.carries:
            match carry.start:
                case Sym() as start if start not in c.nodes and isinstance(carry.exit, Node):
                    moved = _number(c, carry, start, change.node(carry.exit))
                case Start() as start if start not in c.tensors and isinstance(carry.exit, Seq):
                    moved = _sequence(c, carry, start, carry.exit, change)
                case _:
                    moved = False
            progress = progress or moved
    # Only what no form is known of: so that what is set anew and never read stays as it is.
    _handed_on(c)


# ---------------------------------------------------------------- numbers


def _number(c: Closing, carry: Carry, start: Sym, exit: Node) -> bool:
    entry = carry.entry
    assert isinstance(entry, Node)
    if exit is start:
        c.nodes[start] = carry.final = entry
        carry.closed = True
        return True
    if not at_least_zero(c.trip, c.known) or start not in exit.free:
        return False
    form = _form(exit, start, entry, c.v)
    if form is None:
        return False
    c.nodes[start], carry.final = form(c.v), form(c.trip)
    carry.closed = True
    return True


def _form(exit: Node, start: Sym, entry: Node, v: Sym) -> Form | None:
    """What a variable is as iteration v begins, as a function of v."""
    if start.kind == "int":
        gap = combine(exit, start, -1)
        const, terms = parts(gap)
        step = int_constant(gap)
        if step is not None:
            return lambda n: combine(entry, n, step)
        if len(terms) == 1 and terms[0][0] is v:
            return _triangular(entry, terms[0][1], const)
    if exit.free - {start}:
        return None
    second = Substitution({start: entry}).node(exit)
    if Substitution({start: second}).node(exit) is entry and constant(entry) is not None:
        return _swinging(entry, second)
    if start.kind == "float" and v.extent is not None and v.extent <= _TRIED and constant(entry) is not None:
        return _exact(exit, start, float(constant(entry) or 0.0), v.extent)
    return None


def _triangular(entry: Node, slope: int, first: int) -> Form:
    """`entry` and the sum of `slope * j + first` for j below n."""

    def form(n: Node) -> Node:
        whole = arith.floordiv(arith.mul(n, plus(n, 1)), integer(2))
        return combine(combine(entry, whole, slope), n, first - slope)

    return form


def _swinging(entry: Node, second: Node) -> Form:
    """`entry` in iterations of even number, `second` in the others."""

    def form(n: Node) -> Node:
        odd = arith.rem(n, integer(2))
        a, b = int_constant(entry), int_constant(second)
        if a is not None and b is not None:
            return plus(scale(odd, b - a), a)
        return arith.select(arith.compare("==", odd, ZERO), entry, second)

    return form


def _exact(exit: Node, start: Sym, entry: float, extent: int) -> Form | None:
    """`entry + c n` or `entry * c ** n`, where every step of the source leaves just that."""
    match exit:
        case Op(fn="add", args=(a, Const(value=k))) | Op(fn="add", args=(Const(value=k), a)) if a is start:
            step, moves = float(k), True
        case Op(fn="sub", args=(a, Const(value=k))) if a is start:
            step, moves = -float(k), True
        case Op(fn="mul", args=(a, Const(value=k))) | Op(fn="mul", args=(Const(value=k), a)) if a is start:
            step, moves = float(k), False
        case _:
            return None

    def form(n: Node) -> Node:
        times = arith.to_float(n)
        if moves:
            return arith.add(real(entry), arith.mul(times, real(step)))
        return arith.mul(real(entry), arith.power(real(step), times, True))

    value: Node = real(entry)
    for n in range(extent + 1):
        if constant(value) != constant(form(integer(n))):
            return None
        value = Substitution({start: value}).node(exit)
    return form


# ---------------------------------------------------------------- sequences


def _sequence(c: Closing, carry: Carry, start: Start, exit: Seq, change: Substitution) -> bool:
    assert isinstance(carry.entry, Seq)
    if exit.whole and (exit.tensor is start or _same(carry.entry.tensor, exit.tensor)):
        c.tensors[start] = carry.entry.tensor
        if isinstance(start.length, Sym):
            c.nodes[start.length] = length_of(carry.entry)
        carry.final = carry.entry
        carry.closed = True
        return True
    if isinstance(start.length, Sym) and start.length.carried and start.length not in c.nodes:
        after = exit.tensor.length if exit.whole else None
        if after is None or start.length not in after.free:
            return False
        step = int_constant(combine(change.node(after), start.length, -1))
        if step is None:
            raise NotLifted(
                f'"{carry.cell.name}" grows by a different number of items from iteration to iteration',
                "push the same number of items every time",
                carry.span,
                "write",
                binder=carry.cell.name,
            )
        c.nodes[start.length] = combine(length_of(carry.entry), c.v, step)
        carry.growth = step
        return True
    return False


def _same(a: Tensor, b: Tensor) -> bool:
    """Whether two sequences the program made hold one constant all over, the same, or nothing."""
    if not isinstance(a, Made) or not isinstance(b, Made) or a.dims != b.dims or a.length or b.length:
        return False
    if a.base is not None or b.base is not None or len(a.pieces) != len(b.pieces) or len(a.pieces) > 1:
        return False
    if not a.pieces:
        return a.dims == (0,)
    (p,), (q,) = a.pieces, b.pieces
    known = constant(p.value) is not None and p.value is q.value
    return known and covers((p,), a.dims or ()) and covers((q,), b.dims or ())


# ---------------------------------------------------------------- what the iteration before was given


def _handed_on(c: Closing) -> None:
    """Variables that an iteration sets to what no other hands on: the next one finds that."""
    progress = True
    while progress:
        progress = False
        change = Substitution(c.nodes, c.tensors)
        open_: set[Symbol] = {k.start for k in c.carries if k.start not in c.nodes and k.start not in c.tensors}
        for k in c.carries:
            if isinstance(k.start, Sym) and k.start in open_ and isinstance(k.exit, Node) and isinstance(k.entry, Node):
                exit = change.node(k.exit)
                if not exit.free & open_ and exit.kind == k.entry.kind:
                    c.nodes[k.start] = _before(c, exit, k.entry)
                    progress = True


def _before(c: Closing, exit: Node, entry: Node) -> Node:
    """What the iteration before left, or a value from before the loop."""
    first, moved = supposed({c.v: integer(-1)}, exit), supposed({c.v: plus(c.v, -1)}, exit)
    if first and moved and alike(first[0], entry):
        return moved[0]
    before = Substitution({c.v: arith.extreme("max", plus(c.v, -1), ZERO)}).node(exit)
    return arith.select(arith.compare("==", c.v, ZERO), entry, before)
