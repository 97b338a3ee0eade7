"""A tensor graph in words: the family of each statement, its expression in short text, the tables in order.

For people alone; nothing is decided by what is said here. Variables of a statement are i, j, k, … in the order of the
graph (those it keeps, then those it reduces), `instance` the number of a block's instance; all count from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, At, Block, Fn, Graph, Lifted, Num, Origin, Piece, Read, Statement, Value, Var

WIDTH = 96
"""Characters of an expression that are shown before the rest is left out."""

_LETTERS = "ijklmnpqrstuvw"
_INFIX = {
    "or": ("or", 1), "and": ("and", 2),
    "eq": ("==", 3), "ne": ("!=", 3), "lt": ("<", 3), "le": ("<=", 3),
    "add": ("+", 4), "sub": ("-", 4),
    "mul": ("*", 5), "div": ("/", 5), "truncdiv": ("/", 5), "floordiv": ("//", 5), "rem": ("%", 5),
}  # fmt: skip
_ATOM = 9


def statements_of(graph: Graph) -> Iterator[tuple[tuple[int, int], Statement, int]]:
    """Every statement with its place (node, position in a block's body or -1) and how many instances it has."""
    for n, node in enumerate(graph.nodes):
        if isinstance(node, Block):
            yield from (((n, k), s, node.trip) for k, s in enumerate(node.body))
        else:
            yield (n, -1), node, 1


def family(statement: Statement) -> str:
    """What kind of statement it is: by its form, whatever section it will become."""
    piece = statement.pieces[0]
    indirect = any(at.via is not None for p in statement.pieces for at in p.pos)
    if statement.over is not None:
        return "scatter" if indirect else "write"
    if piece.accs:
        best = piece.accs[0]
        if best.arg is not None:
            return best.op.split("_")[0].replace("arg", "arg-")
        return "product" if best.op == "sum" and _is_product(best.value) else "reduction"
    if len(statement.pieces) > 1:
        return "pieces"
    match piece.value:
        case Read(at=at):
            return "gather" if any(a.via is not None for a in at) else "copy"
        case _:
            return "map"


def is_float(statement: Statement, graph: Graph) -> bool:
    """Whether a statement computes floats: as its result is, or, of an arg-max, what it compares."""
    best = statement.pieces[0].accs[0] if statement.pieces[0].accs else None
    kind = graph.tensors[statement.out].kind if best is None or best.arg is None else _kind(best.value, graph)
    return kind == "float"


def _kind(value: Value, graph: Graph) -> str:
    match value:
        case Read(tensor, _):
            return graph.tensors[tensor].kind
        case Num(_, kind) | Fn(_, _, kind):
            return kind
        case _:
            return "int"


def _is_product(value: Value) -> bool:
    """Whether a term is a product in which two factors read tensors, over more than one row or column."""
    read = [_coordinates(f) for f in _factors(value)]
    return any(a & b and a != b for n, a in enumerate(read) for b in read[:n])


def _factors(value: Value) -> tuple[Value, ...]:
    """What is multiplied in a term, wherever it is scaled or divided beside."""
    match value:
        case Fn(fn="mul", args=(a, b)):
            return (*_factors(a), *_factors(b))
        case Fn(fn="div", args=(a, _)) | Fn(fn="float" | "neg", args=(a,)) | Fn(fn="sub", args=(Num(value=0), a)):
            return _factors(a)
        case _:
            return (value,)


def _coordinates(value: Value) -> frozenset[str]:
    match value:
        case Read(at=at):
            return frozenset(s for a in at for s in a.base.symbols)
        case Fn(args=args):
            return frozenset[str]().union(*map(_coordinates, args))
        case _:
            return frozenset()


# ---------------------------------------------------------------- names


def names_of(graph: Graph, lifted: Lifted) -> dict[int, str]:
    """What the source calls each tensor: tables by their own names, others as the statement that makes them binds."""
    names = {n: t.name for n, t in enumerate(graph.tensors) if t.name}
    origins: dict[tuple[int, int], Origin] = {(o.node, o.inner): o for o in lifted.origins}
    for place, statement, _ in statements_of(graph):
        origin = origins.get(place)
        if origin is not None and origin.name:
            names.setdefault(statement.out, origin.name)
    for record in lifted.recorded:
        if record.fate == "fill" and record.of >= 0 and record.name:
            names.setdefault(record.of, record.name)
    for node in graph.nodes:
        for c in node.carried if isinstance(node, Block) else ():
            name = names.get(c.made) or names.get(c.initial)
            if name:
                names.setdefault(c.inner, name)
                names.setdefault(c.final, name)
    return names


def name(number: int, names: Mapping[int, str]) -> str:
    """A tensor's name, or its number where the source has none for it."""
    return names.get(number) or f"#{number}"


# ---------------------------------------------------------------- expressions


def expression(piece: Piece, names: Mapping[int, str], width: int = WIDTH) -> str:
    """The value of a piece, its reduction put in its place."""
    return shortened(_value(piece.value, piece, names, 0), width)


def place(piece: Piece, names: Mapping[int, str]) -> str:
    """Where a piece writes."""
    return ", ".join(_index(at, piece, names) for at in piece.pos)


def conditions(guards: Sequence[Value], piece: Piece, names: Mapping[int, str], width: int = WIDTH) -> str:
    """Conditions, all of which must hold."""
    return shortened(" and ".join(_value(g, piece, names, 3) for g in guards), width)


def shortened(text: str, width: int) -> str:
    """A text that is cut where it is too long."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _value(value: Value, piece: Piece, names: Mapping[int, str], around: int) -> str:
    """An expression, in brackets where what is around it binds tighter."""
    match value:
        case Num(v, _):
            return repr(v)
        case Var(form):
            text = _affine(form)
            return f"({text})" if around > 4 and (" + " in text or " - " in text) else text
        case Read(tensor, at):
            index = ", ".join(_index(a, piece, names) for a in at)
            return f"{name(tensor, names)}[{index}]" if at else name(tensor, names)
        case Acc(number):
            return _reduction(piece, number, names)
        case Fn("float", (inner,), _):
            return _value(inner, piece, names, around)
        case Fn("select", (test, a, b), _):
            parts = [_value(v, piece, names, 1) for v in (a, test, b)]
            text = f"{parts[0]} if {parts[1]} else {parts[2]}"
            return f"({text})" if around else text
        case Fn("add", (a, Num(v, kind)), _) if v < 0:
            return _value(Fn("sub", (a, Num(-v, kind)), kind), piece, names, around)
        case Fn(fn, (a, b), _) if fn in _INFIX:
            sign, level = _INFIX[fn]
            text = f"{_value(a, piece, names, level)} {sign} {_value(b, piece, names, level + 1)}"
            return f"({text})" if around > level else text
        case Fn(fn, args, _):
            return f"{fn}({', '.join(_value(a, piece, names, 0) for a in args)})"


def _reduction(piece: Piece, number: int, names: Mapping[int, str]) -> str:
    acc = piece.accs[number]
    over = ", ".join(_letter(len(piece.par) + n) for n in range(len(piece.red)))
    text = _value(acc.value, piece, names, 0)
    if acc.guards:
        text += f" where {' and '.join(_value(g, piece, names, 3) for g in acc.guards)}"
    if acc.init is not None:
        text += f" from {_value(acc.init, piece, names, 0)}"
    if acc.arg is not None:
        text = f"{_value(acc.arg, piece, names, 0)} at {acc.op.removeprefix('arg').replace('_', ', ')} of {text}"
        return f"[{text} over {over}]"
    return f"{acc.op}[{text} over {over}]"


def _index(at: At, piece: Piece, names: Mapping[int, str]) -> str:
    text = _affine(at.base)
    if at.via is None:
        return text
    via = _value(at.via, piece, names, 5)
    via = via if at.scale == 1 else f"{at.scale} * {via}"
    return via if text == "0" else f"{text} + {via}"


def _affine(form: Affine) -> str:
    text = ""
    for symbol, c in form.terms:
        factor = _symbol(symbol) if abs(c) == 1 else f"{abs(c)} * {_symbol(symbol)}"
        text += (f" {'-' if c < 0 else '+'} " if text else "-" if c < 0 else "") + factor
    if form.const or not text:
        text += f" {'-' if form.const < 0 else '+'} {abs(form.const)}" if text else str(form.const)
    return text


def _symbol(symbol: str) -> str:
    return "instance" if symbol == "b" else _letter(int(symbol[1:]))


def _letter(n: int) -> str:
    return _LETTERS[n] if n < len(_LETTERS) else f"v{n}"


# ---------------------------------------------------------------- state


def state_order(graph: Graph, origins: Sequence[Origin]) -> tuple[str, ...]:
    """State tables in the order in which statements of the source first read or write them.

    The graph has its own order of statements; `origins` tell where each stands in the source.
    """
    stands = {(o.node, o.inner): (o.line, o.column) for o in origins}
    rows = sorted(statements_of(graph), key=lambda row: (stands.get(row[0], (0, 0)), row[0]))
    first: dict[int, int] = {}
    for n, (_, statement, _) in enumerate(rows):
        for number in (*touched(statement), statement.out):
            first.setdefault(number, n)
    never = len(first)
    for node in graph.nodes:
        for c in node.carried if isinstance(node, Block) else ():
            met = min(first.get(c.inner, never), first.get(c.made, never))
            for number in (c.initial, c.final):
                first[number] = min(first.get(number, never), met)
    found = {name: min(first.get(start, never), first.get(end, never)) for name, start, end in graph.state}
    return tuple(sorted(found, key=lambda name: (found[name], name)))


def carried_state(graph: Graph, origins: Sequence[Origin]) -> tuple[str, ...]:
    """The state tables that a call reads of, or leaves in part as they were: not those that it assembles whole."""
    read = {number for _, statement, _ in statements_of(graph) for number in touched(statement)}
    read |= {c.initial for node in graph.nodes if isinstance(node, Block) for c in node.carried}
    kept = {name for name, start, end in graph.state if start in read or start == end}
    return tuple(name for name in state_order(graph, origins) if name in kept)


def touched(statement: Statement) -> list[int]:
    """The tensors a statement reads or writes over, each once, in the order of its text."""
    found: dict[int, None] = {}
    if statement.over is not None:
        found[statement.over] = None
    pending: list[Value] = []
    for p in reversed(statement.pieces):
        for acc in p.accs:
            pending += [v for v in (acc.init, acc.arg, *reversed(acc.guards), acc.value) if v is not None]
        pending += [p.value, *reversed(p.guards), *(at.via for at in p.pos if at.via is not None)]
    while pending:
        match pending.pop():
            case Read(tensor, at):
                found[tensor] = None
                pending += [a.via for a in reversed(at) if a.via is not None]
            case Fn(args=args):
                pending += reversed(args)
            case _:
                pass
    return list(found)
