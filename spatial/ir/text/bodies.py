"""Reading bodies out of tokens; a mistake costs one statement, and reading goes on with the next.

Knows the spelling told in the package's docstring, and no program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from spatial.errors import Problem, SourceError, nearest
from spatial.ir.body import (
    DEEPEST,
    KINDS,
    PHASES,
    Access,
    Body,
    Engine,
    Expr,
    InPort,
    Items,
    Loop,
    Operand,
    OutPort,
    Plan,
    Queue,
    Rect,
    Stage,
    State,
    Step,
)
from spatial.ir.text.expressions import Expressions, Names, read_forms, read_place
from spatial.ir.text.printer import COORDINATE
from spatial.ir.text.tokens import Cursor, Token
from spatial.numerics import PRECISIONS, is_float

FORMATS = (*PRECISIONS, "q8_0")
LAYOUTS = ("flat", "dense", "q8_0")

T = TypeVar("T")
U = TypeVar("U")


@dataclass
class _StageParts:
    names: Names = field(default_factory=Names)
    ins: list[InPort] = field(default_factory=list[InPort])
    outs: list[OutPort] = field(default_factory=list[OutPort])
    states: list[_StateParts] = field(default_factory=list["_StateParts"])
    access: Access | None = None
    perm: str | tuple[int, ...] = ()


@dataclass
class _StateParts:
    """A state whose update is still to come."""

    token: Token
    name: str
    shape: tuple[int, int]
    prec: str
    depth: int
    init: float | int
    cells: tuple[int, ...]
    whole: State | None = None


class BodyReader:
    """One text being read; `problems` gathers what was wrong."""

    def __init__(self, cursor: Cursor, problems: list[Problem]) -> None:
        self.cursor = cursor
        self.problems = problems

    def block(self, what: str, statements: Mapping[str, Callable[[], None]]) -> bool:
        """`{ statement … }`, each begun by its keyword; a mistake costs one statement. Whether all were sound."""
        cursor = self.cursor
        cursor.expect("{")
        sound = True
        while not cursor.take("}"):
            token = cursor.token
            if token.kind == "end":
                problem = Problem(f"the text ends inside a {what}", mend="close it with `}`", place=token.place)
                self.problems += [problem] if sound else []
                return False
            try:
                if not cursor.sees(*statements):
                    why = f"no statement of a {what} begins so"
                    raise cursor.fail(f"{token} in a {what}", why, nearest(token.text, statements))
                cursor.next()
                statements[token.text]()
            except SourceError as e:
                self.problems += e.problems
                sound = False
                cursor.skip_statement(frozenset(statements))
        return sound

    # ------------------------------------------------------------ bodies

    def body(self) -> tuple[str, Body | None]:
        """`[NAME] PHASE { … }`: the name ("" if none) and the body, None where a statement was wrong."""
        cursor = self.cursor
        start = cursor.token
        name = ""
        if cursor.after.kind != "mark":
            name = cursor.name("a body's name")
        phase = cursor.word_of(PHASES, "a phase of lowering")
        operands: list[Operand] = []
        rects: list[tuple[int, int]] = []
        items: list[Items] = []
        queues: list[Queue] = []
        stages: list[Stage] = []
        engines: list[Engine] = []
        plans: list[Plan] = []

        statements: dict[str, Callable[[], None]] = {
            "operand": lambda: operands.append(self._operand()),
            "rect": lambda: rects.append(cursor.dims()),
            "items": lambda: items.append(self._items()),
            "queue": lambda: queues.append(self._queue()),
            "engine": lambda: engines.append(self._engine()),
            "plan": lambda: plans.append(self._plan()),
        }
        for kind in KINDS:
            statements[kind] = lambda kind=kind: self._stage(kind, stages)
        sound = self.block("body", statements)
        counts = (("rect", rects, 1), ("items", items, 1), ("plan", plans, 0))
        for word, found, least in counts if sound else ():
            if not least <= len(found) <= 1:
                what = f"a body with {len(found)} `{word}` statements"
                self.problems.append(Problem(what, "it has one", place=start.place))
                sound = False
        if not sound:
            return name, None
        plan = plans[0] if plans else None
        parts = (tuple(operands), rects[0], items[0], tuple(queues), tuple(stages), tuple(engines), plan, phase)
        return name, Body(*parts)

    def _operand(self) -> Operand:
        cursor = self.cursor
        name = cursor.name("an operand's name")
        cursor.expect(":")
        mode = cursor.word_of(("in", "out"), "a mode")
        prec = cursor.word_of(FORMATS, "a precision")
        layout = cursor.word_of(LAYOUTS, "a layout")
        extent = cursor.triple()
        bounds = self.bounds()
        return Operand(name, prec, layout, extent, mode, bounds, cursor.take("finite"))

    def bounds(self) -> tuple[int, int] | None:
        """`range LOW..HIGH`, or nothing."""
        if not self.cursor.take("range"):
            return None
        low = self.cursor.integer()
        self.cursor.expect("..")
        return low, self.cursor.integer()

    def _items(self) -> Items:
        cursor = self.cursor
        grid = cursor.integers()
        cursor.expect("trips")
        trips = cursor.integers()
        cursor.expect("at")
        cursor.expect("(")
        return Items(grid, trips, read_forms(cursor, ")"))

    def _queue(self) -> Queue:
        cursor = self.cursor
        name = cursor.name("a queue's name")
        cursor.expect(":")
        page = cursor.dims()
        prec = cursor.word_of(PRECISIONS, "a precision")
        return Queue(name, page, prec, cursor.integer() if cursor.take("cap") else 0)

    def _engine(self) -> Engine:
        name = self.cursor.name("an engine's name")
        return Engine(name, self._order(0))

    def _order(self, depth: int) -> tuple[Loop | Step, ...]:
        cursor = self.cursor
        if depth > DEEPEST:
            raise cursor.fail(f"loops nested more than {DEEPEST} deep")
        cursor.expect("{")
        order: list[Loop | Step] = []
        while not cursor.take("}"):
            if cursor.take("loop"):
                order.append(Loop(cursor.integer(), self._order(depth + 1)))
            else:
                stage = cursor.name("a stage's name, `loop` or `}`")
                cursor.expect("@")
                order.append(Step(stage, cursor.integer()))
        return tuple(order)

    def _plan(self) -> Plan:
        cursor = self.cursor
        label = cursor.name("a plan's label")
        block: list[tuple[str, int]] = []
        rect = [(1, 1)]
        spread: list[tuple[int, str]] = []
        multicast: list[str] = []
        scatter: list[tuple[str, int]] = []
        resident: list[str] = []
        depth: list[tuple[str, int]] = []
        engines: list[tuple[str, str]] = []
        cycles: list[float] = [0.0]
        traffic = [0]

        def name() -> str:
            return cursor.name("a name")

        def pair(first: Callable[[], T], second: Callable[[], U]) -> tuple[T, U]:
            one = first()
            cursor.expect(":")
            return one, second()

        def listed(into: list[T], read: Callable[[], T]) -> None:
            into.append(read())
            while cursor.take(","):
                into.append(read())

        self.block("plan", {
            "block": lambda: listed(block, lambda: pair(name, cursor.integer)),
            "rect": lambda: rect.append(cursor.dims()),
            "spread": lambda: listed(spread, lambda: pair(cursor.integer, name)),
            "multicast": lambda: listed(multicast, name),
            "scatter": lambda: listed(scatter, lambda: pair(name, cursor.integer)),
            "resident": lambda: listed(resident, name),
            "depth": lambda: listed(depth, lambda: pair(name, cursor.integer)),
            "engines": lambda: listed(engines, lambda: pair(name, name)),
            "cycles": lambda: cycles.append(float(cursor.number())),
            "traffic": lambda: traffic.append(cursor.integer()),
        })  # fmt: skip
        return Plan(
            tuple(block),
            rect[-1],
            tuple(spread),
            tuple(multicast),
            tuple(scatter),
            tuple(resident),
            tuple(depth),
            tuple(engines),
            label,
            cycles[-1],
            traffic[-1],
        )

    # ------------------------------------------------------------ stages

    def _stage(self, kind: str, into: list[Stage]) -> None:
        cursor = self.cursor
        name = cursor.name("a stage's name")
        on: Rect | None = None
        group = (1, 1)
        loops: tuple[int, ...] = ()
        while not cursor.sees("{"):
            if cursor.take("on"):
                w, h = cursor.dims()
                cursor.expect("at")
                on = Rect(*cursor.pair(), w, h)
            elif cursor.take("group"):
                group = cursor.dims()
            elif cursor.take("loops"):
                loops = cursor.integers()
            else:
                raise cursor.fail(f"{cursor.token} where `on`, `group`, `loops` or `{{` should be")
        parts = _StageParts()
        expressions = Expressions(cursor, parts.names)
        if not self.block("stage", {
            "pop": lambda: self._pop(parts),
            "state": lambda: self._state(parts),
            "at": lambda: self._access(parts),
            "perm": lambda: self._perm(parts),
            "set": lambda: self._set(parts, expressions.read),
            "push": lambda: self._push(parts, expressions.read),
        }):  # fmt: skip
            raise SourceError(())
        unset = [s for s in parts.states if s.whole is None]
        if unset:
            why = "an accumulator has one update"
            raise cursor.fail(f"the state {unset[0].name} is never set", why, "add a `set`", unset[0].token)
        states = tuple(s.whole for s in parts.states if s.whole is not None)
        ports = (tuple(parts.ins), tuple(parts.outs), states)
        into.append(Stage(name, kind, loops, *ports, parts.access, on, parts.perm, group))

    def _declared(self, parts: _StageParts, name: str, token: Token) -> None:
        if name in parts.names.pages or name in parts.names.states:
            what = f"a second page or state called {token}"
            raise self.cursor.fail(what, mend="give it a name of its own", token=token)

    def _pop(self, parts: _StageParts) -> None:
        cursor = self.cursor
        token = cursor.token
        try:
            name = queue = cursor.name("a queue's name")
            if cursor.take(":"):
                queue = cursor.name("a queue's name")
            if COORDINATE.match(name):
                mend = f"give the page another name: `pop page: {queue} @…`"
                raise cursor.fail(f"a page called {name}", "that is a coordinate's name", mend, token)
            self._declared(parts, name, token)
            cursor.expect("@")
            port = InPort(queue, cursor.integer(), self._pages())
        except SourceError:
            parts.names.broken = True
            raise
        parts.names.pages[name] = len(parts.ins)
        parts.ins.append(port)

    def _pages(self) -> tuple[int, ...]:
        return self.cursor.integers() if self.cursor.sees("[") else ()

    def _state(self, parts: _StageParts) -> None:
        cursor = self.cursor
        token = cursor.token
        try:
            name = cursor.name("a state's name")
            self._declared(parts, name, token)
            cursor.expect(":")
            shape = cursor.dims()
            prec = cursor.word_of(PRECISIONS, "a precision")
            cursor.expect("@")
            depth = cursor.integer()
            cursor.expect("=")
            at = cursor.token
            init = cursor.number()
            if is_float(prec):
                init = float(init)
            elif isinstance(init, float):
                raise cursor.fail(f"{at} in a state of {prec}", "its numbers are integers", token=at)
            cells = cursor.integers() if cursor.take("cells") else ()
        except SourceError:
            parts.names.broken = True
            raise
        parts.names.states[name] = len(parts.states)
        parts.states.append(_StateParts(token, name, shape, prec, depth, init, cells))

    def _set(self, parts: _StageParts, read: Callable[[], Expr]) -> None:
        cursor = self.cursor
        token = cursor.token
        name = cursor.name("a state's name")
        cell = read_forms(cursor, "]") if cursor.take("[") else ()
        cursor.expect("@")
        at = cursor.integer()
        cursor.expect("=")
        update = read()
        if name not in parts.names.states:
            if parts.names.broken:
                return
            mend = nearest(name, parts.names.states)
            raise cursor.fail(f"no state is called {token} here", "`state` declares it above its `set`", mend, token)
        s = parts.states[parts.names.states[name]]
        if s.whole is not None:
            raise cursor.fail(f"the state {name} is set twice", "an accumulator has one update", token=token)
        s.whole = State(s.name, s.shape, s.prec, s.depth, s.init, at, update, s.cells, cell)

    def _push(self, parts: _StageParts, read: Callable[[], Expr]) -> None:
        cursor = self.cursor
        queue = cursor.name("a queue's name")
        cursor.expect("@")
        depth = cursor.integer()
        pages = self._pages()
        parts.outs.append(OutPort(queue, depth, pages, read() if cursor.take("=") else None))

    def _access(self, parts: _StageParts) -> None:
        cursor = self.cursor
        start = cursor.token
        operand = cursor.name("an operand's name")
        plane = cursor.name("a plane's name") if cursor.take(".") else ""
        place, index = read_place(cursor, parts.names)
        mask: int | None = None
        if cursor.take("mask"):
            token = cursor.token
            name = cursor.name("a page's name")
            mask = parts.names.pages.get(name, -1)
            if mask < 0 and not parts.names.broken:
                raise cursor.fail(f"no page is called {token} here", mend=nearest(name, parts.names.pages), token=token)
        if parts.access is not None:
            raise cursor.fail("a second `at`", "a load or store has one place", token=start)
        parts.access = Access(operand, place, plane, index, mask)

    def _perm(self, parts: _StageParts) -> None:
        parts.perm = "transpose" if self.cursor.take("transpose") else self.cursor.integers()
