"""Programs of no family: statements drawn freely over states, sequences, numbers and places known only at run time.

What they compute has no use, and many are rightly refused: they ask for what nobody thought of. Indices are drawn so
that they are in range; a program may still overflow or leave a declared range on some inputs, which then do not count.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from lifting import Array, Facts, Table, agree, flat_tables, lifted, parse

from spatial.errors import SourceError
from spatial.logos.interpret import Seq, interpret

WAYS = 6
"""Inputs of one program: integers at both ends of their ranges and drawn, floats with ties and without."""

LARGE = 2.0**53


@dataclass(frozen=True)
class Drawn:
    """A program with its sizes and tables, and the names that are read from outside."""

    source: str
    facts: Facts
    results: tuple[str, ...]


def draw(seed: int) -> Drawn:
    return _Writer(random.Random(seed)).program()


def judged(drawn: Drawn) -> str:
    """ "" where it lifts to what it computes, a reason where it is refused; raises where it lifts to something else."""
    program = parse(drawn.source, "loose.lg")
    found = lifted(program, drawn.facts, drawn.results)
    if found.graph is None:
        return "; ".join(dict.fromkeys(m.why for m in found.missing))
    flat = flat_tables(program, drawn.facts)
    for way in range(WAYS):
        tables = _inputs(drawn.facts, way)
        given = {name: (v.ravel() if name in flat else v).tolist() for name, v in tables.items()}
        try:
            ran = interpret(program, {**drawn.facts.sizes, **given}, output=lambda _: None)
        except SourceError:
            continue
        left = (*drawn.results, *(name for name, t in drawn.facts.tables.items() if t.state))
        if any(_large(ran.variables[name]) for name in left):
            continue
        agree(program, drawn.facts, tables, drawn.results, graph=found.graph)
    return ""


def _large(value: object) -> bool:
    """Whether a value is beyond what the graph's evaluation holds exactly, or no number."""
    try:
        found = np.array(value.to_array() if isinstance(value, Seq) else value, dtype=float)
    except OverflowError:
        return True
    return not bool(np.all(np.abs(found) < LARGE))


def _inputs(known: Facts, way: int) -> dict[str, Array]:
    rng = np.random.default_rng(way)
    found: dict[str, Array] = {}
    for name, t in known.tables.items():
        dims = tuple(d or 0 for d in t.dims or ())
        if t.kind == "int":
            low, high = t.range or (-9, 9)
            found[name] = np.full(dims, (low, high)[way]) if way < 2 else rng.integers(low, high + 1, dims)
        else:
            found[name] = rng.integers(-2, 3, dims).astype(float) if way % 2 else rng.normal(size=dims)
    return found


