"""The translator, variables: bindings, assignments, and changes in place.

Every binding becomes a variable of its own, so that a name may be bound anew to another kind of value. A sequence that
is pushed to gets a longer array when its own is full; rows have to measure what the rows before them do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from spatial.logos.compiled.calls import Calls, growing_row
from spatial.logos.compiled.kinds import TEXT, UNKNOWN, Kind, seq_of
from spatial.logos.compiled.knowledge import Refusal
from spatial.logos.compiled.unit import Value, add, scalar, times, told
from spatial.logos.pytree import assign, call, compare, const, load
from spatial.logos.scopes import Range, Role
from spatial.logos.syntax import Expr, Index, Name, Span, root_name


class Changes(Calls):
    """Translates what gives variables values, and what changes their items."""

    assigned: frozenset[str]

    # Bindings

    def fresh(self, name: str, role: Role = "local", known: Range = None) -> str:
        """Bind a name in the innermost block to a variable of its own."""
        self.scopes.blocks[-1].pop(name, None)
        return self.scopes.bind(name, role, known).variable

    def bind(self, name: str, value: Value, span: Span, known: Range = None) -> None:
        """Bind a name in the innermost block: a global at the top level of Main."""
        if self.scopes.blocks:
            self.fresh(name, known=None if name in self.assigned else known)
            slot = self.scopes.find(name)
            assert slot is not None
            self.store(slot.variable, self.learn(name, slot, value.kind, span), value)
            return
        kind = self.learn(name, None, value.kind, span)
        if name not in self.bound:
            self.bound.append(name)
        self.store(self.known.globals[name], kind, value)

    def set(self, name: str, value: Expr, span: Span) -> None:
        """Give the innermost binding of a name a new value."""
        slot = self.scopes.find(name)
        found = self.variable(name, span, change=True)
        if found is None:
            return
        made = self.kept(self.value(value))
        kind = self.learn(name, slot, made.kind, span)
        if slot is not None and slot.role == "mutable" and kind.rank:
            what = f"{name} is a mutable parameter and is set as a whole"
            why = "the caller would see neither that nor what is done to it after"
            raise Refusal(span, what, why, "use a Let of another name")
        self.store(found[0], kind, made)

    # Changes in place

    def _pinned(self, value: Expr) -> Callable[[], Value]:
        """The value of an expression about to be stored in place: whatever the place is, it stays what it is."""

        def write() -> Value:
            found = self.operand(value)
            if found.kind == TEXT:
                raise Refusal(value.span, "a Seq of Texts", "compiled code has texts in Show alone")
            if not found.kind.rank:
                return self.atoms(found)
            return found if found.fresh else self.apart_parts(found)

        return write

    def apart_parts(self, value: Value) -> Value:
        """A view of a sequence that stays where it is if the variable gets another array."""
        names = [self.temporary() for _ in value.parts]
        self.emit(*(assign(name, part) for name, part in zip(names, value.parts, strict=True)))
        return Value(value.kind, tuple(load(name) for name in names))

    def set_item(self, place: Index, value: Expr) -> None:
        """Change one item: index, value, then collection."""
        collection = place.collection
        if root_name(collection) is None:
            self.place(collection)
        index, made, seq = self.ordered(
            (lambda: self.operand(place.index), place.index),
            (self._pinned(value), value),
            (lambda: self.place(collection), collection),
        )
        seq = self.atoms(seq)
        self.indexable(place.span, seq, index)
        self.changing(collection, seq_of(made.kind))
        if not seq.kind.rank:
            return
        assert seq.kind.item is not None
        made = self.atoms(self.coerced(made, seq.kind.item)) if self._fitting(made, seq.kind.item) else made
        at = self.named(self.position(place, seq, index, told_items=True))
        if seq.kind.rank == 1:
            self.do("put", seq.array, add(seq.start, at), *made.parts)
            return
        self.fits(place.span, made, seq.inner)
        step = self.named(times(seq.inner))
        start = self.named(add(seq.start, ast.BinOp(at, ast.Mult(), step)))
        self.do("move", seq.array, start, made.array, made.start, step)

    def _fitting(self, value: Value, kind: Kind) -> bool:
        """Whether a value can be made one of a kind; if not, more is learnt of the kind first."""
        return value.kind.rank == kind.rank or value.kind.leaf == UNKNOWN

    def push(self, value: Expr, place: Expr) -> None:
        """Append: value, then place."""
        if not isinstance(place, Name):
            raise growing_row(place)
        (made,) = self.ordered((self._pinned(value), value))
        self.changing(place, seq_of(made.kind))
        self.grows(place)
        seq = self.read(place.name, place.span)
        if seq.kind == UNKNOWN:
            return
        if not seq.kind.rank:
            raise Refusal(place.span, f"a push to {told(seq.kind)}", "push to a Seq")
        assert seq.kind.item is not None
        made = self.atoms(self.coerced(made, seq.kind.item))
        array, start, items = (part.id for part in seq.parts[:3] if isinstance(part, ast.Name))
        if made.kind.rank:
            self._measure(place.span, made, seq)
        step = self.named(times(made.parts[2:])) if made.kind.rank else const(1)
        used = self.named(times((seq.items, step)))
        self.emit(
            ast.If(
                compare(add(add(seq.start, used), step), ast.Gt(), call("len", seq.array)),
                [assign(array, call("grown", seq.array, seq.start, used, step)), assign(start, const(0))],
                [],
            )
        )
        if made.kind.rank:
            self.do("move", seq.array, add(seq.start, used), made.array, made.start, step)
        else:
            self.do("put", seq.array, add(seq.start, used), *made.parts)
        self.emit(assign(items, add(seq.items, const(1))))

    def _measure(self, span: Span, row: Value, seq: Value) -> None:
        """The first row says what rows measure; the others have to measure the same."""
        none = compare(seq.items, ast.Eq(), const(0))
        taken: list[ast.stmt] = [
            assign(part.id, size)
            for part, size in zip(seq.inner, row.parts[2:], strict=True)
            if isinstance(part, ast.Name)
        ]
        _, checks = self.captured(lambda: self.fits(span, row, seq.inner))
        self.emit(ast.If(none, taken, checks))

    def pop(self, place: Expr, into: str | None, span: Span) -> None:
        """Take the last item away."""
        if not isinstance(place, Name):
            raise Refusal(span, "a Seq inside a Seq shrinks", "compiled code holds rectangular sequences")
        self.changing(place, UNKNOWN)
        self.grows(place)
        seq = self.read(place.name, place.span)
        if not seq.kind.rank and seq.kind != UNKNOWN:
            raise Refusal(span, f"a pop from {told(seq.kind)}", "pop from a Seq")
        if not seq.kind.rank:
            return
        assert isinstance(seq.items, ast.Name) and seq.kind.item is not None
        some = compare(seq.items, ast.Gt(), const(0))
        less = assign(seq.items.id, ast.BinOp(seq.items, ast.Sub(), const(1)))
        if into is None:
            self.emit(ast.If(some, [less], []))
            return
        self.emit(ast.If(some, [less], [self.stopped(span, "NO_ITEM")]))
        last = add(seq.start, ast.BinOp(seq.items, ast.Mult(), times(seq.inner)))
        if seq.kind.rank == 1:
            popped = scalar(seq.kind.item, call("get", seq.array, last))
        else:
            popped = self.kept(Value(seq.kind.item, (seq.array, self.named(last), *seq.inner)))
        self.bind(into, popped, span)
