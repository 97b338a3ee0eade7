"""What is computed: products, maps, rows and their reductions. `rows_and_tables` has the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lift.spellings.choose import Chooser
from lift.spellings.model import (
    At,
    Best,
    Bin,
    Choose,
    Count,
    Def,
    Expr,
    Fn,
    Fold,
    Helper,
    Input,
    Num,
    Param,
    Poly,
    Problem,
    Test,
    Update,
    at,
    define,
    poly,
    total,
)

Sizes = tuple[Mapping[str, int], Mapping[str, int]]
Family = Callable[[Chooser], Problem]

SMALL: Sizes = ({"rows": 3, "cols": 4, "depth": 5, "batch": 2}, {"rows": 5, "cols": 2, "depth": 3, "batch": 3})


def sizes(*names: str, of: Sizes = SMALL) -> Sizes:
    return ({n: of[0][n] for n in names}, {n: of[1][n] for n in names})


def floats(*shape: str | Poly | int, weight: bool = False, state: bool = False) -> Input:
    return Input(tuple(poly(n) for n in shape), weight=weight, state=state)


def integers(*shape: str | Poly | int, low: int | Poly = -9, high: int | Poly | str = 9, state: bool = False) -> Input:
    return Input(tuple(poly(n) for n in shape), "Int", (poly(low), poly(high)), state)


def mul(a: Expr, b: Expr) -> Bin:
    return Bin("*", a, b)


def add(a: Expr, b: Expr) -> Bin:
    return Bin("+", a, b)


def div(a: Expr, b: Expr) -> Bin:
    return Bin("/", a, b)


def sub(a: Expr, b: Expr) -> Bin:
    return Bin("-", a, b)


ROW = {"i": "rows", "j": "cols"}


def product(choose: Chooser) -> Problem:
    variant = ("plain", "left", "right", "both", "batched", "bias", "vector", "integer", "into")[choose.below(9)]
    x, w = at("x", "i", "k"), at("w", "k", "j")
    inputs = {"x": floats("rows", "depth"), "w": floats("depth", "cols", weight=bool(choose.below(2)))}
    if variant in ("left", "both"):
        x, inputs["x"] = at("x", "k", "i"), floats("depth", "rows")
    if variant in ("right", "both", "bias", "vector"):
        w, inputs["w"] = at("w", "j", "k"), floats("cols", "depth", weight=True)
    names = ("rows", "cols", "depth")
    steps: tuple[Def | Update, ...]
    match variant:
        case "batched":
            inputs = {"x": floats("batch", "rows", "depth"), "w": floats("batch", "depth", "cols")}
            value: Expr = total("k", "depth", mul(at("x", "b", "i", "k"), at("w", "b", "k", "j")))
            steps, names = (define("y", {"b": "batch", **ROW}, value),), (*names, "batch")
        case "bias":
            inputs["bias"] = floats("cols", weight=True)
            steps = (define("y", ROW, add(total("k", "depth", mul(x, w)), at("bias", "j"))),)
        case "vector":
            inputs["x"] = floats("depth")
            steps, names = (define("y", {"j": "cols"}, total("k", "depth", mul(at("x", "k"), w))),), names[1:]
        case "integer":
            inputs = {"x": integers("rows", "depth"), "w": integers("depth", "cols")}
            steps = (define("y", ROW, total("k", "depth", mul(x, w), kind="Int"), kind="Int"),)
        case "into":
            inputs["held"] = floats("rows", "cols", state=True)
            value = Bin("+", at("held", "i", "j"), total("k", "depth", mul(x, w)))
            axes = tuple((v, poly(n)) for v, n in ROW.items())
            return Problem(
                "product", variant, sizes(*names), inputs, (Update("held", axes, (poly("i"), poly("j")), value),), ()
            )
        case _:
            steps = (define("y", ROW, total("k", "depth", mul(x, w))),)
    return Problem("product", variant, sizes(*names), inputs, steps)


def elementwise(choose: Chooser) -> Problem:
    leaves: list[Expr] = [
        at("x", "i", "j"),
        at("z", "i", "j"),
        at("side", "i"),
        at("top", "j"),
        at("one", 0),
        Num(0.5),
        Num(2.0),
        Count(poly("i"), True),
    ]

    def tree(depth: int) -> Expr:
        if depth == 0:
            return leaves[choose.below(len(leaves))]
        kind = choose.below(9)
        a = tree(depth - 1)
        if kind <= 5:
            b = tree(choose.below(depth))
            if kind == 5:
                return div(a, add(Num(1.5), mul(b, b)))
            return Fn("max" if kind == 4 else "min", (a, b)) if kind >= 4 else Bin("+-**"[kind], a, b)
        if kind == 6:
            return Fn("abs", (a,))
        if kind == 7:
            return Fn("sqrt", (add(Fn("abs", (a,)), Num(1.0)),))
        return Choose((Test(">", a, Num(0.25)),), tree(depth - 1), Num(0.0))

    inputs = {
        "x": floats("rows", "cols"),
        "z": floats("rows", "cols"),
        "side": floats("rows"),
        "top": floats("cols", weight=True),
        "one": floats(1),
    }
    value = add(tree(2 + choose.below(2)), at("x", "i", "j"))
    return Problem("elementwise", "tree", sizes("rows", "cols"), inputs, (define("y", ROW, value),))


_Z = Param("z")
_TANH = mul(
    Num(0.5),
    mul(
        _Z,
        add(Num(1.0), Fn("tanh", (mul(Num(0.7978845608028654), add(_Z, mul(Num(0.044715), mul(_Z, mul(_Z, _Z))))),))),
    ),
)
ACTIVATIONS: dict[str, Expr] = {
    "silu": div(_Z, add(Num(1.0), Fn("exp", (sub(Num(0.0), _Z),)))),
    "gelu_tanh": _TANH,
    "gelu_erf": mul(mul(Num(0.5), _Z), add(Num(1.0), Fn("erf", (div(_Z, Fn("sqrt", (Num(2.0),))),)))),
    "relu": Fn("max", (_Z, Num(0.0))),
    "gate": Choose((Test(">", _Z, Num(0.0)),), _Z, Num(0.0)),
}


def activation(choose: Chooser) -> Problem:
    names = (*ACTIVATIONS, "swiglu", "fed")
    variant = names[choose.below(len(names))]
    inputs = {"x": floats("rows", "cols")}
    if variant == "fed":
        inputs = {
            "x": floats("cols"),
            "up": floats("rows", "cols", weight=True),
            "gate": floats("rows", "cols", weight=True),
        }
        g = total("j", "cols", mul(at("gate", "i", "j"), at("x", "j")))
        u = total("j", "cols", mul(at("up", "i", "j"), at("x", "j")))
        steps = (
            define("gates", {"i": "rows"}, g),
            define("ups", {"i": "rows"}, u),
            define("y", {"i": "rows"}, mul(Helper("silu", "z", at("gates", "i"), ACTIVATIONS["silu"]), at("ups", "i"))),
        )
        return Problem("activation", variant, sizes("rows", "cols"), inputs, steps)
    value: Expr = Helper(variant, "z", at("x", "i", "j"), ACTIVATIONS.get(variant, ACTIVATIONS["silu"]))
    if variant == "swiglu":
        inputs["up"] = floats("rows", "cols")
        value = mul(value, at("up", "i", "j"))
    return Problem("activation", variant, sizes("rows", "cols"), inputs, (define("y", ROW, value),))


def softmax(choose: Chooser) -> Problem:
    scale, mask = choose.below(2), choose.below(3)
    inputs = {"x": floats("rows", "cols")}
    scalars: dict[str, str] = {}
    seen, box = poly("cols"), None
    if mask == 1:
        seen, box = poly("i") + 1, poly("cols")
    elif mask == 2:
        seen, box = poly("known"), poly("cols")
        inputs["count"] = integers(1, low=1, high="cols")
        scalars["known"] = "item 1 of count"
    x: Expr = at("x", "i", "j")
    steps: list[Def] = []
    if scale:
        steps.append(define("s", ROW, div(x, Fn("sqrt", (Count(poly("cols")),)))))
        x = at("s", "i", "j")
    row = {"i": "rows"}
    steps += [
        define("top", row, Fold("max", "j", seen, x, box)),
        define("part", ROW, Fn("exp", (sub(x, at("top", "i")),))),
        define("whole", row, Fold("+", "j", seen, at("part", "i", "j"), box)),
    ]
    if mask == 0:
        steps.append(define("y", ROW, div(at("part", "i", "j"), at("whole", "i"))))
    else:
        shown = Test("<", Count(poly("j"), False), Count(seen, False))
        steps.append(define("y", ROW, Choose((shown,), div(at("part", "i", "j"), at("whole", "i")), Num(0.0))))
    both = ({"rows": 3, "cols": 4}, {"rows": 2, "cols": 5})  # causal rows end inside the row
    return Problem("softmax", ("whole", "causal", "prefix")[mask], both, inputs, tuple(steps), scalars=scalars)


def norm(choose: Chooser) -> Problem:
    layer, residual = choose.below(2), choose.below(2)
    inputs = {"x": floats("rows", "cols"), "gain": floats("cols", weight=True)}
    row: dict[str, str] = {"i": "rows"}
    n = Count(poly("cols"))
    x = at("x", "i", "j")
    steps: list[Def] = []
    if residual:
        inputs["change"] = floats("rows", "cols")
        steps.append(define("h", ROW, add(x, at("change", "i", "j"))))
        x = at("h", "i", "j")
    if layer:
        inputs["bias"] = floats("cols", weight=True)
        steps.append(define("mean", row, div(total("j", "cols", x), n)))
        away = sub(x, at("mean", "i"))
        steps.append(define("varied", row, div(total("j", "cols", mul(away, away)), n)))
        scaled = mul(div(away, Fn("sqrt", (add(at("varied", "i"), Num(0.001)),))), at("gain", "j"))
        steps.append(define("y", ROW, add(scaled, at("bias", "j"))))
    else:
        steps.append(define("square", row, total("j", "cols", mul(x, x))))
        spread = Fn("sqrt", (add(div(at("square", "i"), n), Num(0.001)),))
        steps.append(define("y", ROW, mul(div(x, spread), at("gain", "j"))))
    results = ("y", "h") if residual and choose.below(2) else ("y",)
    return Problem("norm", "layer" if layer else "rms", sizes("rows", "cols"), inputs, tuple(steps), results)


def reduction(choose: Chooser) -> Problem:
    variant = ("sum", "max", "min", "mean", "length", "whole", "columns", "product", "integer", "prefix", "count")[
        choose.below(11)
    ]
    inputs, x = {"x": floats("rows", "cols")}, at("x", "i", "j")
    scalars: dict[str, str] = {}
    row: dict[str, str] = {"i": "rows"}
    kind = "Int" if variant in ("integer", "count") else "Float"
    match variant:
        case "max" | "min":
            value: Expr = Fold(variant, "j", poly("cols"), x)
        case "mean":
            value = div(total("j", "cols", x), Count(poly("cols")))
        case "length":
            value = Fn("sqrt", (total("j", "cols", mul(x, x)),))
        case "whole":
            row, value = {}, total("i", "rows", total("j", "cols", x))
        case "columns":
            row, value = {"j": "cols"}, total("i", "rows", x)
        case "product":
            value = Fold("*", "j", poly("cols"), x)
        case "integer":
            inputs, value = {"x": integers("rows", "cols")}, total("j", "cols", mul(x, x), kind="Int")
        case "prefix":
            inputs["count"] = integers(1, low=0, high="cols")
            scalars["known"] = "item 1 of count"
            value = total("j", "known", x, box=poly("cols"), nonempty=False)
        case "count":
            value = Fold("+", "j", poly("cols"), Num(1), tests=(Test(">", x, Num(0.0)),), kind="Int")
        case _:
            value = total("j", "cols", x)
    steps = (define("y", row, value, kind=kind),)
    return Problem("reduction", variant, sizes("rows", "cols"), inputs, steps, scalars=scalars)


def best(choose: Chooser) -> Problem:
    whole, last, integer, least = (bool(choose.below(2)) for _ in range(4))
    kind = "Int" if integer else "Float"
    base = choose.below(2)
    inputs = {"x": integers("rows", "cols") if integer else floats("rows", "cols")}
    x: At = at("x", "i", "j")
    if whole:
        inputs = {"x": integers("cols") if integer else floats("cols")}
        x = at("x", "j")
    value = Best("j", poly("cols"), x, last, base, least, kind)
    steps = [define("y", {} if whole else {"i": "rows"}, value, kind="Int")]
    results = ["y"]
    if choose.below(2):  # top-1: the value beside the place
        steps.append(
            define(
                "z",
                {} if whole else {"i": "rows"},
                Fold("min" if least else "max", "j", poly("cols"), x, kind=kind),
                kind=kind,
            )
        )
        results.append("z")
    names = ("cols",) if whole else ("rows", "cols")
    return Problem("best", "whole" if whole else "rows", sizes(*names), inputs, tuple(steps), tuple(results))
