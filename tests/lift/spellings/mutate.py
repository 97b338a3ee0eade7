"""Changes of meaning at the tree of a program: every named change at every place where it can be made.

No change can make a loop endless: conditions of a While change by one or in `<` and `<=` only, and what such a
condition reads is assigned as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from spatial.logos.syntax import (
    Binary,
    BinaryOp,
    Call,
    CallStmt,
    Expr,
    FloatLiteral,
    Function,
    If,
    Index,
    IntLiteral,
    Let,
    Name,
    Not,
    Program,
    Push,
    RepeatIn,
    RepeatRange,
    Return,
    Set,
    SetItem,
    Slice,
    Stmt,
    While,
    expressions,
    statements,
    walk,
)

_COMPARED: Mapping[BinaryOp, BinaryOp] = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_OTHER: Mapping[BinaryOp, BinaryOp] = {"*": "+", "/": "*", "//": "*", "%": "/"}
_TURNED: Mapping[str, str] = {"max": "min", "min": "max", "sqrt": "abs", "exp": "sqrt", "tanh": "erf", "erf": "tanh"}
_ONE = IntLiteral(1)


@dataclass(frozen=True)
class _Scope:
    """What stands around a node: loop variables, names of one kind each, and whether it counts places or loops."""

    loops: tuple[str, ...]
    kinds: Mapping[str, tuple[str, ...]]
    kept: frozenset[str]
    places: bool = False


def mutants(program: Program, alike: tuple[tuple[str, ...], ...] = ()) -> Iterator[tuple[str, Program]]:
    """Every change at every place. `alike`: inputs that can stand for one another."""
    kinds = {name: tuple(n for n in group if n != name) for group in alike for name in group}
    kept = _counted(program)
    for n, function in enumerate(program.functions):
        by_type: dict[object, list[str]] = {}
        for p in function.params:
            by_type.setdefault(p.type, []).append(p.name)
        local = {p.name: tuple(x for x in by_type[p.type] if x != p.name) for p in function.params}
        for name, body in _block(function.body, _Scope((), {**kinds, **local}, kept)):
            changed: Function = replace(function, body=body)
            yield name, replace(program, functions=(*program.functions[:n], changed, *program.functions[n + 1 :]))
    for name, body in _block(program.main, _Scope((), kinds, kept)):
        yield name, replace(program, main=body)


def _counted(program: Program) -> frozenset[str]:
    """Names that conditions of a While read."""
    bodies = (program.main, *(f.body for f in program.functions))
    return frozenset(
        e.name
        for body in bodies
        for s in statements(body)
        if isinstance(s, While)
        for e in walk(s.condition)
        if isinstance(e, Name)
    )


# ---------------------------------------------------------------- statements


def _block(body: tuple[Stmt, ...], scope: _Scope) -> Iterator[tuple[str, tuple[Stmt, ...]]]:
    for n, s in enumerate(body):
        before, after = body[:n], body[n + 1 :]
        for name, changed in _statement(s, scope):
            yield name, (*before, *changed, *after)
        if after and not _binds(s, after[0]) and not {*_assigned(s), *_assigned(after[0])} & scope.kept:
            yield "statements exchanged", (*before, after[0], s, *after[1:])


def _binds(first: Stmt, second: Stmt) -> bool:
    """Exchanging these two would do nothing, or read what is not bound yet."""
    unbound = isinstance(first, Let) and any(
        isinstance(e, Name) and e.name == first.name
        for s in statements((second,))
        for top in expressions(s)
        for e in walk(top)
    )
    lets = isinstance(first, Let) and isinstance(second, Let)
    return unbound or lets or isinstance(first, Return) or isinstance(second, Return)


def _assigned(s: Stmt) -> set[str]:
    return {x.name for x in statements((s,)) if isinstance(x, Let | Set)}


def _statement(s: Stmt, scope: _Scope) -> Iterator[tuple[str, tuple[Stmt, ...]]]:
    if isinstance(s, Let | Set) and s.name in scope.kept:
        yield from _step(s)
        return
    yield from _whole(s, scope)
    match s:
        case Let(_, value) | Set(_, value):
            for name, changed in _expr(value, scope):
                yield name, (replace(s, value=changed),)
        case SetItem(place, value):
            for name, changed in _expr(place, scope):
                yield name, (replace(s, place=changed),)
            for name, changed in _expr(value, scope):
                yield name, (replace(s, value=changed),)
        case Push(value):
            for name, changed in _expr(value, scope):
                yield name, (replace(s, value=changed),)
        case Return(value) if value is not None:
            for name, changed in _expr(value, scope):
                yield name, (replace(s, value=changed),)
        case If(branches, otherwise):
            for n, (condition, body) in enumerate(branches):
                for name, changed in _expr(condition, scope):
                    yield name, (replace(s, branches=(*branches[:n], (changed, body), *branches[n + 1 :])),)
                for name, changed in _block(body, scope):
                    yield name, (replace(s, branches=(*branches[:n], (condition, changed), *branches[n + 1 :])),)
            for name, changed in _block(otherwise, scope):
                yield name, (replace(s, otherwise=changed),)
        case RepeatRange(var, first, last, body):
            for name, changed in _expr(last, replace(scope, places=True)):
                yield name, (replace(s, last=changed),)
            for name, changed in _expr(first, replace(scope, places=True)):
                yield name, (replace(s, first=changed),)
            for name, changed in _block(body, replace(scope, loops=(*scope.loops, var))):
                yield name, (replace(s, body=changed),)
        case RepeatIn(_, collection, body):
            for name, changed in _expr(collection, scope):
                yield name, (replace(s, collection=changed),)
            for name, changed in _block(body, scope):
                yield name, (replace(s, body=changed),)
        case While(_, body):
            for name, changed in _block(body, scope):
                yield name, (replace(s, body=changed),)
        case CallStmt(call):
            for name, changed in _expr(call, scope):
                if isinstance(changed, Call):
                    yield name, (replace(s, call=changed),)
        case _:
            pass


def _step(s: Let | Set) -> Iterator[tuple[str, tuple[Stmt, ...]]]:
    """A counter of a While that goes further at a time."""
    match s:
        case Set(name, Binary("+" | "-" as op, Name(counter), IntLiteral(by))) if counter == name and by > 0:
            yield "a wrong stride", (Set(name, Binary(op, Name(counter), IntLiteral(by + 1))),)
        case _:
            pass


def _whole(s: Stmt, scope: _Scope) -> Iterator[tuple[str, tuple[Stmt, ...]]]:
    """Changes of the statement itself."""
    match s:
        case RepeatRange(_, first, last):
            yield "a bound short by one", (replace(s, last=_less(last)),)
            yield "a bound long by one", (replace(s, last=_more(last)),)
            yield "a first term dropped", (replace(s, first=_more(first)),)
            yield "a first term too many", (replace(s, first=_less(first)),)
        case While(Binary(op, left, right) as condition) if op in ("<", "<="):
            other: BinaryOp = "<=" if op == "<" else "<"
            yield "a strict comparison", (replace(s, condition=replace(condition, op=other)),)
            yield "a bound short by one", (replace(s, condition=Binary(op, left, _less(right))),)
            yield "a bound long by one", (replace(s, condition=Binary(op, left, _more(right))),)
        case If(((condition, body), *more), otherwise):
            yield "a dropped guard", body
            yield "a turned guard", (replace(s, branches=((Not(condition), body), *more)),)
            if otherwise:
                yield "the other branch", otherwise
        case Set() | SetItem() | Push():
            yield "a statement dropped", ()
        case Let(_, value) if (first := _start(value)) is not None:
            yield "a wrong initial value", (replace(s, value=first),)
        case _:
            pass
    match s:
        case Set(_, FloatLiteral() | IntLiteral()):
            yield "an accumulator not reset", ()
        case SetItem(Index(collection, index), value):
            half = Binary("/", _more(index), IntLiteral(2))
            yield "an overlapping write", (replace(s, place=Index(collection, half)),)
            for loop in scope.loops[-1:]:
                if any(isinstance(e, Name) and e.name == loop for e in walk(index)):
                    yield "an overlapping write", (replace(s, place=Index(collection, _ONE)),)
        case RepeatRange(_, _, _, body) | RepeatIn(_, _, body) | While(_, body):
            for n, inner in enumerate(body):
                if isinstance(inner, Let) and inner.name not in scope.kept and _start(inner.value) is not None:
                    rest: Stmt = replace(s, body=(*body[:n], *body[n + 1 :]))
                    yield "an accumulator not reset", (inner, rest)
        case _:
            pass


def _start(value: Expr) -> Expr | None:
    """Another value to start from, of a literal or of copies of one."""
    match value:
        case FloatLiteral(v):
            return FloatLiteral(v + 1.0)
        case IntLiteral(v):
            return IntLiteral(v + 1)
        case Call("repeatSeq", (count, what)) if (other := _start(what)) is not None:
            return Call("repeatSeq", (count, other))
        case Index(collection, IntLiteral(v)) if v > 0:
            return Index(collection, IntLiteral(v + 1))
        case _:
            return None


def _more(e: Expr) -> Expr:
    return IntLiteral(e.value + 1) if isinstance(e, IntLiteral) else Binary("+", e, _ONE)


def _less(e: Expr) -> Expr:
    return IntLiteral(e.value - 1) if isinstance(e, IntLiteral) else Binary("-", e, _ONE)


# ---------------------------------------------------------------- expressions


def _expr(e: Expr, scope: _Scope) -> Iterator[tuple[str, Expr]]:
    yield from _node(e, scope)
    match e:
        case Not(operand):
            yield from _in(_expr(operand, scope), lambda x: replace(e, operand=x))
        case Binary(_, left, right):
            yield from _in(_expr(left, scope), lambda x: replace(e, left=x))
            yield from _in(_expr(right, scope), lambda x: replace(e, right=x))
        case Index(collection, index):
            yield from _in(_expr(collection, scope), lambda x: replace(e, collection=x))
            yield from _in(_expr(index, replace(scope, places=True)), lambda x: replace(e, index=x))
        case Slice(_, first, last):
            yield "a bound short by one", replace(e, last=_less(last))
            yield "a first term dropped", replace(e, first=_more(first))
        case Call(_, args):
            for n, a in enumerate(args):
                yield from _in(_expr(a, scope), lambda x, n=n: replace(e, args=(*args[:n], x, *args[n + 1 :])))
        case _:
            pass


def _in(found: Iterator[tuple[str, Expr]], put: Callable[[Expr], Expr]) -> Iterator[tuple[str, Expr]]:
    for name, changed in found:
        yield name, put(changed)


def _node(e: Expr, scope: _Scope) -> Iterator[tuple[str, Expr]]:
    """Changes of the expression itself."""
    match e:
        case Binary("-", IntLiteral(0) | FloatLiteral(0.0), right):
            yield "a dropped sign", right
        case Binary("+", left, right):
            yield "a flipped sign", Binary("-", left, right)
        case Binary("-", left, right):
            yield "a flipped sign", Binary("+", left, right)
            yield "operands swapped", Binary("-", right, left)
        case Binary("*" | "/" | "//" | "%" as op, left, right):
            yield "another operation", Binary(_OTHER[op], left, right)
            if op != "*":
                yield "operands swapped", Binary(op, right, left)
            if op == "/":
                yield "another rounding", Binary("//", left, right)
            if scope.places:
                yield "a wrong stride", Binary(op, left, _more(right))
                yield "a wrong stride", Binary(op, left, _less(right))
        case Binary(op, left, right) if op in _COMPARED:
            yield "a strict comparison", Binary(_COMPARED[op], left, right)
            yield "operands swapped", Binary(op, right, left)
        case Binary("and" | "or" as op, left, right):
            yield "a dropped guard", left
            yield "a dropped guard", right
            yield "another operation", Binary("or" if op == "and" else "and", left, right)
        case Index(Index(inner, first), second):
            yield "a transposed index pair", Index(Index(inner, second), first)
        case Call(name, args) if name in _TURNED:
            yield "another function", Call(_TURNED[name], args)
        case Name(name):
            places = scope.loops if name in scope.loops else scope.kinds.get(name, ())
            for other in places:
                if other != name:
                    yield "a wrong variable", Name(other)
        case FloatLiteral(value):
            yield "a wrong constant", FloatLiteral(value * 2.0 + 1.0)
        case _:
            pass
    if isinstance(e, Index) and not (isinstance(e.index, IntLiteral) and e.index.value in (0, -1)):
        yield "an index off by one", replace(e, index=_more(e.index))
        if not (isinstance(e.index, IntLiteral) and e.index.value == 1):
            yield "an index off by one", replace(e, index=_less(e.index))
