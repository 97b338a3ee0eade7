"""Printing bodies and programs as text, canonically: a function of the record alone.

Knows the spelling told in the package's docstring; the reader is its inverse on every well-formed record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from spatial.ir.affine import ZERO, Affine
from spatial.ir.body import (
    Access,
    Body,
    Cell,
    Const,
    Convert,
    Coord,
    Engine,
    Expr,
    Items,
    Lanes,
    Loop,
    Matmul,
    Op,
    Operand,
    Page,
    Plan,
    Queue,
    Stage,
    State,
    Step,
)
from spatial.ir.program import Bind, Block, Call, Program, Show, Tensor
from spatial.numerics import PRECISIONS

RESERVED = frozenset(("and", "or", "not", "inf", "nan", "loop"))
"""Words that are names only when quoted."""

INFIX = {
    "or": ("or", 1), "and": ("and", 2), "eq": ("==", 4), "ne": ("!=", 4), "lt": ("<", 4), "le": ("<=", 4),
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6),
}  # fmt: skip
"""Operations written between their operands: the sign, and how tightly it binds."""

NOT, COMPARISON, UNARY = 3, 4, 7

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
COORDINATE = re.compile(r"(?:s[xy]|[ilpt][0-9]+|[rc])\Z")
"""Names of coordinates, which no page may bear: inside brackets the two could not be told apart."""


def print_body(body: Body) -> str:
    """The text of `body`, ending in a newline."""
    return "\n".join(_body(body, "")) + "\n"


def print_program(program: Program) -> str:
    """The text of `program`, ending in a newline; its bodies are called b0, b1, …"""
    lines: list[str] = []
    lines += [_tensor(t) for t in program.tensors]
    for number, body in enumerate(program.bodies):
        lines += _body(body, f"b{number} ")
    for phase in program.phases:
        lines += _braced("phase", (line for call in phase for line in _call(call, program)))
    lines += [f"result {_name(n)} = {_version(t, v)}" for n, t, v in program.results]
    lines += [f"state {_version(t, v)}" for t, v in program.state]
    for block in program.blocks:
        lines += _block(block)
    lines += [f"show {', '.join(map(_shown, shown))}".rstrip() for shown in program.shows]
    lines += [f"assume {_quoted(text)}" for text in program.assume]
    return "\n".join(_braced("program", lines)) + "\n"


# ---------------------------------------------------------------- small words


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _name(name: str) -> str:
    return name if _WORD.match(name) and name not in RESERVED else _quoted(name)


def _ints(values: Iterable[int]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _forms(values: Iterable[Affine]) -> str:
    return ", ".join(map(str, values))


def _dims(pair: tuple[int, int]) -> str:
    return f"{pair[0]}x{pair[1]}"


def _number(value: float | int, floating: bool) -> str:
    return repr(float(value)) if floating else str(int(value))


def _braced(head: str, lines: Iterable[str]) -> list[str]:
    inner = [f"  {line}" for line in lines]
    return [f"{head} {{", *inner, "}"] if inner else [f"{head} {{}}"]


def _version(tensor: str, version: int) -> str:
    return f"{_name(tensor)}@{version}"


# ---------------------------------------------------------------- bodies


def _body(body: Body, name: str) -> list[str]:
    lines = [_operand(o) for o in body.operands]
    lines += [f"rect {_dims(body.rect)}", _items(body.items)]
    lines += [_queue(q) for q in body.queues]
    for stage in body.stages:
        lines += _stage(stage)
    for engine in body.engines:
        lines += _engine(engine)
    if body.plan is not None:
        lines += _plan(body.plan)
    return _braced(f"body {name}{_name(body.phase)}", lines)


def _operand(o: Operand) -> str:
    text = f"operand {_name(o.name)}: {_name(o.mode)} {_name(o.prec)} {_name(o.layout)} {_ints(o.extent)}"
    return text + _range(o.range) + (" finite" if o.finite else "")


def _range(bounds: tuple[int, int] | None) -> str:
    return "" if bounds is None else f" range {bounds[0]}..{bounds[1]}"


def _items(items: Items) -> str:
    return f"items {_ints(items.grid)} trips {_ints(items.trips)} at ({_forms(items.coord)})"


def _queue(q: Queue) -> str:
    return f"queue {_name(q.name)}: {_dims(q.page)} {_name(q.prec)}" + (f" cap {q.cap}" if q.cap else "")


def _stage(s: Stage) -> list[str]:
    head = f"{s.kind} {_name(s.name)}"
    if s.on is not None:
        head += f" on {_dims((s.on.w, s.on.h))} at ({s.on.x}, {s.on.y})"
    if s.group != (1, 1):
        head += f" group {_dims(s.group)}"
    if s.loops:
        head += f" loops {_ints(s.loops)}"
    names = _port_names(s)
    show = _Expressions(names, tuple(_name(state.name) for state in s.states))
    lines: list[str] = []
    for port, name in zip(s.ins, names, strict=True):
        label = "" if name == _name(port.queue) else f"{name}: "
        lines.append(f"pop {label}{_name(port.queue)} @{port.depth}{_pages(port.pages)}")
    lines += [_state(state) for state in s.states]
    if s.access is not None:
        lines.append(_access(s.access, names))
    if s.perm:
        lines.append(f"perm {s.perm if isinstance(s.perm, str) else _ints(s.perm)}")
    for state in s.states:
        cell = f"[{_forms(state.cell)}]" if state.cell else ""
        lines.append(f"set {_name(state.name)}{cell} @{state.at} = {show.text(state.update)}")
    for out in s.outs:
        value = "" if out.value is None else f" = {show.text(out.value)}"
        lines.append(f"push {_name(out.queue)} @{out.depth}{_pages(out.pages)}{value}")
    return _braced(head, lines)


def _pages(pages: tuple[int, ...]) -> str:
    return f" {_ints(pages)}" if pages else ""


def _state(s: State) -> str:
    init = _number(s.init, s.prec not in PRECISIONS or PRECISIONS[s.prec].kind == "float")
    cells = f" cells {_ints(s.cells)}" if s.cells else ""
    return f"state {_name(s.name)}: {_dims(s.shape)} {_name(s.prec)} @{s.depth} = {init}{cells}"


def _port_names(s: Stage) -> tuple[str, ...]:
    """What each in port's page is called: its queue's name, unless that is taken or looks like a coordinate."""
    taken = {state.name for state in s.states}
    queues = {port.queue for port in s.ins}
    names: list[str] = []
    for port in s.ins:
        name, n = port.queue, 0
        while name in taken or COORDINATE.match(name) or (n and name in queues):
            n += 1
            name = f"{port.queue}_{n}"
        taken.add(name)
        names.append(_name(name))
    return tuple(names)


def _access(a: Access, names: tuple[str, ...]) -> str:
    forms: list[str] = []
    for axis, form in enumerate(a.place):
        text = str(form)
        if a.index is not None and a.index.axis == axis:
            scale, page = a.index.scale, names[a.index.port]
            term = page if abs(scale) == 1 else f"{abs(scale)}*{page}"
            sign = "-" if scale < 0 else "+"
            text = f"{text} {sign} {term}" if form != ZERO else term if scale >= 0 else f"-{term}"
        forms.append(text)
    plane = f".{_name(a.plane)}" if a.plane else ""
    mask = f" mask {names[a.mask]}" if a.mask is not None else ""
    return f"at {_name(a.operand)}{plane}[{', '.join(forms)}]{mask}"


def _engine(e: Engine) -> list[str]:
    return _braced(f"engine {_name(e.name)}", _order(e.order))


def _order(order: tuple[Loop | Step, ...]) -> Iterator[str]:
    for node in order:
        match node:
            case Step(stage, depth):
                yield f"{_name(stage)} @{depth}"
            case Loop(count, inner):
                yield from _braced(f"loop {count}", _order(inner))


def _plan(p: Plan) -> list[str]:
    def pairs(word: str, values: Iterable[tuple[object, object]]) -> list[str]:
        text = ", ".join(f"{a}: {b}" for a, b in values)
        return [f"{word} {text}"] if text else []

    lines = [f"rect {_dims(p.rect)}"]
    lines += pairs("block", ((_name(a), b) for a, b in p.block))
    lines += pairs("spread", ((a, _name(b)) for a, b in p.spread))
    lines += [f"multicast {', '.join(map(_name, p.multicast))}"] if p.multicast else []
    lines += pairs("scatter", ((_name(a), b) for a, b in p.scatter))
    lines += [f"resident {', '.join(map(_name, p.resident))}"] if p.resident else []
    lines += pairs("depth", ((_name(a), b) for a, b in p.depth))
    lines += pairs("engines", ((_name(a), _name(b)) for a, b in p.engines))
    lines += [f"cycles {float(p.cycles)!r}", f"traffic {p.traffic}"]
    return _braced(f"plan {_name(p.label)}", lines)


# ---------------------------------------------------------------- expressions


class _Expressions:
    """Prints expressions of one stage, whose in ports and states are called `pages` and `cells`."""

    def __init__(self, pages: tuple[str, ...], cells: tuple[str, ...]) -> None:
        self._pages = pages
        self._cells = cells

    def text(self, e: Expr, tight: int = 0) -> str:
        """`e`, in parentheses where it binds more loosely than `tight`."""
        match e:
            case Page(port, at):
                return self._pages[port] + (f"[{_forms(at)}]" if at else "")
            case Cell(state, at):
                return self._cells[state] + (f"[{_forms(at)}]" if at else "")
            case Const(value, kind):
                return _number(value, kind == "float")
            case Coord(value, shape):
                return f"coord({value} : {_dims(shape)})"
            case Convert(prec, arg):
                return f"convert({_name(prec)}, {self.text(arg)})"
            case Lanes(op, axis, arg):
                return f"{op}_{axis}({self.text(arg)})"
            case Matmul(a, b, transpose_b):
                return f"matmul{'_t' if transpose_b else ''}({self.text(a)}, {self.text(b)})"
            case Op("not", (arg,)):
                return _paren(f"not {self.text(arg, NOT)}", tight > NOT)
            case Op("neg", (arg,)) if not isinstance(arg, Const):
                return _paren(f"-{self.text(arg, UNARY)}", tight > UNARY)
            case Op(op, (a, b)) if op in INFIX:
                sign, binds = INFIX[op]
                left = binds + 1 if binds == COMPARISON else binds
                return _paren(f"{self.text(a, left)} {sign} {self.text(b, binds + 1)}", binds < tight)
            case Op(op, args):
                return f"{op}({', '.join(map(self.text, args))})"


def _paren(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


# ---------------------------------------------------------------- programs


def _tensor(t: Tensor) -> str:
    text = f"tensor {_name(t.name)}: {_name(t.role)} {_name(t.prec)} {_name(t.layout)} {_ints(t.shape)}"
    return text + _range(t.range)


def _call(call: Call, program: Program) -> list[str]:
    names = [o.name for o in program.bodies[call.body].operands]
    named = len(names) == len(call.binds) == len(set(names))
    shapes = {t.name: t.shape for t in program.tensors}
    lines = [(f"{_name(names[n])} = " if named else "") + _bind(b, shapes) for n, b in enumerate(call.binds)]
    return _braced(f"call b{call.body} at ({call.place[0]}, {call.place[1]})", lines)


def _bind(b: Bind, shapes: dict[str, tuple[int, int, int]]) -> str:
    text = _version(b.tensor, b.version)
    if b.origin == (0, 0, 0) and shapes.get(b.tensor) == b.extent:
        return text
    return f"{text}[{', '.join(f'{o}:{o + e}' for o, e in zip(b.origin, b.extent, strict=True))}]"


def _block(b: Block) -> list[str]:
    carried = (f"carry {', '.join(_version(t, v) for t, v in instance)}".rstrip() for instance in b.carried)
    return _braced(f"block from {b.first} length {b.length} times {b.trip}", carried)


def _shown(s: Show) -> str:
    value = f"value {_name(s.tensor)}" if s.tensor else ""
    text = _quoted(s.text) if s.text or not value else ""
    return f"{text} {value}".strip()
