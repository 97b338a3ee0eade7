"""Sequences begun and filled: new ones and copies, rows pushed to rows, the place of an item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lift.spellings.indices import Lines, Scope, Writer, bracketed
from lift.spellings.model import Def, Expr, Num, Poly, poly
from lift.spellings.parts import empty, typed
from lift.spellings.values import Values

_ZERO = {"Float": "0.0", "Int": "0"}


@dataclass(frozen=True)
class Building:
    """Spells how a tensor is made, whatever its items are."""

    writer: Writer
    values: Values

    def copies(self, d: Def, value: str = "") -> str:
        """A filled sequence of the tensor's shape."""
        shape = self.writer.shapes[d.name]
        spelled = [bracketed(self.writer.integer(n, Scope())) for n in shape]
        value = value or _ZERO[d.kind]
        if self.writer.layouts[d.name] == "flat":
            return f"{bracketed(' * '.join(spelled))} copies of {value}"
        text = value
        for n in reversed(spelled):
            text = f"{n} copies of {bracketed(text)}"
        return text

    def filled(self, out: Lines, d: Def, way: str, scope: Scope) -> None:
        if way == "Set item of pushed":
            axes = d.axes if not d.pairs else (*d.axes[:-1], (d.axes[-1][0], d.axes[-1][1] * 2))
            zero = Num(0.0 if d.kind == "Float" else 0)
            self.pushed(out, replace(d, axes=axes, values=(zero,), pairs=""), scope)
        else:
            out.append(f"Let {d.name} be {self.copies(d)}.")

    def target(self, d: Def, n: int, scope: Scope) -> str:
        """The item of a definition that its `n`-th value goes to."""
        w = self.writer
        index = [poly(v) for v, _ in d.axes]
        if d.pairs == "near":
            index[-1] = index[-1] * 2 + n
        elif d.pairs == "far" and n:
            index[-1] = index[-1] + d.axes[-1][1]
        return self.place(d.name, w.shapes[d.name], [i.put(scope.counters) for i in index], scope)

    def place(self, name: str, shape: Sequence[Poly], index: list[Poly], scope: Scope) -> str:
        w = self.writer
        if w.layouts[name] == "flat" and len(index) > 1:
            form = index[0]
            for a, n in zip(index[1:], shape[1:], strict=True):
                form = form * n + a
            index = [form]
        return w.item(w.use(name, scope), index, scope)

    def pushed(self, out: Lines, d: Def, scope: Scope) -> None:
        """Rows pushed to rows; flat, items pushed to the one sequence."""
        w = self.writer
        nested = w.layouts[d.name] == "nested"
        out.append(f"Let {d.name} be {empty(w.layouts[d.name], len(d.axes), d.kind)}.")

        def inner(lines: Lines, at: Scope, n: int, into: str) -> None:
            if n == len(d.axes) - 1 and d.pairs == "far":
                for value in d.values:
                    w.loop(lines, *d.axes[n], at, lambda ls, s, v=value: items(ls, s, into, (v,)))
                return
            if n == len(d.axes):
                items(lines, at, into, d.values)
                return

            def body(ls: Lines, s: Scope) -> None:
                if nested and n + 1 < len(d.axes):
                    row = w.fresh("part")
                    w.types[row] = typed(len(d.axes) - n - 1, d.kind)
                    ls.append(f"Let {row} be {empty('nested', len(d.axes) - n - 1, d.kind)}.")
                    inner(ls, s, n + 1, row)
                    ls.append(f"Push {row} to {into}.")
                else:
                    inner(ls, s, n + 1, into)

            w.loop(lines, *d.axes[n], at, body)

        def items(lines: Lines, at: Scope, into: str, values: tuple[Expr, ...]) -> None:
            for text in [self.values.value(v, at, lines) for v in values]:
                lines.append(f"Push {text} to {into}.")

        inner(out, scope, 0, d.name)
