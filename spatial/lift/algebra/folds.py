"""Reductions in canonical form: what a loop's direction, bounds, conditions and first step leave no trace of.

A reduction's terms may be taken in any order, so its variable may count from either end and from any place: of all
ways that its bounds, its conditions and its reads suggest, the one with the smallest box, the fewest conditions and the
plainest reads is taken. A term that stands before the loop, first or last, joins its fold; a maximum or minimum
forgets where it started if that is one of its terms. An arg-max counted from the other end keeps the other of equals.
"""

from __future__ import annotations

from collections.abc import Iterator

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero, decided
from spatial.lift.algebra.counting import Box, limits, placed, split_guards, under
from spatial.lift.algebra.keys import Keys
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.values import (
    TRUE,
    ZERO,
    Fold,
    Get,
    Lin,
    Node,
    Op,
    Piece,
    Sym,
    combine,
    constant,
    fold,
    integer,
    parts,
    plus,
    scale,
)

OPS = {"sum": "add", "product": "mul", "max": "max", "min": "min"}
"""Reductions whose terms may be taken in any order, and the operation they repeat."""

_TURNED = {
    "argmax_first": "argmax_last",
    "argmax_last": "argmax_first",
    "argmin_first": "argmin_last",
    "argmin_last": "argmin_first",
}

_WORST = {"max": float("-inf"), "min": float("inf")}


def settled(node: Fold, keys: Keys) -> Node:
    """The reduction in canonical form."""
    if any(v.extent is None or v.extent < 1 for v in node.vars):
        return node
    node = _masked(node)
    if node.op in OPS or len(node.vars) == 1:
        node = _counted(node, keys)
    init = node.init
    if init is not None and node.op in _WORST and _never_empty(node):
        if constant(init) != _WORST[node.op]:
            return joined(arith.extreme(node.op, init, _without_init(node)), keys)
        return _without_init(node)
    if init is not None and _is_term(init, node, keys):
        return _without_init(node)
    return node


def _without_init(node: Fold) -> Node:
    return fold(node.op, node.vars, node.guards, node.value, node.order, node.origin, node.arg)


def _masked(node: Fold) -> Fold:
    """A term that is nothing under a condition does not take part there; what a condition decides is decided."""
    guards, value, init = split_guards(node.guards), node.value, node.init
    match value:
        case Op(fn="select", args=(condition, taken, rest)) if node.arg is None:
            nothing = {"sum": 0, "product": 1, **_WORST}.get(node.op)
            if nothing is not None and constant(rest) == nothing:
                guards, value = split_guards((*guards, condition)), taken
                if init is None and node.op in _WORST:
                    init = rest
        case _:
            pass
    found = fold(node.op, node.vars, guards, under(value, guards), node.order, node.origin, node.arg, init)
    return found if isinstance(found, Fold) else node


def _counted(node: Fold, keys: Keys) -> Fold:
    """The reduction with its variables placed."""

    def remade(box: Box) -> Fold:
        op = _TURNED.get(node.op, node.op) if box.turned % 2 else node.op
        arg = box.values[1] if node.arg is not None else None
        found = fold(op, box.vars, box.guards, box.values[0], node.order, node.origin, arg, node.init)
        assert isinstance(found, Fold)
        return found

    values = (node.value, *([node.arg] if node.arg is not None else []))
    box = start = Box(node.vars, node.guards, (), values)
    for _ in range(3):
        before = box
        for v in box.vars:
            box = placed(box, v, lambda b: keys.of(remade(b)).digest)
        if box is before or len(box.vars) == 1:
            break
    return node if box is start else remade(box)


def apart(node: Node) -> Node:
    """The place of a best item, counted so that its first item has the place 0, and what stands beside that."""
    match node:
        case Fold(arg=arg) if arg is not None and arg.kind == "int" and parts(arg)[0] and node.init is None:
            c = parts(arg)[0]
            found = fold(node.op, node.vars, node.guards, node.value, node.order, node.origin, plus(arg, -c))
            return plus(found, c)
        case _:
            return node


