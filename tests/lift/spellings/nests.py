"""Definitions and updates, spelled as loops; and the whole program around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lift.spellings.building import Building
from lift.spellings.choose import Chooser
from lift.spellings.indices import Lines, Local, Scope, Writer
from lift.spellings.joined import joined
from lift.spellings.model import At, Bin, Def, Fold, Join, Poly, Problem, Scan, Step, Update, modulo, over, poly
from lift.spellings.parts import empty, reads, step_reads, tensors_of, typed
from lift.spellings.scanned import scanned
from lift.spellings.values import Values


def spell(problem: Problem, choose: Chooser, size: int) -> tuple[str, frozenset[str]]:
    """A program for the problem at one of its two sizes, and the inputs it indexes as one flat sequence."""
    measured = tuple(n for n, t in problem.inputs.items() if not t.weight)
    writer = Writer(choose, problem.sizes[size], measured)
    text = _Program(problem, writer).text()
    return text, frozenset(n for n in problem.inputs if writer.layouts[n] == "flat")


@dataclass
class _Program:
    problem: Problem
    writer: Writer
    values: Values = field(init=False)
    building: Building = field(init=False)

    def __post_init__(self) -> None:
        w, problem = self.writer, self.problem
        self.values = Values(w)
        self.building = Building(w, self.values)
        tensors = [d for s in problem.steps for d in tensors_of(s)]
        for name in (*problem.sizes[0], *problem.inputs, *problem.scalars, *(d.name for d in tensors)):
            w.names[name] = 1
        w.taken = frozenset(w.names)
        for name, table in problem.inputs.items():
            w.shapes[name], w.kinds[name] = table.shape, table.kind
            flat = len(table.shape) > 1 and not table.weight
            w.layouts[name] = w.choose.pick("layout") if flat else "nested"
            w.types[name] = typed(len(table.shape) if w.layouts[name] == "nested" else 1, table.kind)
        for d in tensors:
            shape = tuple(n for _, n in d.axes)
            w.shapes[d.name] = (*shape[:-1], shape[-1] * 2) if d.pairs else shape
            w.kinds[d.name] = d.kind
            w.layouts[d.name] = w.choose.pick("layout") if len(shape) > 1 else "nested"
            w.types[d.name] = typed(len(shape) if w.layouts[d.name] == "nested" else 1, d.kind)

    def text(self) -> str:
        main: Lines = [f"Let {name} be {expr}." for name, expr in self.problem.scalars.items()]
        for group in self.groups():
            self.group(main, group)
        w = self.writer
        natives = [f"## To native {n} (x: Float) -> Float" for n in sorted(w.natives)]
        return "\n".join([*natives, *w.functions, "## Main", *main]) + "\n"

    def groups(self) -> list[list[Step]]:
        """Steps to be written as one nest each: those with the same first axis, if drawn so and if it may be."""
        found: list[list[Step]] = []
        for step in self.ordered():
            if found and self._joins(found[-1], step) and self.writer.choose.pick("nests") == "merged":
                found[-1].append(step)
            else:
                found.append([step])
        return found

    def ordered(self) -> list[Step]:
        """The steps, each after those it reads; updates keep their place."""
        left = list(self.problem.steps)
        if any(isinstance(s, Update) for s in left) or self.writer.choose.pick("steps") == "as written":
            return left
        found: list[Step] = []
        while left:
            waiting = {d.name for s in left for d in tensors_of(s)}
            ready = [s for s in left if not any(r.tensor in waiting for r in step_reads(s))]
            found.append(ready[self.writer.choose.below(len(ready))])
            left.remove(found[-1])
        return found

    def _joins(self, group: list[Step], step: Step) -> bool:
        first = group[0]
        if not all(isinstance(s, Def) and s.axes and not s.pairs for s in (*group, step)) or not isinstance(first, Def):
            return False
        if first.axes[0] != step.axes[0]:
            return False
        var, made = first.axes[0][0], {s.name for s in group if isinstance(s, Def)}
        return all(not (r.tensor in made and r.at[0] != poly(var)) for v in step.values for r in reads(v))  # type: ignore[union-attr]

    # ---------------------------------------------------------------- nests

    def group(self, out: Lines, group: Sequence[Step]) -> None:
        scope = Scope(levels=((frozenset(), out),))
        match group:
            case [Update() as step]:
                self.update(out, step, scope)
            case [Scan() as step]:
                scanned(self.building, out, step, scope)
            case [Def() | Join() as step]:
                self.definition(out, step, scope)
            case _:
                self.merged(out, [s for s in group if isinstance(s, Def)], scope)

    def merged(self, out: Lines, group: list[Def], scope: Scope) -> None:
        """Several definitions in one loop over their first axis; those read only here may stay rows."""
        w = self.writer
        inside = {d.name for d in group}
        outside = {r.tensor for s in self.problem.steps if getattr(s, "name", "") not in inside for r in step_reads(s)}
        private = [
            d.name
            for d in group
            if d.name not in outside | set(self.problem.results) and w.choose.pick("private") == "row only"
        ]
        ways = {d.name: w.choose.pick("build", ("Push", "Set item of copies")) for d in group if d.name not in private}
        for d in group:
            if d.name in ways:
                self.opened(out, d, ways[d.name])

        def body(lines: Lines, inner: Scope) -> None:
            for d in group:
                axes, drop = d.axes[1:], 1
                if not axes:
                    text = self.values.value(d.values[0], inner, lines)
                    name = self.values.bound(text, d.kind, inner, lines)
                else:
                    name = w.fresh("row")
                    w.layouts[name] = w.layouts[d.name]
                    w.types[name] = typed(len(axes) if w.layouts[d.name] == "nested" else 1, d.kind)
                    part = replace(d, name=name, axes=axes)
                    w.shapes[name], w.kinds[name] = tuple(n for _, n in axes), d.kind
                    self.definition(lines, part, inner, top=False)
                inner = replace(inner, locals={**inner.locals, d.name: Local(name, drop)}, inner=inner.inner | {name})
                if d.name in ways:
                    self.closed(lines, d, ways[d.name], name, inner)

        var, extent = group[0].axes[0]
        w.loop(out, var, extent, scope, body)

    def opened(self, out: Lines, d: Def, way: str) -> None:
        """The sequence before the loop over the first axis."""
        if way == "Push":
            out.append(f"Let {d.name} be {empty(self.writer.layouts[d.name], len(d.axes), d.kind)}.")
        else:
            out.append(f"Let {d.name} be {self.building.copies(d)}.")

    def closed(self, lines: Lines, d: Def, way: str, part: str, scope: Scope) -> None:
        """One item or row of the first axis is put in its place."""
        w = self.writer
        var = poly(d.axes[0][0]).put(scope.counters)
        flat = w.layouts[d.name] == "flat" and len(d.axes) > 1
        if not flat:
            if way == "Push":
                lines.append(f"Push {part} to {d.name}.")
            else:
                lines.append(f"Set {w.item(d.name, [var], scope)} to {part}.")
            return
        length = poly(1)
        for _, n in d.axes[1:]:
            length = length * n

        def step(inner_lines: Lines, inner: Scope) -> None:
            q = poly("q").put(inner.counters)
            value = w.item(part, [q], inner)
            if way == "Push":
                inner_lines.append(f"Push {value} to {d.name}.")
            else:
                inner_lines.append(f"Set {w.item(d.name, [var * length + q], inner)} to {value}.")

        w.loop(lines, "q", length, scope, step)

    def definition(self, out: Lines, d: Def | Join, scope: Scope, top: bool = True) -> None:
        w = self.writer
        if not d.axes:
            text = self.values.value(d.values[0], scope, out)
            out.append(f"Let {d.name} be {text}.")
            return
        if top and w.choose.pick("result") == "a copy":
            name = w.fresh("made")
            w.layouts[name], w.shapes[name], w.kinds[name] = w.layouts[d.name], w.shapes[d.name], d.kind
            w.types[name] = w.types[d.name]
            self.bound(out, replace(d, name=name), scope, top=False)
            out.append(f"Let {d.name} be copy of {name}.")
        else:
            self.bound(out, d, scope, top)

    def bound(self, out: Lines, d: Def | Join, scope: Scope, top: bool) -> None:
        """A definition in place, or by a function that returns it or changes it."""
        w = self.writer
        how = w.choose.pick("definition")
        if how != "in Main":
            name = w.fresh("result")
            w.layouts[name], w.shapes[name], w.kinds[name] = w.layouts[d.name], w.shapes[d.name], d.kind
            made = replace(d, name=name)
            if top and w.choose.pick("arguments") == "passed":
                given = {r.tensor for v in d.values for r in reads(v)} & set(w.types)
                scope = replace(scope, inner=scope.inner | given)

            def write(lines: Lines, inner: Scope) -> str:
                self.loops(lines, made, replace(inner, levels=((inner.levels[0][0], lines),)))
                return name

            if how == "a function that changes it":
                self.changing(out, d, made, scope, write)
                return
            call = self.values.function("made", w.types.get(d.name, "Seq of Float"), scope, write)
            out.append(f"Let {d.name} be {call}.")
        else:
            self.loops(out, d, scope)

    def changing(
        self, out: Lines, d: Def | Join, made: Def | Join, scope: Scope, write: Callable[[Lines, Scope], str]
    ) -> None:
        """The sequence begun by the caller, and finished by a function with a mutable parameter."""
        w = self.writer
        call = self.values.function("finished", "", scope, write)
        mine = max(n for n, t in enumerate(w.functions) if t.startswith("## To finished"))
        begun = next(n for n in range(mine, len(w.functions)) if w.functions[n].startswith(f"    Let {made.name} be "))
        out.append(f"Let {d.name} be {w.functions[begun].split(' be ', 1)[1]}")
        head = w.functions[mine].split(" -> ")[0]
        depth = len(d.axes) if w.layouts[d.name] == "nested" else 1
        param = f"{made.name}: mutable {typed(depth, d.kind)}"
        w.functions[mine] = head.replace("()", f"({param}):") if "()" in head else f"{head[:-1]}, {param}):"
        w.functions = [
            t for n, t in enumerate(w.functions) if n != begun and not (n > mine and t == f"    Return {made.name}.")
        ]
        out.append(call.replace("()", f"({d.name}).") if "()" in call else f"{call[:-1]}, {d.name}).")

    # ---------------------------------------------------------------- one definition

    def loops(self, out: Lines, d: Def | Join, scope: Scope) -> None:
        w = self.writer
        scope = replace(scope, inner=scope.inner | ({d.name} if scope.inner else set()))
        if isinstance(d, Join):
            joined(self.building, out, d, scope)
            return
        if d.pairs == "far" and w.choose.pick("build") == "Push":
            self.building.pushed(out, d, scope)
            return
        summed = d.values[0] if not d.pairs and isinstance(d.values[0], Fold) else None
        if summed and summed.op == "+" and w.choose.pick("accumulator") == "in the item":
            self.in_item(out, d, summed, scope)
            return
        way = "Set item of copies" if d.pairs == "far" else w.choose.pick("build")
        if way == "Push":
            self.building.pushed(out, d, scope)
            return
        self.building.filled(out, d, way, scope)
        self.nest(out, d, list(d.axes), scope, w.choose.pick("order") == "permuted")

    def nest(self, out: Lines, d: Def, axes: list[tuple[str, Poly]], scope: Scope, permute: bool) -> None:
        """Loops that set every item, in any order."""
        order = [axes[n] for n in self.writer.choose.shuffled(axes)] if permute else axes

        def inner(lines: Lines, at: Scope, left: list[tuple[str, Poly]]) -> None:
            if len(left) > 1 and self.writer.choose.pick("axes") == "one counter":
                self.together(lines, left, at, inner)
                return
            if left:
                (var, extent), *rest = left
                self.writer.loop(lines, var, extent, at, lambda ls, s: inner(ls, s, rest), any_order=True)
                return
            for n, value in enumerate(d.values):
                text = self.values.value(value, at, lines)
                lines.append(f"Set {self.building.target(d, n, at)} to {text}.")

        inner(out, scope, order)

    def together(
        self,
        out: Lines,
        axes: list[tuple[str, Poly]],
        scope: Scope,
        inner: Callable[[Lines, Scope, list[tuple[str, Poly]]], None],
    ) -> None:
        """Two axes by one counter, taken apart by division."""
        (one, high), (other, low), *rest = axes

        def body(lines: Lines, at: Scope) -> None:
            k = at.counters["k"]
            both = {one: over(k, low), other: modulo(k, low)}
            inner(lines, replace(at, counters={**at.counters, **both}), rest)

        self.writer.loop(out, "k", high * low, scope, body, any_order=True)

    def in_item(self, out: Lines, d: Def, e: Fold, scope: Scope) -> None:
        """A sum gathered in the item itself, the loop of the reduction anywhere."""
        w = self.writer
        self.building.filled(out, d, w.choose.pick("build", ("Set item of copies", "Set item of pushed")), scope)
        free = not ((e.box or e.extent).symbols() & {v for v, _ in d.axes})
        axes = [*d.axes, (e.var, e.extent)]
        order = w.choose.shuffled(axes) if free and w.choose.pick("order") == "permuted" else list(range(len(axes)))

        def inner(lines: Lines, at: Scope, left: list[int]) -> None:
            if not left:
                term = self.values.value(e.term, at, lines)
                self.values.gathered(lines, "+", self.building.target(d, 0, at), term)
            elif axes[left[0]][0] == e.var:
                self.values.over(lines, e, at, lambda ls, s: inner(ls, s, left[1:]))
            else:
                var, extent = axes[left[0]]
                w.loop(lines, var, extent, at, lambda ls, s: inner(ls, s, left[1:]), any_order=True)

        if (e.tests or e.box is not None) and order[-1] != len(axes) - 1:
            order = list(range(len(axes)))  # a condition of the reduction may name any axis
        inner(out, scope, order)

    # ---------------------------------------------------------------- updates

    def update(self, out: Lines, u: Update, scope: Scope) -> None:
        w = self.writer
        shape = self.problem.inputs[u.table].shape

        def write(lines: Lines, at: Scope) -> None:
            index = [a.put(at.counters) for a in u.at]
            match u.value:
                case Bin("+", At(table, same), term) if table == u.table and same == u.at:
                    text = self.values.value(term, at, lines)
                    self.values.gathered(lines, "+", self.building.place(u.table, shape, index, at), text)
                case _:
                    text = self.values.value(u.value, at, lines)
                    lines.append(f"Set {self.building.place(u.table, shape, index, at)} to {text}.")

        def inner(lines: Lines, at: Scope, left: Sequence[tuple[str, Poly]]) -> None:
            if left:
                w.loop(lines, *left[0], at, lambda ls, s: inner(ls, s, left[1:]))
            elif u.tests:
                self.values.guarded(lines, u.tests, at, write)
            else:
                write(lines, at)

        inner(out, scope, u.axes)
