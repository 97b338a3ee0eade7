"""Scopes, integer arithmetic and loops, spelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lift.spellings.choose import Chooser
from lift.spellings.model import Lookup, Poly, Quotient, Symbol, poly

Lines = list[str]

WORDS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by", "%": "modulo", "//": "//"}


def indented(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


@dataclass
class Frame:
    """The loop around: its counter, and the running indices it keeps."""

    counter: str
    base: Poly
    before: Lines = field(default_factory=list[str])
    after: Lines = field(default_factory=list[str])
    running: dict[Poly, str] = field(default_factory=dict[Poly, str])


@dataclass(frozen=True)
class Local:
    """A sequence of part of a tensor: `drop` leading indices are fixed here."""

    name: str
    drop: int


@dataclass(frozen=True)
class Scope:
    """What names stand for at one place of the program."""

    counters: Mapping[str, Poly] = field(default_factory=dict[str, Poly])
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    locals: Mapping[str, Local] = field(default_factory=dict[str, Local])
    frame: Frame | None = None
    levels: tuple[tuple[frozenset[str], Lines], ...] = ()
    """Blocks around, outermost first, with the counters known there: where temporaries may stand."""
    inner: frozenset[str] = frozenset()
    """Names of the program that only this place sees, to be handed to functions."""


@dataclass
class Writer:
    """A program in the making."""

    choose: Chooser
    sizes: Mapping[str, int]
    measured: tuple[str, ...] = ()
    """Tables whose `length of` may be asked."""
    layouts: dict[str, str] = field(default_factory=dict[str, str])
    shapes: dict[str, tuple[Poly, ...]] = field(default_factory=dict[str, tuple[Poly, ...]])
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    functions: Lines = field(default_factory=list[str])
    natives: set[str] = field(default_factory=set[str])
    helpers: dict[str, str] = field(default_factory=dict[str, str])
    names: dict[str, int] = field(default_factory=dict[str, int])
    taken: frozenset[str] = frozenset()
    """Names of tables, sizes and results."""
    types: dict[str, str] = field(default_factory=dict[str, str])
    handed: list[dict[str, None]] = field(default_factory=list[dict[str, None]])
    """For each function being written, the names it uses that it must be handed."""

    def fresh(self, stem: str) -> str:
        n = self.names.get(stem, 0)
        self.names[stem] = n + 1
        return stem if n == 0 else f"{stem}{n + 1}"

    def use(self, name: str, scope: Scope) -> str:
        if name in scope.inner:
            for needed in self.handed:
                needed[name] = None
        return name

    # ---------------------------------------------------------------- integers

    def integer(self, form: Poly, scope: Scope) -> str:
        """A polynomial in the model's names, as an expression."""
        return self._spelled(form.put(scope.counters), scope)

    def operand(self, form: Poly, scope: Scope) -> str:
        return bracketed(self.integer(form, scope))

    def _spelled(self, form: Poly, scope: Scope) -> str:
        how = self.choose.pick("algebra")
        names = sorted(n for n in form.symbols() if n in self.sizes)
        if how == "factored" and names:
            by = names[self.choose.below(len(names))]
            inner = form.coefficient(by)
            if inner is not None and inner.terms and inner.terms != poly(1).terms:
                rest = form - inner * by
                text = f"{bracketed(self._plain(inner, scope))} * {by}"
                if not rest.terms:
                    return text
                return f"{text} {self.operator('+')} {bracketed(self._plain(rest, scope))}"
        if how == "padded" and len(form.terms) > 1:
            return f"{self._plain(form + 1, scope)} - 1"
        if how == "shuffled":
            order = self.choose.shuffled(form.terms)
            return self._plain(Poly(tuple(form.terms[n] for n in order)), scope)
        return self._plain(form, scope)

    def operator(self, op: str) -> str:
        """A symbol or its word."""
        return WORDS[op] if self.choose.pick("operators") == "words" else op

    def _plain(self, form: Poly, scope: Scope) -> str:
        if not form.terms:
            return "0"
        ordered = [t for t in form.terms if t[1] > 0] + [t for t in form.terms if t[1] < 0]
        if all(t[1] > 0 for t in ordered):
            variables = [t for t in form.terms if t[0]]
            ordered = variables + [t for t in form.terms if not t[0]] if self.choose.below(4) else list(form.terms)
        text = "" if ordered[0][1] > 0 else "0"
        for monomial, factor in ordered:
            word = "-" if factor < 0 else "+"
            if text or factor < 0:
                text += f" {self.operator(word)} "
            text += self._monomial(monomial, abs(factor), scope)
        return text

    def _monomial(self, monomial: tuple[Symbol, ...], factor: int, scope: Scope) -> str:
        parts = [str(factor)] if factor != 1 or not monomial else []
        parts += [self._symbol(s, scope) for s in monomial]
        return " * ".join(parts[n] for n in self.choose.shuffled(parts)) if self.choose.below(2) else " * ".join(parts)

    def _symbol(self, s: Symbol, scope: Scope) -> str:
        match s:
            case str():
                return self.use(s, scope)
            case Quotient(op, of, by):
                word = self.choose.pick("quotient") if op == "/" else op
                return f"({bracketed(self._plain(of, scope))} {word} {bracketed(self._plain(by, scope))})"
            case Lookup(table, at):
                return f"({self.read(table, at, replace(scope, counters={}))})"

    def extent(self, form: Poly, scope: Scope, plus: int) -> str:
        """The last value of a counter: a size by its name, its number, or the length of a sequence that has it."""
        value = form.value(self.sizes)
        if value is not None:
            how = self.choose.pick("bound")
            if how == "numeral":
                return str(value + plus)
            if how == "length":
                name = next(
                    (n for n in self.measured if self.layouts[n] == "nested" and self.shapes[n][0] == form), None
                )
                if name is not None:
                    text = f"length of {self.use(name, scope)}"
                    return text + (f" + {plus}" if plus > 0 else f" - {-plus}" if plus else "")
        return self.integer(form + plus, scope)

    # ---------------------------------------------------------------- reads

    def read(self, tensor: str, at: tuple[Poly, ...], scope: Scope) -> str:
        """An item of a tensor; `at` counts from 0, in the model's names."""
        local = scope.locals.get(tensor)
        name = self.use(local.name if local else tensor, scope)
        index = [a.put(scope.counters) for a in at]
        shape = self.shapes[tensor]
        if local is not None:
            index, shape = index[local.drop :], shape[local.drop :]
        if self.layouts[tensor] == "flat" and len(index) > 1:
            form = index[0]
            for a, n in zip(index[1:], shape[1:], strict=True):
                form = form * n + a
            index = [form]
        if not index:
            return name
        if len(index) > 1 and self.choose.pick("rows") == "hoisted":
            row = self._row(name, index[0], scope)
            if row is not None:
                name, index = row, index[1:]
        return self.item(name, index, scope)

    def item(self, name: str, index: list[Poly], scope: Scope) -> str:
        """An item, its place given from 0 in the program's own names."""
        words = [self._place(a + 1, scope) for a in index]
        if self.choose.pick("brackets") == "[ ]":
            return name + "".join(f"[{w}]" for w in words)
        text = name
        for n, word in enumerate(words):
            text = f"item {bracketed(word)} of {text if n == 0 else f'({text})'}"
        return text

    def _row(self, name: str, index: Poly, scope: Scope) -> str | None:
        """The row bound to a name, where the block that knows its index begins."""
        if any(not isinstance(s, str) for m, _ in index.terms for s in m) or not scope.levels:
            return None
        needed = {n for n in index.symbols() if n in scope.inner} | ({name} & scope.inner)
        for known, lines in scope.levels:
            if needed <= known:
                row = self.fresh("row")
                lines.append(f"Let {row} be {self.item(name, [index], replace(scope, frame=None))}.")
                self.types[row] = self.types.get(name, "Seq of Seq of Float").removeprefix("Seq of ")
                return row
        return None

    def _place(self, form: Poly, scope: Scope) -> str:
        """The place of an item, perhaps kept in a variable that runs along."""
        frame = scope.frame
        if frame is not None and form.terms and self.choose.pick("index") == "running":
            step = form.coefficient(frame.counter)
            if step is not None and step.value(self.sizes) and len(form.terms) + form.const > 1:
                if form not in frame.running:
                    name = self.fresh("place")
                    first = form.put({frame.counter: frame.base})
                    frame.before.append(f"Let {name} be {self._spelled(first, scope)}.")
                    frame.after.append(self.changed(name, "+", self._spelled(step, scope)))
                    frame.running[form] = name
                return frame.running[form]
        return self._spelled(form, scope)

    def changed(self, name: str, op: str, by: str) -> str:
        if self.choose.pick("assign") == "+=":
            return f"{name} {op}= {by}."
        return f"Set {name} to {name} {op} {bracketed(by)}."

    # ---------------------------------------------------------------- loops

    def loop(
        self,
        out: Lines,
        var: str,
        extent: Poly,
        scope: Scope,
        body: Callable[[Lines, Scope], None],
        first: Poly | int = 0,
        any_order: bool = False,
    ) -> None:
        """A loop of `var` from `first` to below `extent` around what `body` writes."""
        base = int(self.choose.pick("counter").removeprefix("from "))
        down = any_order and self.choose.pick("direction") == "down"
        way = "While" if down else self.choose.pick("loop")
        name = self.counter(var, scope)
        self.types[name] = "Int"
        begin = poly(first) + base
        frame = Frame(name, begin)
        block: Lines = []
        known = frozenset({name})
        inner = replace(
            scope,
            counters={**scope.counters, var: poly(name) - base},
            frame=None if down else frame,
            levels=(*scope.levels, ((scope.levels[-1][0] if scope.levels else frozenset()) | known, block)),
            inner=scope.inner | known,
        )
        body(block, inner)
        last = self.extent(extent, scope, base - 1)
        start = self.integer(begin, scope) if begin.symbols() else str(begin.const)
        if way == "Repeat":
            out += [*frame.before, f"Repeat for {name} from {start} to {last}:", *indented(block + frame.after)]
        elif down:
            test = self.compared(">=", name, start)
            out += [f"Let {name} be {last}.", f"While {test}:", *indented([*block, self.changed(name, "-", "1")])]
        else:
            below = self.choose.pick("while") == "below"
            test = (
                self.compared("<", name, self.integer(extent + base, scope))
                if below
                else self.compared("<=", name, last)
            )
            step = self.changed(name, "+", "1")
            out += [*frame.before, f"Let {name} be {start}.", f"While {test}:"]
            out += indented([*block, *frame.after, step])

    def counter(self, var: str, scope: Scope) -> str:
        """A name that no other counter has, or one that a loop before had."""
        seen = scope.levels[-1][0] if scope.levels else frozenset[str]()
        if var not in self.taken | scope.inner | seen and self.choose.pick("counters") == "named again":
            self.names.setdefault(var, 1)
            return var
        return self.fresh(var)

    def compared(self, op: str, left: str, right: str) -> str:
        """A comparison; operands of looser binding than a sum stand in parentheses already."""
        match self.choose.pick("comparison"):
            case "words":
                word = {"<": "is less than", ">": "is greater than", "<=": "is at most", ">=": "is at least"}
                return f"{left} {word.get(op, {'==': 'equals', '!=': '!='}.get(op, op))} {right}"
            case "negated":
                other = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}[op]
                return f"not ({left} {other} {right})"
            case "turned":
                other = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}[op]
                return f"{right} {other} {left}"
            case _:
                return f"{left} {op} {right}"


def bracketed(text: str) -> str:
    """As an operand: in parentheses unless it is one word or wholly in parentheses."""
    if " " not in text or (text[0] == "(" and _closes(text) == len(text) - 1):
        return text
    return f"({text})"


def _closes(text: str) -> int:
    depth = 0
    for n, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return n
    return -1