def together(node: Node) -> Node:
    """A place with what stands beside it put into it again."""
    match node:
        case Lin(terms=((Fold(arg=arg) as place, 1),)) if arg is not None and place.init is None:
            return fold(
                place.op, place.vars, place.guards, place.value, place.order, place.origin, plus(arg, node.const)
            )
        case _:
            return node


def counted_piece(piece: Piece, keys: Keys) -> Piece:
    """A piece with its variables placed; of writes that happen in order, those that can meet keep their order."""
    if any(v.extent is None or v.extent < 1 for v in piece.vars):
        return piece
    if piece.ordered:
        return _in_order(piece)

    def remade(box: Box) -> Piece:
        return Piece(box.vars, box.guards, box.pos, box.values[0])

    guards = split_guards(piece.guards)
    box = Box(piece.vars, guards, piece.pos, (under(piece.value, guards),))
    for v in box.vars:
        box = placed(box, v, lambda b: keys.piece(remade(b)).digest)
    return remade(box)


def _in_order(piece: Piece) -> Piece:
    """Writes of one item differ in the variables that no axis tells by itself: those first, in their order."""
    told: dict[Sym, None] = {}
    for i in piece.pos:
        match parts(i)[1]:
            case ((Sym() as v, _),) if v in piece.vars:
                told[v] = None
            case _:
                pass
    vars = (*(v for v in piece.vars if v not in told), *told)
    return piece if vars == piece.vars else Piece(vars, piece.guards, piece.pos, piece.value, True)


# ---------------------------------------------------------------- what stands before the loop


def _never_empty(form: Fold) -> bool:
    """Whether some term surely takes part: the first, or the last."""
    for corner in (0, 1):
        at = Substitution({v: integer(corner * ((v.extent or 1) - 1)) for v in form.vars})
        if all(decided(at.node(g)) for g in form.guards):
            return True
    return False


def joined(node: Node, keys: Keys) -> Node:
    """An operation of a reduction and a term of its own kind, as one reduction."""
    match node:
        case Op(fn=("add" | "mul" | "max" | "min") as fn, args=(a, b)):
            for one, other in ((a, b), (b, a)):
                if isinstance(one, Fold) and OPS.get(one.op) == fn:
                    for term, rest in _terms(other, fn):
                        longer = _with_term(term, one, keys)
                        if longer is not None:
                            whole = longer if rest is None else arith.rebuild(fn, (longer, rest), node.kind)
                            return joined(whole, keys)
        case Lin():
            for atom, c in node.terms:
                if isinstance(atom, Fold) and atom.op == "sum":
                    longer = _longer_sum(combine(node, atom, -c), atom, c, keys)
                    if longer is not None:
                        return longer
        case _:
            pass
    return node


def _terms(node: Node, fn: str) -> Iterator[tuple[Node, Node | None]]:
    """What stands beside a reduction, and of two that its own operation puts together each, with the other."""
    yield node, None
    match node:
        case Op(fn=found, args=(a, b)) if found == fn:
            yield a, b
            yield b, a
        case _:
            pass


def _with_term(term: Node, of: Fold, keys: Keys) -> Node | None:
    """A reduction that takes a term in; a maximum or minimum may already have it."""
    if of.op in _WORST and _is_term(term, of, keys):
        return of
    return _longer(term, of, keys)


def _is_term(value: Node, of: Fold, keys: Keys) -> bool:
    """Whether a value is surely one of the terms of a reduction."""
    point: dict[Sym, Node] = {}
    if not _matches(of.value, value, frozenset(of.vars), point):
        return False
    for v in of.vars:
        at = point.setdefault(v, ZERO)
        if not at_least_zero(at) or not at_least_zero(combine(integer((v.extent or 1) - 1), at, -1)):
            return False
    change = Substitution(point)
    return keys.of(change.node(of.value)) == keys.of(value) and all(decided(change.node(g)) for g in of.guards)


