"""An expression as a chain of Generic stages along its spine.

A template keeps one operation a stage where the stages share no page, so that what was split can be checked and put
together again by `fuse_generic` as far as the datapath's registers carry it.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug
from spatial.ir.body import Cell, Const, Convert, Coord, Expr, InPort, Lanes, Matmul, Op, OutPort, Page
from spatial.select.emit import Emitter, Ports, compute

TRUTH = frozenset(("eq", "ne", "lt", "le", "and", "or", "not"))
HOLE = Page(-1)
"""Stands for what the stage before made."""


def emit_spine(e: Emitter, ports: Ports, value: Expr, shape: tuple[int, int], prec: str, depth: int) -> str:
    """Emit the chain that computes `value` from the ports collected, at `depth`; gives the queue of its pages.

    A page already as wanted is handed on as it is: a copy computes nothing.
    """
    if isinstance(value, Page):
        port = ports.ins[value.port]
        queue = e.page_of(port.queue)
        if (queue.page, queue.prec, port.depth) == (shape, prec, depth):
            return port.queue
    segments = cut(e, ports, value)
    made = ""
    for n, segment in enumerate(segments):
        last = n == len(segments) - 1
        page, form = (shape, prec) if last else shape_and_format(e, ports, segment, made)
        queue = e.queue("y" if last else "v", page, form)
        stage_ports, body = renumber(e, ports, segment, made, depth)
        compute(e, f"map_{queue}", "generic", depth, stage_ports, (OutPort(queue, depth, (), body),))
        made = queue
    return made


def cut(e: Emitter, ports: Ports, value: Expr) -> list[Expr]:
    """The segments of the spine, innermost first; each but the first holds `HOLE` once."""
    segments: list[Expr] = []
    rest = value
    while True:
        found = _cut_once(rest)
        if found is None:
            segments.append(rest)
            return segments[::-1]
        outer, rest = found
        segments.append(outer)


def _cut_once(value: Expr) -> tuple[Expr, Expr] | None:
    """(outer with a hole, inner): the root operation apart from one operand that shares no page with the others."""
    if not isinstance(value, Op | Convert):
        return None
    args = value.args if isinstance(value, Op) else (value.arg,)
    for k, arg in enumerate(args):
        others = [p for m, a in enumerate(args) if m != k for p in pages_of(a)]
        inner = pages_of(arg)
        if not isinstance(arg, Op | Convert) or not inner or _is_truth(arg) or set(inner) & set(others):
            continue
        if isinstance(value, Convert):
            return Convert(value.prec, HOLE), arg
        return Op(value.op, (*args[:k], HOLE, *args[k + 1 :])), arg
    return None


def _is_truth(value: Expr) -> bool:
    match value:
        case Op():
            return value.op in TRUTH or (value.op == "select" and _is_truth(value.args[1]))
        case _:
            return False


def pages_of(value: Expr) -> list[int]:
    """The in ports whose pages an expression reads, in order of occurrence."""
    match value:
        case Page():
            return [value.port]
        case Op():
            return [p for a in value.args for p in pages_of(a)]
        case Convert() | Lanes():
            return pages_of(value.arg)
        case Matmul():
            return [value.a.port, value.b.port]
        case _:
            return []


def map_pages(value: Expr, ports: dict[int, int]) -> Expr:
    """The expression with every page's port renamed."""
    match value:
        case Page():
            return Page(ports[value.port], value.at)
        case Op():
            return Op(value.op, tuple(map_pages(a, ports) for a in value.args))
        case Convert():
            return Convert(value.prec, map_pages(value.arg, ports))
        case Lanes():
            return replace(value, arg=map_pages(value.arg, ports))
        case Matmul():
            a, b = Page(ports[value.a.port], value.a.at), Page(ports[value.b.port], value.b.at)
            return Matmul(a, b, value.transpose_b)
        case _:
            return value


def renumber(e: Emitter, ports: Ports, segment: Expr, made: str, depth: int) -> tuple[Ports, Expr]:
    """The ports a segment uses, and the segment over them; the hole becomes a port on queue `made`."""
    own = Ports(e)
    names: dict[int, int] = {}
    for old in dict.fromkeys(pages_of(segment)):
        names[old] = len(own.ins)
        own.ins.append(InPort(made, depth) if old == HOLE.port else ports.ins[old])
    return own, map_pages(segment, names)


def shape_and_format(e: Emitter, ports: Ports, value: Expr, made: str) -> tuple[tuple[int, int], str]:
    """The page shape of an expression and the format its datapath computes it in."""
    width = e.target.vector
    match value:
        case Page():
            queue = e.page_of(made if value.port == HOLE.port else ports.ins[value.port].queue)
            return queue.page, width.int if queue.prec.startswith("i") else width.float
        case Const():
            return (1, 1), width.float if value.kind == "float" else width.int
        case Coord():
            return value.shape, width.int
        case Convert():
            shape, _ = shape_and_format(e, ports, value.arg, made)
            return shape, value.prec
        case Op():
            parts = [shape_and_format(e, ports, a, made) for a in value.args]
            shape = (max(s[0] for s, _ in parts), max(s[1] for s, _ in parts))
            return shape, parts[-1][1]
        case Lanes():
            shape, form = shape_and_format(e, ports, value.arg, made)
            return ((shape[0], 1) if value.axis == "cols" else (1, shape[1])), form
        case Cell() | Matmul():
            raise Bug("an accumulator stands on the spine of a map")
