"""What is computed: values that run through nested loops, parts one behind the other, folds over triangles."""

from __future__ import annotations

from collections.abc import Sequence

from lift.spellings.choose import Chooser
from lift.spellings.families import add, div, floats, integers, mul, sizes, sub
from lift.spellings.model import (
    Count,
    Expr,
    Fn,
    Fold,
    Join,
    Kept,
    Num,
    Param,
    Part,
    Poly,
    Problem,
    Running,
    Scan,
    Step,
    Test,
    at,
    define,
    poly,
    total,
)

_NEST = (("b", "batch"), ("i", "rows"), ("j", "cols"))


def running(choose: Chooser) -> Problem:
    """Sums, products, maxima and minima that go on through one to three loops, or begin anew in an inner one."""
    depth = 1 + choose.below(3)
    loops = _NEST[3 - depth :]
    here = tuple(v for v, _ in loops)
    begins = choose.below(depth)
    op = ("+", "+", "+", "*", "max", "min", "count")[choose.below(7)]
    inputs = {"x": floats(*(n for _, n in loops))}
    names = [n for _, n in loops]
    term, kind = _term(choose, here, inputs, names), "Float"
    tests: tuple[Test, ...] = ()
    start: Expr = Num((0.0, 0.5)[choose.below(2)])
    match op:
        case "*":
            start = Num(1.0)
        case "max" | "min":
            start = at("x", *here[:begins], *(0 for _ in range(depth - begins)))
        case "count":
            op, kind, start, term = "+", "Int", Num(choose.below(2)), Num(1)
            tests = (Test(">", at("x", *here), Num(0.0)),)
        case _:
            if choose.below(4) == 0:
                tests = (Test(">", at("x", *here), Num(0.25)),)
    runs = [Running("total", op, start, term, begins, depth, tests, kind)]
    level = _level(choose, begins, depth) if choose.below(3) == 0 else depth
    value: Expr = Param("total")
    if kind == "Float" and choose.below(3) == 0:
        value = (mul(value, Num(0.5)), sub(at("x", *here), value), add(value, Count(poly(here[-1]))))[choose.below(3)]
        level = depth
    kept = [Kept("y", level, value, bool(choose.below(2)), kind)]
    match choose.below(5):
        case 0:  # a running value of the running value
            runs.append(Running("more", ("+", "max")[choose.below(2)], Num(0), Param("total"), begins, depth, (), kind))
            kept.append(Kept("z", depth, Param("more"), bool(choose.below(2)), kind))
        case 1 if depth > 1:  # and of what it has come to row by row
            outer = choose.below(depth - 1) if begins == depth - 1 else 0
            if begins == depth - 1:
                runs.append(Running("whole", "+", Num(0), Param("total"), outer, depth - 1, (), kind))
                kept.append(Kept("z", depth - 1, Param("whole"), bool(choose.below(2)), kind))
        case 2:  # another beside it, begun elsewhere
            begins = choose.below(depth)
            runs.append(Running("best", "max", Num(0.0), at("x", *here), begins, depth))
            kept.append(Kept("z", _level(choose, begins, depth), Param("best")))
        case _:
            pass
    runs = [_typed(r) for r in runs]
    steps: list[Step] = [Scan(tuple((v, poly(n)) for v, n in loops), tuple(runs), tuple(kept))]
    results = [k.name for k in kept]
    if choose.below(3) == 0 and kind == "Float":
        steps.append(_later(choose, "y", tuple(here[:level]), dict(loops)))
        results = [*results[1 - choose.below(2) :], "u"]
    label = f"{depth} loops, begun in {begins}"
    return Problem("running", label, sizes(*dict.fromkeys(names)), inputs, tuple(steps), tuple(results))


def _level(choose: Chooser, begins: int, depth: int) -> int:
    """How many loops a tensor is over that keeps what begins inside `begins` of them."""
    least = max(begins, 1)
    return least + choose.below(depth - least + 1)


def _typed(r: Running) -> Running:
    """With a start of its own kind."""
    match r.start:
        case Num(v):
            start = Num(int(v) if r.kind == "Int" else float(v))
            return Running(r.name, r.op, start, r.term, r.begins, r.level, r.tests, r.kind)
        case _:
            return r


def _term(choose: Chooser, here: tuple[str, ...], inputs: dict[str, object], names: list[str]) -> Expr:
    x: Expr = at("x", *here)
    match choose.below(6):
        case 0:
            inputs["g"] = floats(names[-1])
            return mul(x, at("g", here[-1]))
        case 1:
            inputs["w"] = floats("depth", names[-1])
            names.append("depth")
            return mul(x, total("t", "depth", at("w", "t", here[-1])))
        case 2:
            inputs["w"] = floats(names[0], names[-1])
            return total("t", poly(here[0]) + 1, at("w", "t", here[-1]), box=poly(names[0]))
        case 3:
            return add(x, Count(poly(here[0])))
        case _:
            return x


def _later(choose: Chooser, name: str, here: tuple[str, ...], extents: dict[str, str]) -> Step:
    """A statement that reads what was kept: each item, the last of every row, or a fold."""
    axes = {v: extents[v] for v in here}
    outer = {v: extents[v] for v in here[:-1]}
    last = here[-1]
    match choose.below(3):
        case 0:
            return define("u", axes, mul(at(name, *here), Num(2.0)))
        case 1:
            return define("u", axes, sub(at(name, *here), at(name, *here[:-1], poly(extents[last]) - 1)))
        case _:
            return define("u", outer, total(last, extents[last], at(name, *here)))


# ---------------------------------------------------------------- parts