@dataclass(frozen=True)
class _Sequence:
    kind: str
    dims: tuple[int, ...]
    written: bool = True


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    depth: int = 0
    loops: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    """Variables of the loops around, each with the least and the greatest value it has."""
    sequences: dict[str, _Sequence] = field(default_factory=dict[str, _Sequence])
    numbers: dict[str, str] = field(default_factory=dict[str, str])
    functions: list[str] = field(default_factory=list[str])
    """Functions of a Float and an Int."""
    names: int = 0

    def program(self) -> Drawn:
        r = self.rng
        n, m = r.choice((1, 2, 3, 4, 5, 6, 7, 9)), r.choice((1, 2, 3, 4))
        tables = {
            "x": Table((n,), "float"),
            "w": Table((m,), "float"),
            "z": Table((n, m), "float"),
            "q": Table((n,), "int", (-5, 5)),
            "ids": Table((n,), "int", (0, n - 1)),
            "count": Table((1,), "int", (0, n)),
            "place": Table((1,), "int", (1, n)),
            "s": Table((n,), "float", state=True),
            "rows": Table((n, m), "float", state=True),
            "si": Table((m,), "int", (-50, 50), True),
        }
        self.sequences = {
            name: _Sequence(t.kind, tuple(d or 0 for d in t.dims or ()), t.state)
            for name, t in tables.items()
            if name not in ("ids", "count", "place")
        }
        self.n, self.m = n, m
        given = set(self.sequences)
        for _ in range(r.choice((0, 0, 1, 2))):
            self.function()
        self.put("## Main")
        kinds = (self.loop, self.loop, self.loop, self.total, self.pushed, self.windowed, self.copied, self.block)
        for _ in range(r.randint(1, 4)):
            r.choice(kinds)()
        made = [name for name in (*self.sequences, *self.numbers) if name not in given]
        if not made:
            self.put("Let y be 1.")
            made = ["y"]
        results = tuple(sorted(r.sample(made, min(len(made), 2))))
        return Drawn("\n".join(self.lines) + "\n", Facts({"n": n, "m": m}, tables), results)

    # ---------------------------------------------------------------- statements

    def put(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def within(self, head: str, body: Callable[[], None]) -> None:
        self.put(head)
        self.depth += 1
        body()
        self.depth -= 1

    def function(self) -> None:
        """A function that returns here in some cases and there in others."""
        r, name = self.rng, self.new("f")
        self.put(f"## To {name} (a: Float, k: Int) -> Float:")
        self.depth = 1

        def number(depth: int) -> str:
            if depth and r.random() < 0.6:
                return f"({number(depth - 1)} {r.choice('+-*')} {number(depth - 1)})"
            return r.choice(("a", "b", "b", "0.5", "x[1]", "w[k % m + 1]"))

        def test() -> str:
            return r.choice(
                (f"{number(1)} > {number(0)}", f"k {r.choice(('==', '<', '>'))} {r.randint(0, 4)}", "q[1] > 0")
            )

        def left() -> None:
            if r.random() < 0.4:
                self.put(f"Set b to {number(2)}.")
            if r.random() < 0.3 and self.depth < 4:
                branches()
            if r.random() < 0.7:
                self.put(f"Return {number(2)}.")
            else:
                self.put(f"Set b to {number(2)}.")

        def branches() -> None:
            self.within(f"If {test()}:", left)
            if r.random() < 0.3:
                self.within(f"Otherwise If {test()}:", left)
            if r.random() < 0.4:
                self.within("Otherwise:", left)

        self.put(f"Let b be {r.choice(('a', 'a * 0.5', '1.0'))}.")
        for _ in range(r.choice((1, 2, 2))):
            branches()
        self.put(f"Return {number(2)}.")
        self.depth = 0
        self.lines.append("")
        self.functions.append(name)

    def over(self, body: Callable[[], None], trips: int | None = None) -> None:
        """A loop around `body`, up or by a counter."""
        r, v = self.rng, self.new("i")
        low = r.choice((0, 1, 1, 1, 2)) if trips is None else 1
        high = r.choice((self.n, self.m, self.n, low, 3)) if trips is None else trips
        if high < low:
            high = low

        def inside() -> None:
            self.loops.append((v, low, high))
            body()
            self.loops.pop()

        if r.random() < 0.85:
            self.within(f"Repeat for {v} from {low} to {high}:", inside)
            return
        self.put(f"Let {v} be {low}.")

        def counted() -> None:
            inside()
            self.put(f"Set {v} to {v} + 1.")

        self.within(f"While {v} <= {high}:", counted)

    def loop(self) -> None:
        self.over(self.statements)

    def statements(self) -> None:
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.statement()

    def statement(self) -> None:
        chance = self.rng.random()
        if chance < 0.15 and len(self.loops) < 2:
            self.loop()
        elif chance < 0.35 and self.depth < 4:
            self.within(f"If {self.condition()}:", self.item)
            if self.rng.random() < 0.4:
                self.within("Otherwise:", self.item)
        else:
            self.item()

    def item(self) -> None:
        """An item is set, or added to."""
        r = self.rng
        name = r.choice([n for n, t in self.sequences.items() if t.written])
        target = self.sequences[name]
        place = name + "".join(f"[{self.index(d)}]" for d in target.dims)
        value = self.value(target.kind, 2)
        way = r.random()
        if way < 0.1:
            self.put(f"Set {place} to {value}.")
            test = f"{place} {r.choice('<>')} {r.choice((self.value(target.kind, 0), value))}"
            self.within(f"If {test}:", lambda: self.put(f"Set {place} to {self.value(target.kind, 1)}."))
        elif way < 0.45:
            self.put(f"Set {place} to {value}.")
        elif way < 0.8:
            self.put(f"Set {place} to {place} {r.choice('++-*')} {value}.")
        else:
            self.put(f"Set {place} to {r.choice(('max', 'min'))}({place}, {value}).")

    def total(self) -> None:
        """A number kept up to date by a loop."""
        r, name, kind = self.rng, self.new("v"), self.rng.choice(("int", "float", "float"))
        self.put(f"Let {name} be {self.value(kind, 0)}.")

        def change() -> None:
            value = self.value(kind, 2)
            made = (f"{name} + {value}", f"{name} - {value}", f"max({name}, {value})", f"min({name}, {value})", value)
            step = f"Set {name} to {r.choice(made)}."
            if r.random() < 0.4:
                self.within(f"If {self.condition()}:", lambda: self.put(step))
            else:
                self.put(step)

        def body() -> None:
            for _ in range(r.choice((1, 1, 2))):
                change()

        self.over(body)
        self.numbers[name] = kind

    def pushed(self) -> None:
        """A sequence that grows by a loop."""
        r, name, kind = self.rng, self.new("a"), self.rng.choice(("int", "float", "float"))
        self.put(f"Let {name} be a new Seq of {kind.title()}.")
        trips = r.choice((self.n, self.m))
        self.over(lambda: self.put(f"Push {self.value(kind, 2)} to {name}."), trips)
        self.sequences[name] = _Sequence(kind, (trips,))

    def windowed(self) -> None:
        """Of each item of a sequence its neighbours, as far as there are any."""
        r, name, v, u, p, t = self.rng, self.new("a"), self.new("i"), self.new("i"), self.new("p"), self.new("v")
        reach, step = r.choice((1, 2)), r.choice(("x[{}]", "x[{}] * x[{}]", "(x[{}] - 0.5)", "s[{}]"))
        self.put(f"Let {name} be a new Seq of Float.")

        def term() -> None:
            shared = r.choice(("", "", "sqrt(abs(w[1]))", f"w[({u} + 2) % m + 1]", f"x[{v}]"))
            found = step.replace("{}", p) + (f" * {shared}" if shared else "")
            self.put(f"Set {t} to {r.choice((f'{t} + {found}', f'{t} + {found}', f'max({t}, {found})'))}.")

        def inside() -> None:
            self.put(f"Let {p} be {r.choice((f'{v} + {u}', f'{u} + {v}'))}.")
            guard = f"If {p} >= 1 and {p} <= n:"
            way = r.random()
            if way < 0.5:
                self.within(guard, term)
            elif way < 0.75:
                self.put(f"Set {p} to max(1, min(n, {p})).")
                term()
            else:
                self.within(f"If {p} >= 1:", lambda: self.within(f"If {p} <= n:", term))

        def body() -> None:
            self.put(f"Let {t} be 0.0.")
            self.within(f"Repeat for {u} from {-reach} to {r.choice((reach, 0))}:", inside)
            self.put(f"Push {t} to {name}.")

        self.within(f"Repeat for {v} from 1 to n:", body)
        self.sequences[name] = _Sequence("float", (self.n,))

    def copied(self) -> None:
        """A copy, a name of the same value, or one sequence behind another."""
        name, of = self.new("c"), self.rng.choice(list(self.sequences))
        first = self.sequences[of]
        behind = [a for a, t in self.sequences.items() if t.kind == first.kind and len(t.dims) == len(first.dims) == 1]
        if behind and self.rng.random() < 0.3:
            other = self.rng.choice(behind)
            self.put(f"Let {name} be {of} followed by {other}.")
            self.sequences[name] = _Sequence(first.kind, (first.dims[0] + self.sequences[other].dims[0],))
            return
        self.put(f"Let {name} be {self.rng.choice(('copy of ', 'copy of ', ''))}{of}.")
        self.sequences[name] = _Sequence(self.sequences[of].kind, self.sequences[of].dims)

    def block(self) -> None:
        """A loop that hands sequences on."""
        r = self.rng
        of = r.choice([n for n, t in self.sequences.items() if t.kind == "float" and len(t.dims) == 1])
        like = self.sequences[of]
        one, other, new = self.new("h"), self.new("h"), self.new("t")
        self.put(f"Let {one} be {of}.")
        self.put(f"Let {other} be copy of {of}.")
        self.sequences |= {one: _Sequence("float", like.dims), other: _Sequence("float", like.dims)}

        def body() -> None:
            self.put(f"Let {new} be a new Seq of Float.")
            (extent,) = like.dims
            self.over(
                lambda: self.put(f"Push {one}[{self.index(extent)}] * 0.5 + {self.value('float', 1)} to {new}."), extent
            )
            if r.random() < 0.3:
                self.item()
            if r.random() < 0.4:
                self.put(f"Set {other} to {one}.")
            self.put(f"Set {one} to {new}.")

        self.over(body, r.choice((1, 2, 3)))

    # ---------------------------------------------------------------- expressions

    def index(self, extent: int) -> str:
        """A place of a sequence of so many items."""
        found: list[str] = []
        for v, low, high in self.loops:
            forms = [(v, low, high), (f"{v} + 1", low + 1, high + 1), (f"{v} - 1", low - 1, high - 1)]
            forms += [(f"{extent + 1} - {v}", extent + 1 - high, extent + 1 - low), (f"2 * {v}", 2 * low, 2 * high)]
            forms += [(f"{v} / {d} + 1", low // d + 1, high // d + 1) for d in (2, 3)]
            forms += [(f"{v} % {d} + 1", 1, d) for d in (2, 3, extent)]
            forms += [(f"ids[{v}] + 1", 1, self.n)] if low >= 1 and high <= self.n else []
            forms += [(f"({v} + {u}) % {extent} + 1", 1, extent) for u, _, _ in self.loops if u != v]
            found += [text for text, first, last in forms if first >= 1 and last <= extent]
        if extent == self.n:
            found += ["place[1]", "max(1, count[1])"]
        if not found or self.rng.random() < 0.15:
            return str(self.rng.randint(1, extent))
        return self.rng.choice(found)

    def value(self, kind: str, depth: int) -> str:
        r = self.rng
        if depth and r.random() < 0.5:
            one, other = self.value(kind, depth - 1), self.value(kind, depth - 1)
            if kind == "int" and r.random() < 0.2:
                return f"({one} {r.choice(('%', '/', '//'))} {r.choice((2, 3, -3))})"
            if r.random() < 0.1:
                return f"({one}) ** {r.choice((0, 1, 2, 3))}" if kind == "int" else f"abs({one})"
            if kind == "float" and self.functions and r.random() < 0.4:
                return f"{r.choice(self.functions)}({one}, {r.choice(('1', *(v for v, _, _ in self.loops)))})"
            return r.choice((f"({one} + {other})", f"({one} - {other})", f"max({one}, {other})", f"({one} * {other})"))
        choices: Sequence[Callable[[], str | None]] = (
            lambda: r.choice(("0", "1", "-2", "3") if kind == "int" else ("0.0", "1.0", "-2.0", "0.5")),
            lambda: r.choice([v for v, _, _ in self.loops]) if kind == "int" and self.loops else None,
            lambda: next((v for v, k in self.numbers.items() if k == kind), None),
            lambda: self.read(kind),
            lambda: self.read(kind),
            lambda: self.read(kind),
        )
        while True:
            found = r.choice(choices)()
            if found is not None:
                return found

    def read(self, kind: str) -> str:
        name = self.rng.choice([n for n, t in self.sequences.items() if t.kind == kind])
        return name + "".join(f"[{self.index(d)}]" for d in self.sequences[name].dims)

    def condition(self) -> str:
        r = self.rng
        found = [f"{self.read('float')} > {r.choice(('0.2', '0.0', self.read('float')))}", "count[1] > 1"]
        for v, low, high in self.loops:
            at = r.randint(low, high + 1)
            found += [f"{v} {r.choice(('==', '!=', '<=', '>'))} {at}", f"{v} <= count[1]", f"{v} % 2 == {at % 2}"]
        return r.choice(found)
