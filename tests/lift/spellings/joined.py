"""Sequences of parts in a row, spelled: loops of run-time counts that push or set, parts joined, or chosen by place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lift.spellings.building import Building
from lift.spellings.indices import Lines, Scope, indented
from lift.spellings.model import At, Join, Part, Poly, poly
from lift.spellings.parts import empty, typed

Body = Callable[[Lines, Scope], None]


def joined(building: Building, out: Lines, d: Join, scope: Scope) -> None:
    """A sequence of parts; joined or chosen only where no caller begins it."""
    w, spelled = building.writer, _Joined(building, d)
    allowed = ["pushed"]
    if not w.handed and w.layouts[d.name] == "nested":
        allowed.append("followed by")
    if not d.rows and d.length == d.room:
        allowed.append("chosen")
    match w.choose.pick("parts", allowed):
        case "followed by":
            spelled.followed(out, scope)
        case "chosen":
            spelled.chosen(out, scope)
        case _ if w.choose.pick("build", ("Push", "Set item of copies")) == "Push":
            spelled.begun(out, d.name)
            for part in d.parts:
                spelled.pushed(out, part, d.name, scope)
        case _:
            spelled.filled(out, scope)


@dataclass(frozen=True)
class _Joined:
    building: Building
    join: Join

    def begun(self, out: Lines, name: str) -> None:
        rank = 1 + len(self.join.rows)
        out.append(f"Let {name} be {empty(self.building.writer.layouts[name], rank, self.join.kind)}.")

    def each(self, out: Lines, part: Part, scope: Scope, body: Body) -> None:
        """The loop of a part; none around a single item."""
        if part.var:
            self.building.writer.loop(out, part.var, part.extent, scope, body, part.first)
        else:
            body(out, scope)

    def over_row(self, out: Lines, scope: Scope, body: Body) -> None:
        ((var, extent),) = self.join.rows
        self.building.writer.loop(out, var, extent, scope, body)

    # ---------------------------------------------------------------- pushed, or joined

    def pushed(self, out: Lines, part: Part, into: str, scope: Scope) -> None:
        flat = self.building.writer.layouts[self.join.name] == "flat"

        def item(lines: Lines, at: Scope) -> None:
            lines.append(f"Push {self.building.values.value(part.value, at, lines)} to {into}.")

        def row(lines: Lines, at: Scope) -> None:
            if not self.join.rows:
                item(lines, at)
            elif flat:
                self.over_row(lines, at, item)
            else:
                lines.append(f"Push {self.row(lines, part, at)} to {into}.")

        self.each(out, part, scope, row)

    def row(self, out: Lines, part: Part, scope: Scope) -> str:
        """A row of its own, or a row of a table as it is."""
        w, ((var, _),) = self.building.writer, self.join.rows
        match part.value:
            case At(tensor, (*before, last)) if before and last == poly(var) and w.layouts[tensor] == "nested":
                if w.choose.pick("row") == "whole":
                    return w.read(tensor, tuple(before), scope)
            case _:
                pass
        name = w.fresh("part")
        w.types[name] = typed(1, self.join.kind)
        out.append(f"Let {name} be {empty('nested', 1, self.join.kind)}.")

        def item(lines: Lines, at: Scope) -> None:
            lines.append(f"Push {self.building.values.value(part.value, at, lines)} to {name}.")

        self.over_row(out, scope, item)
        return name

    def followed(self, out: Lines, scope: Scope) -> None:
        """Every part a sequence of its own, one followed by the next."""
        w = self.building.writer
        names: list[str] = []
        for part in self.join.parts:
            name = w.fresh("piece")
            w.layouts[name] = "nested"
            self.begun(out, name)
            self.pushed(out, part, name, scope)
            names.append(name)
        out.append(f"Let {self.join.name} be {' followed by '.join(names)}.")

    # ---------------------------------------------------------------- set, or chosen

    def filled(self, out: Lines, scope: Scope) -> None:
        """Copies of zero, set part by part at places counted on."""
        w, d = self.building.writer, self.join
        shape = (d.room, *(n for _, n in d.rows))
        out.append(f"Let {d.name} be {self.building.copies(d)}.")
        begins = poly(0)
        for part in d.parts:
            place = begins + (poly(part.var) - part.first if part.var else 0)

            def item(lines: Lines, at: Scope, part: Part = part, place: Poly = place) -> None:
                text = self.building.values.value(part.value, at, lines)
                index = [i.put(at.counters) for i in (place, *(poly(v) for v, _ in d.rows))]
                lines.append(f"Set {self.building.place(d.name, shape, index, at)} to {text}.")

            def row(lines: Lines, at: Scope, part: Part = part, place: Poly = place, item: Body = item) -> None:
                if not d.rows:
                    item(lines, at)
                elif w.layouts[d.name] == "flat" or w.choose.pick("row") == "item by item":
                    self.over_row(lines, at, item)
                else:
                    text = self.row(lines, part, at)
                    lines.append(f"Set {w.item(w.use(d.name, at), [place.put(at.counters)], at)} to {text}.")

            self.each(out, part, scope, row)
            begins = begins + part.length

    def chosen(self, out: Lines, scope: Scope) -> None:
        """One loop over all places, branches that tell the parts apart."""
        w, d = self.building.writer, self.join
        set_item = w.choose.pick("build", ("Push", "Set item of copies")) != "Push"
        if set_item:
            out.append(f"Let {d.name} be {self.building.copies(d)}.")
        else:
            self.begun(out, d.name)

        def body(lines: Lines, at: Scope) -> None:
            place = at.counters["place"]
            name = w.fresh("v")
            w.types[name] = d.kind
            lines.append(f"Let {name} be {'0' if d.kind == 'Int' else '0.0'}.")
            self.branches(lines, at, name, d.parts, poly(0))
            if set_item:
                lines.append(f"Set {self.building.place(d.name, (d.room,), [place], at)} to {name}.")
            else:
                lines.append(f"Push {name} to {d.name}.")

        w.loop(out, "place", d.room, scope, body)

    def branches(self, out: Lines, scope: Scope, name: str, parts: tuple[Part, ...], begins: Poly) -> None:
        """The value of the part that a place is in, as if these parts were all."""
        w, (part, *rest) = self.building.writer, parts
        block: Lines = []
        known = scope.levels[-1][0] if scope.levels else frozenset[str]()
        place = poly("place") - begins + part.first
        counters = {**scope.counters, part.var: place.put(scope.counters)} if part.var else scope.counters
        inside = replace(scope, counters=counters, levels=((known, block),), frame=None)
        text = self.building.values.value(part.value, inside, block)
        block.append(f"Set {name} to {text}.")
        if not rest:
            out += block
            return
        ends = begins + part.length
        test = w.compared("<", w.operand(poly("place"), scope), w.operand(ends, scope))
        other: Lines = []
        self.branches(other, replace(scope, levels=((known, other),), frame=None), name, tuple(rest), ends)
        out += [f"If {test}:", *indented(block), "Otherwise:", *indented(other)]
