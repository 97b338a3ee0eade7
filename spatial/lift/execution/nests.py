"""A loop as a nest: its body executed once for a symbolic iteration, then closed over all iterations.

What the loop carries is closed in this order: counters (and lengths of sequences that grow), variables an iteration
sets anew, reductions, and sequences written in place. A read of a sequence that the loop writes takes the version
before the loop if no earlier write can hit its element, the version after it if no later write can; otherwise the
loop is no nest. The tests are those of `solve`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.values import (
    TRUE,
    Made,
    Node,
    Op,
    Start,
    Sym,
    Tensor,
    combine,
    int_constant,
    integer,
    parts,
    scale,
)
from spatial.lift.carried.carries import ONCE, Carry, Closing, length_of
from spatial.lift.carried.close_scalars import close_scalars
from spatial.lift.carried.close_sequences import close_sequences
from spatial.lift.carried.inductions import close_inductions
from spatial.lift.carried.running import find_running
from spatial.lift.carried.widened import check_widened
from spatial.lift.context.accesses import Access
from spatial.lift.context.loops import Loop, Runner, assigned_cells, inductions, item_value, restored
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import Cell, NotLifted, Poison, Scope, Seq, Value, whole_of
from spatial.lift.context.survey import Lost, lost_from
from spatial.lift.context.trips import guard_of


class Divided(Exception):
    """Places written, or read and not proved in range, depend on the quotient of the loop's variable by `by`: two
    nested loops would show how."""

    def __init__(self, by: int) -> None:
        super().__init__(by)
        self.by = by


@dataclass
class _Hints:
    """What attempts at a loop tell the next one, by the names of variables it carries."""

    floats: set[str] = field(default_factory=set[str])
    """They turn out Floats."""
    numbers: set[str] = field(default_factory=set[str])
    """They start as an item that might be a row, and are numbers."""
    growing: set[str] = field(default_factory=set[str])
    """Sequences whose length in an iteration is wanted."""


def run_nest(ex: Runner, loop: Loop, scope: Scope, extent: int) -> None:
    """Executes and closes a loop; raises `NotLifted` where it is no nest (the caller undoes)."""
    m = ex.m
    mark, hints = m.mark(), _Hints()
    for _ in range(8):
        try:
            if _attempt(ex, loop, scope, extent, hints):
                return
        except Divided as found:
            loop = replace(loop, parts=found.by)
            extent = extent // found.by
        m.undo(mark)
    raise NotLifted("the loop changes a variable between Int and Float", "start it as 0.0", loop.span)


def _attempt(ex: Runner, loop: Loop, scope: Scope, extent: int, hints: _Hints) -> bool:
    """One execution; False if it told of something that the next must know."""
    m = ex.m
    v = Sym(loop.name or "n", extent)
    trip = integer(extent) if loop.parts else loop.trip
    guard = TRUE if int_constant(trip) is not None else guard_of(trip, v)
    steps = {name: step * (loop.parts or 1) for name, step in inductions(ex, loop.body, scope, loop.name).items()}
    pushed = set(m.cells(m.changes.lengthened(loop.body), scope, loop.span))
    outside = m.known()
    carries: list[Carry] = []
    counters: list[tuple[Cell, Node, int]] = []
    entries: dict[Tensor, Value | None] = {}
    widened: list[Sym] = []
    same = restored(ex, loop.body, scope, loop.name)
    back: list[tuple[Cell, Value]] = []
    unknown: list[tuple[Cell, Value]] = []
    for cell in assigned_cells(loop, ex, scope):
        value = cell.value
        if isinstance(value, Node) and cell.name in steps:
            counters.append((cell, value, steps[cell.name]))
            m.assign(cell, combine(value, v, steps[cell.name]))
            continue
        if cell.name in same:
            back.append((cell, value))
            continue
        if _open(m, value) and cell.name in hints.numbers:
            value = m.scalar(value, loop.span)
        hinted = cell in pushed and cell.name in hints.growing and not loop.parts
        grows = _pushes(m, loop, scope, cell) if hinted else 0
        start = _stand_in(cell, value, cell in pushed, hints, _length_there(value, v, grows))
        if start is None:
            unknown.append((cell, value))
            continue
        if isinstance(start, Start):
            entries[start] = value
        if isinstance(value, Seq):
            value = Seq(whole_of(value, m.tick(), loop.span))
        if isinstance(value, Node) and value.kind == "int" and start.kind == "float":
            assert isinstance(start, Sym)
            widened.append(start)
            value = arith.to_float(value)
        carries.append(Carry(cell, value, start, value))
        if isinstance(start, Start) and grows and not _counts(start.length):
            carries[-1].growth = grows
        m.assign(cell, Seq(start) if isinstance(start, Start) else start)
    inner = Scope(outer=scope)
    whole = not loop.parts and loop.items is None and int_constant(trip) is not None
    saved, m.accesses = m.accesses, []
    m.nest_depth += 1
    depth = len(m.guards)
    if guard is not TRUE:
        m.guards.append(guard)
    if m.survey is not None:
        m.survey.attempts.append(lambda problem: _hint(m, problem, loop, carries, entries, hints, v if whole else None))
    try:
        result = None
        if loop.parts:
            _run_inner(ex, loop, inner, v)
        else:
            if loop.name:
                inner.names[loop.name] = Cell(loop.name, item_value(ex, loop, v))
            result = ex.body(loop.body, inner)
        inside = m.accesses
    except NotLifted as problem:
        if problem.index is not None and whole:
            _check_quotients((problem.index,), v)
        if problem.number is not None and _told(m, problem, entries):
            hints.numbers |= {c.cell.name for c in carries if c.start is problem.number}
            return False
        if (grown := _growth_wanted(m, problem, loop, carries, hints)) is not None:
            hints.growing.add(grown)
            return False
        raise
    finally:
        m.accesses = saved
        m.nest_depth -= 1
        del m.guards[depth:]
        if m.survey is not None:
            m.survey.attempts.pop()
    if m.survey is not None and (taken := lost_from(c.cell for c in carries)):
        raise Lost(taken)
    if result is not None:
        raise NotLifted("a function returns from inside a loop", "return after the loop", loop.span)
    for c in carries:
        c.exit = c.cell.value
        if c.growth and isinstance(c.exit, Seq) and isinstance(c.start, Start):
            more = combine(length_of(c.exit), c.start.length or integer(0), -1)
            if int_constant(more) != c.growth:
                raise NotLifted(
                    f'how much longer "{c.cell.name}" is after an iteration is not what its text tells',
                    "push to it in plain statements, under its own name",
                    loop.span,
                    binder=c.cell.name,
                )
        if isinstance(c.start, Sym) and isinstance(c.exit, Node) and c.exit.kind != c.start.kind:
            if c.start.kind == "int" and c.exit.kind == "float":
                hints.floats.add(c.cell.name)
                return False
            raise NotLifted(
                f'"{c.cell.name}" changes its kind in the loop',
                "keep it an Int or a Float",
                loop.span,
                binder=c.cell.name,
            )
    if any(cell.value is not value for cell, value in back):
        raise NotLifted("a function that the loop calls changes a variable that the loop sets back", "", loop.span)
    for c in carries:
        c.order, c.loop = m.tick(), loop.span
    if whole:
        _check_divided(carries, v)
    closing = Closing(v, trip, guard, outside, loop.span, carries, {}, {})
    if widened:
        check_widened(closing, widened, m.changes.tells_kinds)
    try:
        _close(ex, closing, inside, counters)
    except NotLifted as problem:
        if (grown := _growth_wanted(m, problem, loop, carries, hints)) is not None:
            hints.growing.add(grown)
            return False
        raise
    for cell, value in unknown:  # what an iteration leaves there is not what all leave, or none
        m.assign(cell, value)
    return True


def _growth_wanted(m: Machine, problem: NotLifted, loop: Loop, carries: Sequence[Carry], hints: _Hints) -> str | None:
    """The sequence that the loop pushes to, of which a refusal may go once it is known how long it is in an iteration:
    the body's text tells by how much it grows."""
    if loop.parts or not (problem.carried or problem.kind == "write" or problem.index is not None):
        return None
    for c in carries:
        name = c.cell.name
        open_ = isinstance(c.start, Start) and _counts(c.start.length) and name not in hints.growing
        if open_ and name in (problem.binder, problem.of) and m.changes.pushes(loop.body, name):
            return name
    return None


