"""Values and reductions, spelled: each gives an expression, with the statements that must stand before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lift.spellings.indices import Lines, Scope, Writer, bracketed, indented
from lift.spellings.model import (
    At,
    Best,
    Bin,
    Choose,
    Count,
    Expr,
    Fn,
    Fold,
    Helper,
    Num,
    Param,
    Poly,
    Test,
    poly,
)

_NATIVES = ("exp", "log", "sin", "cos", "tanh", "erf")
_EMPTY = {("+", "Float"): "0.0", ("+", "Int"): "0", ("*", "Float"): "1.0", ("*", "Int"): "1"}


@dataclass
class Values:
    """Spells values with a writer."""

    writer: Writer

    def value(self, e: Expr, scope: Scope, out: Lines) -> str:
        w = self.writer
        match e:
            case Num(value):
                return (
                    str(value) if value >= 0 else f"(0 - {-value})" if isinstance(value, int) else f"(0.0 - {-value})"
                )
            case Count(form, is_float):
                text = bracketed(w.integer(form, scope))
                return f"({text} + 0.0)" if is_float else text
            case Param(name):
                return w.use(scope.params[name], scope)
            case At(tensor, index):
                text = w.read(tensor, index, scope)
                return self.bound(text, w.kinds[tensor], scope, out) if w.choose.pick("reads") == "temporary" else text
            case Bin(op, left, right):
                return self.binary(op, left, right, scope, out)
            case Fn(name, args):
                return self.call(name, args, scope, out)
            case Helper():
                return self.helper(e, scope, out)
            case Choose():
                return self.chosen(e, scope, out)
            case Fold():
                return self.folded(e, scope, out)
            case Best():
                return self.best(e, scope, out)

    def bound(self, text: str, kind: str, scope: Scope, out: Lines) -> str:
        name = self.writer.fresh("e")
        self.writer.types[name] = kind
        out.append(f"Let {name} be {text}.")
        return name

    def binary(self, op: str, left: Expr, right: Expr, scope: Scope, out: Lines) -> str:
        a, b = bracketed(self.value(left, scope, out)), bracketed(self.value(right, scope, out))
        if op in ("+", "*") and self.writer.choose.pick("operands") == "swapped":
            a, b = b, a
        return f"({a} {self.writer.operator(op)} {b})"

    def call(self, name: str, args: tuple[Expr, ...], scope: Scope, out: Lines) -> str:
        spelled = [self.value(a, scope, out) for a in args]
        if name in _NATIVES:
            self.writer.natives.add(name)
        if name in ("max", "min"):
            if self.writer.choose.pick("operands") == "swapped":
                spelled.reverse()
            if self.writer.choose.pick("best") == "If":
                first = self.bound(spelled[0], "Float", scope, out)
                other = self.bound(spelled[1], "Float", scope, out)
                result = self.bound(first, "Float", scope, out)
                test = self.writer.compared(">" if name == "max" else "<", other, result)
                out += [f"If {test}:", f"    Set {result} to {other}."]
                return result
        return f"{name}({', '.join(spelled)})"

    def tests(self, tests: tuple[Test, ...], scope: Scope, out: Lines) -> str:
        spelled = [
            self.writer.compared(
                t.op, bracketed(self.value(t.left, scope, out)), bracketed(self.value(t.right, scope, out))
            )
            for t in tests
        ]
        return " and ".join(spelled)

    def guarded(self, out: Lines, tests: tuple[Test, ...], scope: Scope, body: Callable[[Lines, Scope], None]) -> None:
        """`body` under an If; nothing in it may be hoisted out."""
        if len(tests) > 1 and self.writer.choose.pick("tests") == "nested":
            self.guarded(out, tests[:1], scope, lambda lines, at: self.guarded(lines, tests[1:], at, body))
            return
        test = self.tests(tests, scope, out)
        block: Lines = []
        known = scope.levels[-1][0] if scope.levels else frozenset[str]()
        body(block, replace(scope, levels=((known, block),)))
        out += [f"If {test}:", *indented(block)]

    def chosen(self, e: Choose, scope: Scope, out: Lines) -> str:
        """A value by cases; what is read in one case only is read there."""
        w = self.writer
        name = w.fresh("v")
        w.types[name] = "Float"
        test = self.tests(e.tests, scope, out)
        known = scope.levels[-1][0] if scope.levels else frozenset[str]()
        then: Lines = []
        inside = self.value(e.then, replace(scope, levels=((known, then),)), then)
        then.append(f"Set {name} to {inside}.")
        if isinstance(e.other, Num) and w.choose.pick("branch") == "default":
            out += [f"Let {name} be {self.value(e.other, scope, out)}.", f"If {test}:", *indented(then)]
            return name
        other: Lines = []
        inside = self.value(e.other, replace(scope, levels=((known, other),)), other)
        other.append(f"Set {name} to {inside}.")
        out += [f"Let {name} be 0.0.", f"If {test}:", *indented(then), "Otherwise:", *indented(other)]
        return name

    # ---------------------------------------------------------------- functions

    def helper(self, e: Helper, scope: Scope, out: Lines) -> str:
        w = self.writer
        arg = self.value(e.arg, scope, out)
        match w.choose.pick("helper"):
            case "in line":
                return self.value(e.body, replace(scope, params={**scope.params, e.param: arg}), out)
            case "temporary":
                name = self.bound(arg, "Float", scope, out)
                inner = replace(scope, params={**scope.params, e.param: name}, inner=scope.inner | {name})
                return self.value(e.body, inner, out)
            case _:
                if e.name not in w.helpers:
                    name = w.fresh(e.name)
                    w.helpers[e.name] = name
                    body: Lines = []
                    w.handed.append({})
                    inner = Scope(params={e.param: "z"}, levels=((frozenset(), body),))
                    result = self.value(e.body, inner, body)
                    assert not w.handed.pop()
                    body.append(f"Return {result}.")
                    w.functions += [f"## To {name} (z: Float) -> Float:", *indented(body), ""]
                return f"{w.helpers[e.name]}({arg})"

    def function(self, stem: str, kind: str, scope: Scope, write: Callable[[Lines, Scope], str]) -> str:
        """What `write` computes, by a function of what it uses: the call."""
        w = self.writer
        name = w.fresh(stem)
        body: Lines = []
        w.handed.append({})
        inner = replace(scope, frame=None, levels=((scope.inner, body),))
        body.append(f"Return {write(body, inner)}.")
        needed = [n for n in w.handed.pop() if n in scope.inner]
        for n in needed:
            w.use(n, scope)
        params = ", ".join(f"{n}: {w.types.get(n, 'Float')}" for n in needed)
        w.functions += [f"## To {name} ({params}) -> {kind}:", *indented(body), ""]
        return f"{name}({', '.join(needed)})"

    # ---------------------------------------------------------------- reductions

    def folded(self, e: Fold, scope: Scope, out: Lines) -> str:
        if self.writer.choose.pick("reduction") == "a function":
            return self.function(
                "folded", e.kind, scope, lambda lines, inner: self.accumulated(e, inner, lines, inside=True)
            )
        return self.accumulated(e, scope, out)

    def accumulated(self, e: Fold, scope: Scope, out: Lines, inside: bool = False) -> str:
        w = self.writer
        name = w.fresh({"+": "total", "*": "product", "max": "best", "min": "least"}[e.op])
        w.types[name] = e.kind
        can_peel = e.nonempty and not e.tests
        allowed = ["inside", "outside", *(["peeled"] if can_peel else [])]
        how = w.choose.pick("accumulator", allowed)
        if not e.tests and w.choose.pick("terms") == "stored first":
            e, scope = self.stored(e, scope, out)
        if (e.op, e.kind) in _EMPTY:
            start = _EMPTY[e.op, e.kind]
        elif can_peel:
            start = ""
        else:
            start = {"max": "(0 - 1000000)", "min": "1000000"}[e.op] + ("" if e.kind == "Int" else " + 0.0")
        peel = how == "peeled" and can_peel
        if peel or not start:
            first = self.value(e.term, self._at_first(e.var, scope), out)
            out.append(f"Let {name} be {first}.")
        elif how == "outside" and not inside and scope.levels:
            scope.levels[0][1].append(f"Let {name} be {start}.")
            out.append(f"Set {name} to {start}.")
        else:
            out.append(f"Let {name} be {start}.")
        scope = replace(scope, inner=scope.inner | {name})

        def step(lines: Lines, at: Scope) -> None:
            term = self.value(e.term, at, lines)
            self.gathered(lines, e.op, name, term)

        self.over(out, e, scope, step, first=1 if peel else 0)
        return name

    def stored(self, e: Fold, scope: Scope, out: Lines) -> tuple[Fold, Scope]:
        """The terms in a sequence of their own, and the reduction of that."""
        w = self.writer
        terms = w.fresh("terms")
        w.shapes[terms], w.kinds[terms], w.layouts[terms] = (e.extent,), e.kind, "nested"
        w.types[terms] = f"Seq of {e.kind}"
        out.append(f"Let {terms} be a new Seq of {e.kind}.")

        def push(lines: Lines, at: Scope) -> None:
            lines.append(f"Push {self.value(e.term, at, lines)} to {terms}.")

        w.loop(out, e.var, e.extent, scope, push)
        return replace(e, term=At(terms, (poly(e.var),)), box=None), replace(scope, inner=scope.inner | {terms})

    def over(self, out: Lines, e: Fold, scope: Scope, step: Callable[[Lines, Scope], None], first: int = 0) -> None:
        """The loop of a reduction, its condition written as its bound or as an If."""
        w = self.writer
        by_if = e.box is not None and w.choose.pick("guard") == "If"
        tests = e.tests
        if by_if:
            tests = (Test("<", Count(poly(e.var), False), Count(e.extent, False)), *tests)
        extent = e.box if by_if and e.box is not None else e.extent

        def body(lines: Lines, inner: Scope) -> None:
            if tests:
                self.guarded(lines, tests, inner, step)
            else:
                step(lines, inner)

        w.loop(out, e.var, extent, scope, body, first, any_order=first == 0)

    def gathered(self, lines: Lines, op: str, name: str, term: str) -> None:
        """One more term: `name` is a variable or an item."""
        w = self.writer
        swapped = w.choose.pick("operands") == "swapped"
        if op in ("+", "*"):
            if w.choose.pick("assign") == "+=" and " of " not in name:
                lines.append(f"{name} {op}= {term}.")
            else:
                a, b = (bracketed(term), name) if swapped else (name, bracketed(term))
                lines.append(f"Set {name} to {a} {self.writer.operator(op)} {b}.")
        elif w.choose.pick("best") == "max":
            a, b = (term, name) if swapped else (name, term)
            lines.append(f"Set {name} to {op}({a}, {b}).")
        else:
            test = w.compared(">" if op == "max" else "<", bracketed(term), name)
            lines += [f"If {test}:", f"    Set {name} to {term}."]

    def best(self, e: Best, scope: Scope, out: Lines) -> str:
        w = self.writer
        best, place = w.fresh("best"), w.fresh("where")
        w.types[best], w.types[place] = e.kind, "Int"
        first = self.value(e.term, self._at_first(e.var, scope), out)
        out += [f"Let {best} be {first}.", f"Let {place} be {e.base}."]
        scope = replace(scope, inner=scope.inner | {best, place})

        def step(lines: Lines, at: Scope) -> None:
            term = self.value(e.term, at, lines)
            op = ("<" if e.least else ">") + ("=" if e.last else "")
            test = w.compared(op, bracketed(term), best)
            lines += [f"If {test}:", f"    Set {best} to {term}."]
            lines.append(f"    Set {place} to {w.integer(poly(e.var) + e.base, at)}.")

        w.loop(out, e.var, e.extent, scope, step, first=self.writer.choose.below(2))
        return place

    @staticmethod
    def _at_first(var: str, scope: Scope) -> Scope:
        return replace(scope, counters={**scope.counters, var: Poly(())})