def joined(choose: Chooser) -> Problem:
    """Two to four parts one behind the other, of run-time and constant counts; rows or items."""
    rows = bool(choose.below(3) == 0)
    row: tuple[tuple[str, Poly], ...] = (("j", poly("cols")),) if rows else ()
    inner = ("j",) if rows else ()
    n, known, other = poly("depth"), poly("known"), poly("other")
    shape = ("depth", "cols") if rows else ("depth",)
    inputs = {"x": floats(*shape), "z": floats(*shape), "count": integers(1, low=0, high="depth")}
    scalars = {"known": "item 1 of count"}

    def one(place: Poly | int) -> Part:
        return Part(add(at("x", place, *inner), Num(1.0)) if choose.below(2) else at("z", place, *inner))

    def run(first: Poly, extent: Poly) -> Part:
        value: Expr = at("x" if choose.below(2) else "z", "i", *inner)
        match choose.below(4):
            case 0:
                value = mul(value, Num(2.0))
            case 1:
                value = add(value, Count(poly("i")))
            case _:
                pass
        return Part(value, "i", first, extent)

    zero = Poly(())
    variant = (
        "prefix and rest",
        "rest and prefix",
        "over again",
        "two prefixes",
        "two counts",
        "prefix alone",
        "three",
    )[choose.below(7)]
    match variant:
        case "prefix and rest":
            parts, room = [run(zero, known), run(known, n)], n
        case "rest and prefix":
            parts, room = [run(known, n), run(zero, known)], n
        case "over again":
            parts, room = [run(zero, known), run(zero, n - known)], n
        case "two prefixes":
            parts, room = [run(zero, known), run(zero, known)], n * 2
        case "two counts":
            inputs["size"] = integers(1, low=0, high="depth")
            scalars["other"] = "item 1 of size"
            parts, room = [run(zero, known), run(zero, other)], n * 2
        case "prefix alone":
            parts, room = [run(zero, known)], n
        case _:
            parts, room = [run(zero, known), run(zero, n), run(known, n)], n * 2
    for _ in range(choose.below(3)):
        parts.insert(choose.below(len(parts) + 1), one(n - 1))
        room = room + 1
    if choose.below(4) == 0:
        parts.insert(choose.below(len(parts) + 1), run(zero, n))
        room = room + n
    step = Join("s", tuple(parts), row, room)
    whole = step.length == room
    names = ["depth", *(["cols"] if rows else [])]
    steps, results = _read(choose, step, whole, dict(row))
    return Problem("joined", variant, sizes(*names), inputs, steps, results, scalars)


def _read(choose: Chooser, s: Join, whole: bool, row: dict[str, Poly]) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """What is read of parts: all of it, items of a sure place, or sums up to a run-time place."""
    inner = tuple(row)
    kind = choose.below(4)
    if whole and kind == 0:
        return (s,), ("s",)
    if whole and kind == 1:
        again = define("y", {"k": s.room, **row}, mul(at("s", "k", *inner), Num(3.0)))
        return (s, again), ("y", "s")[: 1 + choose.below(2)]
    op = ("+", "max")[choose.below(2)] if kind == 2 else "+"
    value: Expr = at("s", "k", *inner)
    if choose.below(2):
        value = Fn("exp", (value,))
    if op == "max":
        value = add(value, Num(0.5))
    if not row and choose.below(2) and op == "+":
        fold = div(Fold("+", "k", s.length, value, s.room, nonempty=False), Num(2.0))
    else:
        fold = Fold(op, "k", s.length, value, s.room, nonempty=False)
    return (s, define("y", row, fold)), ("y",)


# ---------------------------------------------------------------- triangles


def triangle(choose: Chooser) -> Problem:
    """Folds in folds, the inner bound by the outer; and running values through such loops."""
    n = poly("rows")
    depth = 2 + choose.below(2)
    op = ("+", "+", "max", "min", "*")[choose.below(5)]
    strict = op in "+*" and bool(choose.below(3) == 0)
    x = at("x", *("i", "j", "k")[:depth])
    term: Expr = x if choose.below(2) else mul(x, at("g", ("i", "j", "k")[choose.below(depth)]))
    inputs = {"x": floats(*("rows",) * depth), "g": floats("rows")}
    bounds: Sequence[Poly] = [poly(v) + (0 if strict else 1) for v in ("i", "j")]
    if not strict and choose.below(2):
        bounds = [bounds[0], poly(("i", "j")[choose.below(2)]) + 1]
    variant = ("folds", "rows", "running", "whole running")[choose.below(4)]
    if variant in ("folds", "rows"):
        value: Expr = term
        if depth == 3:
            value = Fold(op, "k", bounds[1], value, n, nonempty=not strict)
        value = Fold(op, "j", bounds[0], value, n, nonempty=not strict)
        if variant == "folds":
            step: Step = define("y", {}, Fold(op, "i", n, value))
        else:
            step = define("y", {"i": "rows"}, value)
    else:
        loops = (("i", n), ("j", bounds[0]), ("k", bounds[1]))[:depth]
        start: Expr = Num({"+": 0.5, "*": 1.0}.get(op, 0.0))
        begins = 0 if variant == "whole running" else choose.below(2)
        runs = Running("total", op, start, term, begins, depth)
        step = Scan(loops, (runs,), (Kept("y", 0 if variant == "whole running" else 1, Param("total")),))
        if step.kept[0].level == 0 and choose.below(2):
            step = Scan(loops, (runs,), (Kept("y", 0, Param("total")), Kept("z", 1, Param("total"), True)))
    used = {r for r in ("x", "g") if r == "x" or term is not x}
    kept = {n: t for n, t in inputs.items() if n in used}
    results = tuple(k.name for k in step.kept) if isinstance(step, Scan) else ("y",)
    label = f"{variant}, {depth} deep"
    return Problem("triangle", label, sizes("rows"), kept, (step,), results)