def _pushes(m: Machine, loop: Loop, scope: Scope, cell: Cell) -> int:
    """How many items each iteration appends to a sequence, where its text tells: under one name, whoever's it is."""
    names = {name for name, top in m.changes.lengthened(loop.body) if cell in m.cells([(name, top)], scope, loop.span)}
    return m.changes.pushes(loop.body, names.pop()) if len(names) == 1 else 0


def _open(m: Machine, value: Value | None) -> bool:
    """Whether a value is an item of a table whose rank is not known yet, or how it is indexed: a row, or a number."""
    return isinstance(value, Seq) and bool(value.prefix) and (m.undecided(value) or value.dims is None)


def _told(m: Machine, problem: NotLifted, entries: Mapping[Tensor, Value | None]) -> bool:
    """Whether a refusal tells that a variable the loop carries, an item that might be a row, is a number. If a loop
    around this one carries it too, the refusal then names that loop's stand-in."""
    entry = entries.get(problem.number) if problem.number is not None else None
    if isinstance(entry, Seq) and entry.whole and isinstance(entry.tensor, Start):
        problem.number = entry.tensor
        return False
    return _open(m, entry)


def _hint(
    m: Machine,
    problem: NotLifted,
    loop: Loop,
    carries: Sequence[Carry],
    entries: Mapping[Tensor, Value | None],
    hints: _Hints,
    v: Sym | None,
) -> bool:
    """Whether the loop of variable `v` would run again knowing of a problem."""
    try:
        if problem.index is not None and v is not None:
            _check_quotients((problem.index,), v)
    except Divided:
        return True
    if _growth_wanted(m, problem, loop, carries, hints) is not None:
        return True
    return problem.number is not None and _told(m, problem, entries)


