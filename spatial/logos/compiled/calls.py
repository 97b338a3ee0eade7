"""The translator, calls: arguments lent or copied, globals handed along, what comes back.

Compiled functions see no variable but their own. The globals a function touches, by itself or by what it calls, are
further parameters; those it changes are further results, and so is a mutable parameter that may grow.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from spatial.logos.compiled.expressions import Expressions
from spatial.logos.compiled.kinds import NOTHING, TEXT, Kind, seq_of
from spatial.logos.compiled.knowledge import Instance, Refusal
from spatial.logos.compiled.operators import const_rt
from spatial.logos.compiled.unit import Value
from spatial.logos.interpret import FRAMES
from spatial.logos.pytree import call, const, load
from spatial.logos.scopes import Effects
from spatial.logos.syntax import Call, Expr, Function, Index, Name, Param, root_name


class Calls(Expressions):
    """Translates calls of the program's functions."""

    def called(self, expr: Call) -> Value:
        """The value of a call."""
        function = self.known.functions[expr.function]
        values = self.arguments(function, expr)
        instance = self.known.instance(function, tuple(value.kind for value in values))
        self._changed_in_place(function, instance, expr)
        given = [self.coerced(value, kind) for value, kind in zip(values, instance.params, strict=True)]
        reach = self.known.reaches[function.name]
        for name in sorted(reach.touched):
            self.touch(name, expr.span, name in reach.changed)
        self._separate(function, expr)
        recursive = function.name in self.known.recursive
        if recursive:
            self.do("enter", const_rt(), self.site(expr.span), const(FRAMES))
        kind = instance.returns
        results = [self.temporary() for _ in range(max(kind.parts, 1) if kind != NOTHING else 0)]
        back = self._grown(function, instance, expr)
        back += [part for name in sorted(reach.changed) for part in self.global_parts(name)]
        handed = [part for value in given for part in value.parts]
        handed += [load(part) for name in sorted(reach.touched) for part in self.global_parts(name)]
        self._take([*results, *back], call(instance.name, const_rt(), *handed))
        if recursive:
            self.do("leave", const_rt())
        return Value(kind, tuple(load(name) for name in results), True)

    def _take(self, names: list[str], made: ast.expr) -> None:
        """Write a call whose results go to these variables."""
        if not names:
            self.emit(ast.Expr(made))
            return
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
        self.emit(ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], made))

    def global_parts(self, name: str) -> list[str]:
        """The Python variables that hold a global."""
        return self.parts_of(self.known.globals[name], self.known.kind("", name))

    def _grown(self, function: Function, instance: Instance, expr: Call) -> list[str]:
        """The variables that take back what mutable parameters have become."""
        found: list[str] = []
        for number in sorted(self.known.reaches[function.name].grown):
            kind, arg = instance.params[number], expr.args[number]
            if not kind.rank:
                continue
            if isinstance(arg, Name):
                self.grows(arg)
                held = self.variable(arg.name, arg.span, change=True)
                found += self.parts_of(*held) if held else [self.temporary() for _ in range(kind.parts)]
            elif isinstance(arg, Index):
                raise growing_row(arg)
            else:
                found += [self.temporary() for _ in range(kind.parts)]
        return found

    def _changed_in_place(self, function: Function, instance: Instance, expr: Call) -> None:
        """What the caller's variables are known to be by what is done to mutable parameters."""
        for n, (arg, param) in enumerate(zip(expr.args, function.params, strict=True)):
            if not param.mutable or root_name(arg) is None or not instance.params[n].rank:
                continue
            if not all(self.is_quiet(later) for later in expr.args[n + 1 :]):
                what = f"{root_name(arg)} is to be changed while a later argument changes variables"
                raise Refusal(arg.span, what, "", "give the later argument a name with Let, before the call")
            self.changing(arg, instance.params[n])

    def _separate(self, function: Function, expr: Call) -> None:
        """Refuse mutable arguments that are one variable, or a global the function uses by name too."""
        seen: set[str] = set()
        for arg, param in zip(expr.args, function.params, strict=True):
            root = root_name(arg)
            if not param.mutable or root is None:
                continue
            touched = self.scopes.find(root) is None and root in self.known.reaches[function.name].touched
            if root in seen or touched:
                why = "compiled code holds what is changed in place under one name at a time"
                raise Refusal(arg.span, f"{root} reaches {function.name} twice, once to be changed", why)
            seen.add(root)

    # Arguments

    def arguments(self, function: Function, expr: Call, moved: frozenset[int] = frozenset()) -> list[Value]:
        """The arguments of a call, each as its parameter takes it, evaluated in order.

        `moved`: those whose variable hands its array over.
        """
        changed = {root_name(a) for a, p in zip(expr.args, function.params, strict=True) if p.mutable}
        effects = self.known.effects[function.name]

        def written(number: int, arg: Expr, param: Param) -> tuple[Callable[[], Value], Expr]:
            lent = number not in effects.params and self._may_lend(arg, changed, effects)
            return (lambda: self._argument(arg, param, lent or number in moved)), arg

        pairs = zip(expr.args, function.params, strict=True)
        values = self.ordered(*(written(number, arg, param) for number, (arg, param) in enumerate(pairs)))
        return [self.atoms(value) for value in values]

    def _argument(self, arg: Expr, param: Param, lent: bool) -> Value:
        if param.mutable and root_name(arg) is not None:
            return self.place(arg)
        value = self.operand(arg)
        if value.kind == TEXT:
            raise Refusal(arg.span, f"the argument {param.name} is a Text", "compiled code has texts in Show alone")
        return value if lent else self.kept(value)

    def _may_lend(self, arg: Expr, changed: set[str | None], effects: Effects) -> bool:
        """Whether the callee, which does not change the parameter, may use the caller's array for it.

        It may if nothing else can change that meanwhile: no mutable argument is of the same variable, and the variable
        is local or the callee changes none outside itself.
        """
        root = root_name(arg)
        if root is None or root in changed:
            return False
        slot = self.scopes.find(root)
        return not effects.outside or (slot is not None and slot.role != "mutable")

    # Places

    def place(self, expr: Expr) -> Value:
        """A sequence that is changed where it stands: a variable, or an item of one."""
        match expr:
            case Name(name):
                return self.read(name, expr.span)
            case Index(collection, index):
                if not self.is_quiet(index):
                    raise Refusal(index.span, "the index of a place changes variables", "", "give it a name with Let")
                inner = (lambda: self.place(collection), collection)
                return self.item(expr, *self.ordered(inner, (lambda: self.operand(index), index)))
            case _:
                why = "what is changed in place is a variable, or an item of one"
                raise Refusal(expr.span, "a change of what no variable holds", why, "give it a name with Let")

    def changing(self, place: Expr, kind: Kind) -> None:
        """The variable of a place is changed in place, and `kind` is that of what stands there."""
        depth = 0
        while isinstance(place, Index):
            place, depth = place.collection, depth + 1
        assert isinstance(place, Name)
        if self.variable(place.name, place.span, change=True) is None:
            return
        if self.scopes.find(place.name) is None:
            self.known.written.add(place.name)
        self.learn(place.name, self.scopes.find(place.name), seq_of(kind, depth), place.span)

    def grows(self, place: Name) -> None:
        """The number of items of a variable changes."""
        slot = self.scopes.find(place.name)
        if self.instance is not None and slot is not None and slot.role == "mutable":
            function = self.instance.function
            self.known.reach(function.name, grown=[[p.name for p in function.params].index(place.name)])


def growing_row(place: Expr) -> Refusal:
    """A row of a table would get longer."""
    mend = "build the row as a variable of its own, then push it"
    return Refusal(place.span, "a Seq inside a Seq grows", "compiled code holds rectangular sequences", mend)
