"""Closing a loop over the scalars it carries: reductions, arg-max pairs, and variables set anew."""

from __future__ import annotations

from collections.abc import Mapping

from spatial.lift.arith import negate
from spatial.lift.bounds import at_least_zero
from spatial.lift.carries import ONCE, Carry, Closing
from spatial.lift.combine import combined
from spatial.lift.reductions import Term, match
from spatial.lift.rescaled import Rescaled
from spatial.lift.rewrite import Substitution
from spatial.lift.running import find_running, part_of, rescaled_total
from spatial.lift.state import NotLifted, Poison, Seq
from spatial.lift.values import TRUE, Get, Lin, Node, Op, Sym, constant, fold, free_of, integer, plus

_REDUCE = "write it as a sum, product, maximum or minimum of terms that do not depend on it"
_RESCALE = (
    "a sum kept relative to a running maximum is s * exp(best - next) + g * exp(u - next), best and next being the "
    "maximum before and after the iteration, and g and u free of both"
)


def close_scalars(c: Closing, reads: Mapping[Get, Node]) -> None:
    """Gives every scalar the loop changes its value after the loop."""
    change = Substitution({}, None, reads)
    open_ = [k for k in c.carries if isinstance(k.start, Sym) and not k.closed and isinstance(k.exit, Node)]
    for k in open_:
        assert isinstance(k.exit, Node)
        k.exit = change.node(k.exit)
    paired: set[int] = set()
    terms: dict[int, Term] = {}
    relative: dict[int, Rescaled] = {}
    find_running(c)
    for k in open_:
        assert isinstance(k.exit, Node) and isinstance(k.start, Sym)
        if k.start in k.exit.free:
            term = match(k.exit, k.start)
            if term is not None:
                terms[id(k)] = term
            elif (part := part_of(c, k.exit, k.start)) is not None:
                relative[id(k)] = part
    for k in open_:
        if id(k) not in terms:
            best = next((b for b in open_ if id(b) in terms and _is_pair(k, b, terms[id(b)])), None)
            if best is not None:
                _close_pair(k, best, terms[id(best)], c)
                paired.add(id(k))
    _check_apart(open_, paired, terms, relative, c)
    for k in open_:
        assert isinstance(k.exit, Node) and isinstance(k.entry, Node)
        if id(k) in paired:
            continue
        if isinstance(k.start, Sym) and k.start in c.running:
            k.final = c.running[k.start].final
        elif id(k) in terms:
            k.final = combined(c, k, k.entry, change, terms[id(k)])
        elif id(k) in relative:
            k.final = rescaled_total(c, k, k.entry, change, relative[id(k)])
        elif k.start not in k.exit.free:
            k.final = _last(k, c)
        k.closed = True


def _check_apart(
    open_: list[Carry], paired: set[int], terms: Mapping[int, Term], relative: Mapping[int, Rescaled], c: Closing
) -> None:
    """No variable is computed from what another was in the iteration before."""
    starts = frozenset(k.start for k in open_ if isinstance(k.start, Sym))
    # What is computed from itself is told before what is computed from it.
    for k in sorted(open_, key=lambda k: id(k) in terms or not (isinstance(k.exit, Node) and k.start in k.exit.free)):
        assert isinstance(k.exit, Node)
        if id(k) in paired:
            continue
        term = terms.get(id(k))
        free = k.exit.free
        if term is not None:
            free = free_of((term.value, *term.guards))
        elif id(k) in relative:
            part = relative[id(k)]
            free = free_of((part.value, *part.guards)) - {part.best.start}
        used = starts & free
        if used:
            name = next(o.cell.name for o in open_ if o.start in used)
            whose = "it" if name == k.cell.name else f'"{name}"'
            problem = NotLifted(
                f'"{k.cell.name}" is computed from what {whose} was in the iteration before: a recurrence',
                _RESCALE if k.exit.kind == "float" and c.running.keys() & k.exit.free else _REDUCE,
                k.span,
                binder=k.cell.name,
            )
            problem.carried = True
            raise problem
    for other in c.carries:
        value = other.final if other.closed else other.exit
        if isinstance(value, Seq) and starts & value.tensor.free:
            name = next(o.cell.name for o in open_ if o.start in value.tensor.free)
            raise NotLifted(
                f'"{other.cell.name}" takes a running value of "{name}" in every iteration: a recurrence',
                "compute each item by a sum of its own",
                other.span,
                binder=other.cell.name,
            )


def _last(k: Carry, c: Closing) -> Node | Poison:
    assert isinstance(k.exit, Node)
    if c.v not in k.exit.free and c.runs:
        return k.exit
    if c.last is None:
        return Poison(f'the value of "{k.cell.name}" after the loop depends on how often it runs', ONCE)
    return Substitution({c.v: c.last}).node(k.exit)


def _choice(node: Node) -> tuple[Node, Node, Node] | None:
    match node:
        case Op(fn="select", args=(t, a, b)):
            return t, a, b
        case Lin(const=0, terms=((Op(fn="select", args=(t, a, b)), 1),)):
            return t, a, b
        case _:
            return None


def _is_pair(k: Carry, best: Carry, term: Term) -> bool:
    """Whether `k` remembers where the best value was found."""
    if term.test is None or not isinstance(k.exit, Node):
        return False
    match _choice(k.exit):
        case (test, one, other):
            for condition, taken, kept in ((test, one, other), (negate(test), other, one)):
                if condition is term.test and kept is k.start:
                    return k.start not in taken.free and best.start not in taken.free
            return False
        case _:
            return False


def _close_pair(k: Carry, best: Carry, term: Term, c: Closing) -> None:
    assert isinstance(k.exit, Node) and isinstance(k.entry, Node) and isinstance(best.entry, Node)
    choice = _choice(k.exit)
    assert choice is not None
    arg = choice[1] if choice[2] is k.start else choice[2]
    v, value = c.v, term.value
    guards = tuple(g for g in (c.guard, *term.guards) if g is not TRUE)
    first = Substitution({v: integer(0)})
    if c.runs and not term.guards and first.node(arg) is k.entry:
        # From the first item, or from a value below all: with the first place both name the same.
        limit = float("-inf") if term.op == "max" else float("inf")
        start = best.entry
        good = first.node(value) is start or constant(start) == limit
    else:
        good = False
    if not good:
        before = Substitution({v: integer(-1)})
        peeled = before.node(arg) is k.entry and before.node(value) is best.entry
        if peeled and not term.guards and at_least_zero(c.trip, c.known) and v.extent is not None:
            longer = Sym(v.name, v.extent + 1)
            shift = Substitution({v: plus(longer, -1)})
            v, value, arg = longer, shift.node(value), shift.node(arg)
            guards = tuple(g for g in (shift.node(g) for g in guards) if g is not TRUE)
            good = True
    if not good:
        raise NotLifted(
            f'"{k.cell.name}" does not start at the place of the value the comparison starts from',
            "start with the first item and its index",
            k.span,
            binder=k.cell.name,
        )
    op = f"arg{term.op}_{'first' if term.strict else 'last'}"
    k.final = fold(op, (v,), guards, value, k.order, k.site, arg=arg)
    k.closed = True
