"""Running values, spelled: loops in their order, what they keep up to date, and what is stored of it on the way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lift.spellings.building import Building
from lift.spellings.indices import Lines, Scope
from lift.spellings.model import Def, Kept, Poly, Running, Scan, modulo, over, poly
from lift.spellings.parts import empty, tensors_of, typed


def scanned(building: Building, out: Lines, scan: Scan, scope: Scope) -> None:
    """The sequences, the running values and the loops."""
    _Scanned(building, scan).spell(out, scope)


@dataclass
class _Scanned:
    building: Building
    scan: Scan
    ways: dict[str, str] = field(default_factory=dict[str, str])
    rows: dict[str, str] = field(default_factory=dict[str, str])
    """For each tensor that is pushed, the sequence that the items or rows of this place are pushed to."""
    outside: dict[str, str] = field(default_factory=dict[str, str])
    """Running values that are bound before the outermost loop and set where they begin."""

    def spell(self, out: Lines, scope: Scope) -> None:
        w = self.building.writer
        for d in self.tensors():
            way = self.ways[d.name] = w.choose.pick("build")
            if way == "Push":
                out.append(f"Let {d.name} be {empty(w.layouts[d.name], len(d.axes), d.kind)}.")
                self.rows[d.name] = d.name
            else:
                self.building.filled(out, d, way, scope)
        for r in self.scan.running:
            if r.begins and w.choose.pick("accumulator", ("inside", "outside")) == "outside":
                name = self.outside[r.name] = w.fresh(r.name)
                out.append(f"Let {name} be {'0' if r.kind == 'Int' else '0.0'}.")
        inner = self.level(out, 0, scope)
        for k in self.scan.kept:
            if k.level == 0:
                out.append(f"Let {k.name} be {self.building.values.value(k.value, inner, out)}.")

    def tensors(self) -> list[Def]:
        return [d for d in tensors_of(self.scan) if isinstance(d, Def) and d.axes]

    # ---------------------------------------------------------------- levels

    def level(self, out: Lines, n: int, scope: Scope) -> Scope:
        """What stands inside the first `n` loops; what is known at its end."""
        values, loops = self.building.values, self.scan.loops
        for r in self.scan.running:
            if r.begins == n:
                scope = self.begun(out, r, scope)
        waiting = [(k, self.early(out, k, scope)) for k in self.scan.kept if k.early and k.level == n > 0]
        if n < len(loops):
            if self.by_one(n):
                self.together(out, n, scope)
            else:
                self.building.writer.loop(out, *loops[n], scope, lambda ls, s: self.inside(ls, n, s))
        for r in self.scan.running:
            if r.level == n:
                self.changed(out, r, scope)
        for k, text in waiting:
            if text:
                self.store(out, k, text, scope)
        for k in self.scan.kept:
            if not k.early and k.level == n > 0:
                self.store(out, k, values.value(k.value, scope, out), scope)
        return scope

    def inside(self, out: Lines, n: int, scope: Scope) -> None:
        """The body of loop `n`: rows are begun before and pushed after what stands deeper."""
        w = self.building.writer
        opened: list[tuple[Def, str, str]] = []
        for d in self.tensors():
            left = len(d.axes) - n - 1
            if self.ways[d.name] == "Push" and left > 0 and w.layouts[d.name] == "nested":
                into, row = self.rows[d.name], w.fresh("part")
                w.types[row] = typed(left, d.kind)
                out.append(f"Let {row} be {empty('nested', left, d.kind)}.")
                opened.append((d, into, row))
                self.rows[d.name] = row
        self.level(out, n + 1, scope)
        for d, into, row in opened:
            out.append(f"Push {row} to {into}.")
            self.rows[d.name] = into

    def by_one(self, n: int) -> bool:
        """Whether two loops may be one: nothing begins, ends or is kept between them, and no row is pushed."""
        w, scan = self.building.writer, self.scan
        between = n + 1
        if between >= len(scan.loops) or {v for v, _ in scan.loops} & scan.loops[between][1].symbols():
            return False
        if any(r.begins == between or r.level == between for r in scan.running):
            return False
        if any(k.level == between for k in scan.kept):
            return False
        nested = [d for d in self.tensors() if len(d.axes) > between and w.layouts[d.name] == "nested"]
        if any(self.ways[d.name] == "Push" for d in nested):
            return False
        return w.choose.pick("axes") == "one counter"

    def together(self, out: Lines, n: int, scope: Scope) -> None:
        (one, high), (other, low) = self.scan.loops[n : n + 2]

        def body(lines: Lines, at: Scope) -> None:
            k = at.counters["k"]
            both: dict[str, Poly] = {one: over(k, low), other: modulo(k, low)}
            self.level(lines, n + 2, replace(at, counters={**at.counters, **both}))

        self.building.writer.loop(out, "k", high * low, scope, body)

    # ---------------------------------------------------------------- running values

    def begun(self, out: Lines, r: Running, scope: Scope) -> Scope:
        w = self.building.writer
        start = self.building.values.value(r.start, scope, out)
        if r.name in self.outside:
            name = self.outside[r.name]
            out.append(f"Set {name} to {start}.")
        else:
            name = w.fresh(r.name)
            out.append(f"Let {name} be {start}.")
        w.types[name] = r.kind
        return replace(scope, params={**scope.params, r.name: name}, inner=scope.inner | {name})

    def changed(self, out: Lines, r: Running, scope: Scope) -> None:
        values = self.building.values

        def step(lines: Lines, at: Scope) -> None:
            values.gathered(lines, r.op, at.params[r.name], values.value(r.term, at, lines))

        if r.tests:
            values.guarded(out, r.tests, scope, step)
        else:
            step(out, scope)

    # ---------------------------------------------------------------- what is kept

    def early(self, out: Lines, k: Kept, scope: Scope) -> str:
        """Stores what is kept before anything changes; or binds it, to be stored at the end."""
        text = self.building.values.value(k.value, scope, out)
        if self.building.writer.choose.pick("early") == "remembered":
            return self.building.values.bound(text, k.kind, scope, out)
        self.store(out, k, text, scope)
        return ""

    def store(self, out: Lines, k: Kept, text: str, scope: Scope) -> None:
        if self.ways[k.name] == "Push":
            out.append(f"Push {text} to {self.rows[k.name]}.")
            return
        w = self.building.writer
        index = [poly(v).put(scope.counters) for v, _ in self.scan.loops[: k.level]]
        out.append(f"Set {self.building.place(k.name, w.shapes[k.name], index, scope)} to {text}.")
