"""Closing a loop over the scalars it carries: reductions, arg-max pairs, and variables set anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from spatial.lift.algebra import arith
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.values import FALSE, ONE, TRUE, ZERO, Get, Node, Op, Sym, Symbol, free_of, int_constant, plus
from spatial.lift.algebra.walk import alike, below
from spatial.lift.carried.carries import ONCE, Carry, Closing
from spatial.lift.carried.combine import combined
from spatial.lift.carried.places import final_place, found_last, place_of
from spatial.lift.carried.prefixes import running_values
from spatial.lift.carried.reductions import Term, branch, match
from spatial.lift.carried.rescaled import Rescaled
from spatial.lift.carried.running import find_running, part_of, rescaled_total
from spatial.lift.context.state import NotLifted, Poison, Seq, together

_REDUCE = "write it as a sum, product, maximum or minimum of terms that do not depend on it"
_RESCALE = (
    "a sum kept relative to a running maximum is s * exp(best - next) + g * exp(u - next), best and next being the "
    "maximum before and after the iteration, and g and u free of both"
)
_SECOND = (
    "write it as a maximum or minimum of terms of its own: the second largest is max(second, min(best, u)), set before "
    "best is"
)
_FLAG = "keep 0 and 1 in it instead of false and true: min(ok, same), where same is 1 or 0, and compare it with 1"
_KEPT = "let what it reads be a minimum or maximum that every iteration takes: min(ok, same), where same is 1 or 0"
_MOMENTS = (
    "keep a plain sum (of squares too, for a variance) and divide after the loop: a mean that every item corrects is a "
    "recurrence"
)


def close_scalars(c: Closing, reads: Mapping[Get, Node]) -> None:
    """Gives every scalar the loop changes its value after the loop."""
    change = Substitution({}, None, reads)
    open_ = [k for k in c.carries if isinstance(k.start, Sym) and not k.closed and isinstance(k.exit, Node)]
    for k in open_:
        assert isinstance(k.exit, Node)
        k.exit = change.node(k.exit)
    find_running(c)
    begun = _begin(open_, c) if c.runs else set[int]()
    paired: set[int] = set()
    terms: dict[int, Term] = {}
    relative: dict[int, Rescaled] = {}
    for k in open_:
        assert isinstance(k.exit, Node) and isinstance(k.start, Sym)
        if k.start in k.exit.free:
            term = match(k.exit, k.start)
            if term is not None:
                terms[id(k)] = term
            elif (part := part_of(c, k.exit, k.start)) is not None:
                relative[id(k)] = part
    bests = [(b, terms[id(b)]) for b in open_ if id(b) in terms and terms[id(b)].op in ("max", "min")]
    starts = frozenset(k.start for k in open_ if isinstance(k.start, Sym))
    for k in open_:
        assert isinstance(k.exit, Node)
        if id(k) not in terms and id(k) not in relative and k.start in k.exit.free:
            # A best that the first iteration sets is no match for a place that the first iteration compares.
            alongside = [(b, t) for b, t in bests if (id(b) in begun) <= (id(k) in begun)]
            remembered = _remembered(c, k, alongside, starts)
            if remembered is not None:
                k.final = remembered
                paired.add(id(k))
    _take_running(c, [k for k in open_ if id(k) not in paired and id(k) not in relative], terms)
    _check_apart(open_, paired, terms, relative, c)
    for k in open_:
        assert isinstance(k.exit, Node) and isinstance(k.entry, Node)
        if id(k) in paired:
            k.closed = True
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


def _take_running(c: Closing, users: Sequence[Carry], terms: dict[int, Term]) -> None:
    """Replaces running values of other variables in what an iteration gives to `users`."""
    parts = {id(k): (t.value, *t.guards) if (t := terms.get(id(k))) is not None else (k.exit,) for k in users}
    running = running_values(c, [n for nodes in parts.values() for n in nodes if isinstance(n, Node)])
    for k in users:
        term = terms.get(id(k))
        if isinstance(k.start, Sym) and k.start in c.running:
            continue
        if term is not None:
            guards = tuple(running.node(g) for g in term.guards)
            terms[id(k)] = replace(term, value=running.node(term.value), guards=guards)
        elif isinstance(k.exit, Node) and k.start not in k.exit.free:
            k.exit = running.node(k.exit)


def _begin(open_: Sequence[Carry], c: Closing) -> set[int]:
    """Variables that the first iteration sets whatever they were, and nothing else in it reads: they might as well
    start as what leads there too."""
    v = c.v
    done: set[int] = set()
    begun: dict[int, tuple[Node, Node]] = {}
    for k in open_:
        found = _first(k.exit, v) if isinstance(k.exit, Node) else None
        if found is not None and k.start not in found[0].free:
            begun[id(k)] = found
    first = Substitution({v: ZERO})
    read = _read_by_others(c, {k.start for k in open_ if id(k) in begun}, first) if begun else frozenset[Symbol]()
    begun = {n: parted for k in open_ if (parted := begun.get(n := id(k))) is not None and k.start not in read}
    matched = {n: match(rest, k.start) for k in open_ if (n := id(k)) in begun for rest in (begun[n][1],)
               if isinstance(k.start, Sym)}  # fmt: skip
    bests = [(replace(k, exit=begun[n][1]), term) for k in open_ if (term := matched.get(n := id(k))) is not None]
    starts = frozenset(k.start for k in c.carries)
    for k in open_:
        if id(k) not in begun:
            continue
        value, rest = begun[id(k)]
        if first.node(value).free & starts:
            continue
        term = matched[id(k)]
        if term is not None:
            if term.guards or not _same_first(v, term.value, value):
                continue
            entry = {"sum": ZERO, "product": ONE}.get(term.op, first.node(value))
            k.entry = arith.to_float(entry) if value.kind == "float" else entry
            k.exit = rest
            done.add(id(k))
            continue
        place = place_of(replace(k, exit=rest), [(b, t) for b, t in bests if t.op in ("max", "min")])
        if place is not None and not place.guards and _same_first(v, place.arg, value):
            k.entry, k.exit = first.node(value), rest
            done.add(id(k))
    return done


def _same_first(v: Sym, term: Node, value: Node) -> bool:
    """Whether a term of the other iterations has a meaning in the first one, and is what that sets."""
    begun = supposed({v: ZERO}, term, value)
    return begun is not None and alike(*begun)


def _read_by_others(c: Closing, starts: Set[Symbol], first: Substitution) -> frozenset[Symbol]:
    """Those of `starts` that something other than the variable itself is computed from in the first iteration."""
    found = frozenset[Symbol]()
    for k in c.carries:
        others = starts - {k.start}
        match k.exit:
            case Node() if k.exit.free & others:
                found |= first.node(k.exit).free & others
            case Seq(tensor) if tensor.free & others:
                found |= first.tensor(tensor).free & others
            case _:
                pass
    return found


def _first(exit: Node, v: Sym) -> tuple[Node, Node] | None:
    """What the first iteration sets, and what any other leaves, where a branch tells them apart."""
    parted = branch(exit)
    if parted is None:
        return None
    condition, a, b = parted
    match condition:
        case Op(fn="or", args=(one, other)):
            for test, rest in ((one, other), (other, one)):
                if _only_first(test, v):
                    return a, arith.select(rest, a, b)
            return None
        case _:
            if _only_first(condition, v):
                return a, b
            return (b, a) if _only_first(arith.negate(condition), v) else None


def _only_first(condition: Node, v: Sym) -> bool:
    """Whether a condition holds in the first iteration and in no other."""
    later = Substitution({v: plus(Sym(v.name, max((v.extent or 1) - 1, 1)), 1)})
    return Substitution({v: ZERO}).node(condition) is TRUE and later.node(condition) is FALSE


def _check_apart(
    open_: list[Carry], paired: set[int], terms: Mapping[int, Term], relative: Mapping[int, Rescaled], c: Closing
) -> None:
    """No variable is computed from what another was in the iteration before."""
    starts = frozenset(k.start for k in open_ if isinstance(k.start, Sym))
    carried = frozenset(k.start for k in c.carries)
    found: list[NotLifted] = []
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
        if used and (not found or carried & free == frozenset((k.start,))):
            name = k.cell.name if len(used) == 1 and k.start in used else _first_of(open_, used)
            whose = "it" if name == k.cell.name else f'"{name}"'
            problem = NotLifted(
                f'"{k.cell.name}" is computed from what {whose} was in the iteration before: a recurrence',
                _mend(c, k, k.exit),
                k.span,
                binder=k.cell.name,
            )
            problem.carried = problem.numbers = True
            found.append(problem)
    if found:
        raise together(found)
    for other in c.carries:
        value = other.final if other.closed else other.exit
        if isinstance(value, Seq) and starts & value.tensor.free:
            name = next(o.cell.name for o in open_ if o.start in value.tensor.free)
            raise NotLifted(
                f'"{other.cell.name}" takes a running value of "{name}" in every iteration: a recurrence',
                "compute each item by a loop of its own",
                other.span,
                binder=other.cell.name,
            )


def _first_of(open_: Sequence[Carry], used: Set[Symbol]) -> str:
    """What the first of the variables is called whose stand-in is used."""
    return next(o.cell.name for o in open_ if o.start in used)


def _mend(c: Closing, k: Carry, exit: Node) -> str:
    """What would lift in place of a recurrence."""
    if exit.kind == "bool":
        return _FLAG
    if c.running.keys() & exit.free:
        powers = any(isinstance(n, Op) and n.fn == "exp" for n in below(exit))
        return _RESCALE if powers else _SECOND
    for other in c.carries:
        if other is k or not isinstance(other.start, Sym) or other.start not in exit.free:
            continue
        term = match(other.exit, other.start) if isinstance(other.exit, Node) else None
        if term is not None and term.op in ("max", "min"):
            return _SECOND
        match other.exit:
            case Op(fn="select", args=(_, a, b)) if other.start in (a, b):
                if int_constant(b if other.start is a else a) in (0, 1):
                    return _KEPT
            case _:
                pass
    match exit:
        case Op(fn="add", args=(a, b)) if k.start in (a, b) and k.start in a.free & b.free:
            return _MOMENTS
        case _:
            return _REDUCE


def _last(k: Carry, c: Closing) -> Node | Poison:
    assert isinstance(k.exit, Node)
    if c.v not in k.exit.free and c.runs:
        return k.exit
    if c.last is None:
        return Poison(f'the value of "{k.cell.name}" after the loop depends on how often it runs', ONCE)
    return Substitution({c.v: c.last}).node(k.exit)


def _remembered(c: Closing, k: Carry, bests: Sequence[tuple[Carry, Term]], starts: frozenset[Sym]) -> Node | None:
    """What a variable that remembers a place, or what was found last, holds after the loop."""
    place = place_of(k, bests)
    if place is None:
        return found_last(c, k, starts)
    if starts & free_of((place.arg, place.value, *place.guards)):
        return None
    if place.own and isinstance(k.start, Sym) and isinstance(k.entry, Node):
        c.places[k.start] = (k.entry, place.arg, place.guards)
    return final_place(c, k, place)