def _run_inner(ex: Runner, loop: Loop, scope: Scope, v: Sym) -> None:
    """The inner of the two loops a divided loop is run as."""
    first = combine(loop.first or integer(0), v, loop.parts)
    run_nest(ex, replace(loop, trip=integer(loop.parts), first=first, parts=0), scope, loop.parts)


def _check_divided(carries: Sequence[Carry], v: Sym) -> None:
    """Raises `Divided` where a sequence is written at places that depend on a quotient of the loop's variable."""
    for c in carries:
        tensor = c.exit.tensor if isinstance(c.exit, Seq) else None
        if not isinstance(tensor, Made) or not isinstance(c.start, Start):
            continue
        for p in tensor.pieces:
            _check_quotients(p.pos, v)


def _check_quotients(indices: Sequence[Node], v: Sym) -> None:
    """Raises `Divided` where an index depends on a quotient of the loop's variable that divides its range."""
    for atom in (a for i in indices for a, _ in parts(i)[1]):
        by = quotient_step(atom, v)
        if by and v.extent and v.extent % by == 0 and by < v.extent:
            raise Divided(by)


def quotient_step(atom: Node, v: Sym) -> int:
    """`m / |c|` where the atom is a quotient by m of a sum with `c v`, c dividing m; else 0."""
    match atom:
        case Op(fn="floordiv", args=(a, b)):
            m, c = int_constant(b) or 0, abs(dict(parts(a)[1]).get(v, 0))
            return m // c if c > 0 and m % c == 0 and m > c else 0
        case _:
            return 0


def _length_there(value: Value, v: Sym, grows: int) -> Node | None:
    """How long a sequence is as iteration `v` begins, if it surely grows by as many items every time."""
    if not grows or not isinstance(value, Seq):
        return None
    known = value.tensor.length is not None or (bool(value.dims) and value.dims[0] is not None)
    return combine(length_of(value), v, grows) if known else None


def _counts(length: Node | None) -> bool:
    return isinstance(length, Sym) and length.carried


def _stand_in(cell: Cell, value: Value, pushed: bool, hints: _Hints, there: Node | None = None) -> Sym | Start | None:
    """What a carried variable is as an iteration begins; `there`: the length it then has."""
    match value:
        case Node():
            kind = "float" if cell.name in hints.floats else value.kind
            return Sym(cell.name, None, kind, carried=True)
        case Seq():
            dims = value.dims
            if not pushed:
                length = value.tensor.length if value.whole else None
                return Start(cell.name, dims, value.tensor.kind, length)
            length = there or Sym(f"length of {cell.name}", None, "int", carried=True)
            inner = dims[1:] if dims and value.tensor.kind != "none" else None
            return Start(cell.name, (None, *inner) if inner is not None else None, value.tensor.kind, length)
        case _:
            return None


def _close(ex: Runner, c: Closing, inside: Sequence[Access], counters: Sequence[tuple[Cell, Node, int]]) -> None:
    """Replaces every stand-in, and gives the variables their values after the loop."""
    m = ex.m
    known = at_least_zero(c.trip, c.known)
    for cell, entry, step in counters:
        if not known:
            m.assign(cell, Poison(f'how far "{cell.name}" counts is not known: the loop may run no time', ONCE))
        else:
            m.assign(cell, combine(entry, scale(c.trip, step)))
    close_inductions(c)
    change = Substitution(c.nodes, c.tensors)
    for carry in c.carries:
        match carry.exit:
            case Node():
                carry.exit = change.node(carry.exit)
            case Seq():
                carry.exit = Seq(change.tensor(carry.exit.tensor), tuple(change.node(p) for p in carry.exit.prefix))
            case _:
                pass
    find_running(c)
    reads = close_sequences(ex.m, c)
    close_scalars(c, reads)
    for carry in c.carries:
        m.assign(carry.cell, carry.final if carry.final is not None else carry.exit)
    whole = Substitution(c.nodes, c.tensors, reads)
    starts = {carry.start for carry in c.carries}
    indices = [a for a in inside if c.places.keys() & a.index.free]
    m.resume([a for a in inside if a not in indices], whole)
    _resume_places(m, c, indices, whole)
    for access in m.accesses:
        if access.index.free & starts:
            raise NotLifted(
                f'an index of "{access.name}" depends on a value the loop computes as it goes',
                "index with loop variables, sizes and inputs",
                access.span,
                "read",
            )


def _resume_places(m: Machine, c: Closing, accesses: Sequence[Access], whole: Substitution) -> None:
    """An index that is a place found so far is in range if what the place starts as is, and whatever it is given."""
    for a in accesses:
        for start, (entry, arg, guards) in c.places.items():
            if start in a.index.free:
                # The iteration that gave the place is another than the one that reads by it.
                then = Substitution({c.v: Sym(c.v.name, c.v.extent)})
                given = tuple(then.node(g) for g in (c.guard, *guards))
                for value, known in ((entry, ()), (then.node(arg), given)):
                    change = Substitution({**whole.nodes, start: value}, whole.tensors, whole.reads)
                    m.resume([replace(a, guards=(*a.guards, *known))], change)