def _matches(pattern: Node, node: Node, free: frozenset[Sym], point: dict[Sym, Node]) -> bool:
    """Whether some point of the variables `free` makes the pattern that expression; the point (as far as told)."""
    if pattern is node or not (pattern.free & free):
        return True
    match pattern, node:
        case Op(), Op() if pattern.fn == node.fn:
            return all(_matches(a, b, free, point) for a, b in zip(pattern.args, node.args, strict=True))
        case Get(), Get() if pattern.tensor is node.tensor:
            return all(_matches(a, b, free, point) for a, b in zip(pattern.index, node.index, strict=True))
        case ((Sym() | Lin()), _) if node.kind == "int":
            mine = [(a, c) for a, c in parts(pattern)[1] if isinstance(a, Sym) and a in free]
            left = [(a, c) for a, c in mine if a not in point]
            if len(left) == 1 and abs(left[0][1]) == 1 and len(mine) == 1:
                v, c = left[0]
                point[v] = scale(combine(node, combine(pattern, v, -c), -1), c)
            return True
        case _:
            return False


def _ends(of: Fold) -> Iterator[tuple[Sym, Node, Fold]]:
    """Each place just before or after the terms, with the reduction that has a term there too."""
    for v in of.vars:
        extent = v.extent or 1
        low, high = limits(v, of.guards)
        longer = Sym(v.name, extent + 1)
        ways: list[tuple[Node, Node, tuple[Node, ...] | None]] = []
        if not low:
            ways.append((integer(-1), plus(longer, -1), None))
        if not high:
            ways.append((integer(extent), longer, None))
        if not low and len(high) == len(of.guards) == 1 and _says(of.guards[0], v):
            after = plus(high[0], 1)
            if at_least_zero(after) and at_least_zero(combine(integer(extent), after, -1)):
                ways.append((after, longer, (arith.nonneg(combine(after, longer, -1)),)))
        for place, at, guards in ways:
            here, moved = supposed({v: place}, of.value, *of.guards), supposed({v: at}, of.value, *of.guards)
            if not here or not moved or (guards is None and not all(decided(g) for g in here[1:])):
                continue
            kept = tuple(moved[1:]) if guards is None else guards
            vars = tuple(longer if u is v else u for u in of.vars)
            found = fold(of.op, vars, kept, moved[0], of.order, of.origin)
            if isinstance(found, Fold):
                yield v, place, found


def _says(condition: Node, v: Sym) -> bool:
    """Whether a condition that limits a variable says no more and no less than where it ends: it has no factor."""
    match condition:
        case Op(fn="nonneg", args=(form,)):
            return abs(dict(parts(form)[1]).get(v, 0)) == 1
        case _:
            return False


def _at(of: Fold, v: Sym, place: Node, keys: Keys) -> Node:
    """The part of a reduction at one place of one variable."""
    change = Substitution({v: place})
    vars = tuple(u for u in of.vars if u is not v)
    value = change.node(of.value)
    if not vars:
        return value
    guards = tuple(g for g in (change.node(g) for g in of.guards if v not in g.free) if g is not TRUE)
    part = fold(of.op, vars, guards, value, of.order, of.origin)
    return settled(part, keys) if isinstance(part, Fold) else part


def _longer(term: Node, of: Fold, keys: Keys) -> Node | None:
    """The reduction with one term more, at one of its ends."""
    if of.init is not None or of.arg is not None or constant(term) is not None:
        return None
    wanted = keys.of(term)
    for v, place, longer in _ends(of):
        if keys.of(_at(of, v, place, keys)) == wanted:
            return settled(longer, keys)
    return None


def _longer_sum(rest: Node, of: Fold, c: int, keys: Keys) -> Node | None:
    """The same for integers, whose sums are one sum: `rest + c * of`."""
    if of.init is not None or not parts(rest)[1]:
        return None
    for v, place, longer in _ends(of):
        term = _at(of, v, place, keys)
        atoms = parts(term)[1]
        without = combine(rest, term, -c)
        if atoms and len(parts(without)[1]) == len(parts(rest)[1]) - len(atoms):
            return joined(combine(without, settled(longer, keys), c), keys)
    return None
