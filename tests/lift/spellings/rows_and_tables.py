"""What is computed: rows chosen and set, attention, rotation, views, windows and fills."""

from __future__ import annotations

from lift.spellings.choose import Chooser
from lift.spellings.families import (
    ROW,
    Family,
    activation,
    add,
    best,
    div,
    elementwise,
    floats,
    integers,
    mul,
    norm,
    product,
    reduction,
    sizes,
    softmax,
    sub,
)
from lift.spellings.model import (
    Bin,
    Choose,
    Count,
    Def,
    Expr,
    Fn,
    Fold,
    Input,
    Num,
    Poly,
    Problem,
    Test,
    Update,
    at,
    define,
    lookup,
    modulo,
    over,
    poly,
    total,
)
from lift.spellings.orders import joined, running, triangle


def gather(choose: Chooser) -> Problem:
    variant = ("rows", "items", "twice", "scaled", "one")[choose.below(5)]
    inputs = {"ids": integers("rows", low=0, high=poly("depth") - 1), "table": floats("depth", "cols", weight=True)}
    place = lookup("ids", "i")
    names = ("rows", "cols", "depth")
    axes: dict[str, str] = dict(ROW)
    match variant:
        case "items":
            inputs["table"], axes, names = floats("depth"), {"i": "rows"}, ("rows", "depth")
            value: Expr = at("table", place)
        case "twice":
            inputs["more"] = integers("depth", low=0, high=poly("depth") - 1)
            value = at("table", lookup("more", place), "j")
        case "scaled":
            inputs["g"] = floats("cols")
            value = mul(at("table", place, "j"), at("g", "j"))
        case "one":
            inputs["ids"] = integers(1, low=0, high=poly("depth") - 1)
            value, axes, names = at("table", lookup("ids", 0), "j"), {"j": "cols"}, names[1:]
        case _:
            value = at("table", place, "j")
    return Problem("gather", variant, sizes(*names), inputs, (define("y", axes, value),))


def update(choose: Chooser) -> Problem:
    variant = ("row", "item", "whole", "guarded", "scatter", "read after", "add")[choose.below(7)]
    inputs = {"held": floats("depth", "cols", state=True), "x": floats("cols")}
    inputs["position"] = integers(1, low=0, high=poly("depth") - 1)
    scalars = {"p": "item 1 of position"}
    axes: list[tuple[str, Poly]] = [("j", poly("cols"))]
    place, value = (poly("p"), poly("j")), at("x", "j")
    tests: tuple[Test, ...] = ()
    names: tuple[str, ...] = ("cols", "depth")
    more: tuple[Def, ...] = ()
    new: Expr = value
    match variant:
        case "item":
            axes, place, new = [], (poly("p"), poly(0)), at("x", 0)
        case "whole":
            axes, scalars = [("i", poly("depth")), *axes], {}
            place, new = (poly("i"), poly("j")), mul(value, Num(2.0))
            del inputs["position"]
        case "guarded":
            inputs["count"] = integers(1, low=0, high="depth")
            scalars["known"] = "item 1 of count"
            tests = (Test("<", Count(poly("p"), False), Count(poly("known"), False)),)
        case "scatter":
            inputs |= {"ids": integers("rows", low=0, high=poly("depth") - 1), "x": floats("rows", "cols")}
            del inputs["position"]
            scalars, names = {}, ("rows", "cols", "depth")
            axes, place, new = [("i", poly("rows")), *axes], (lookup("ids", "i"), poly("j")), at("x", "i", "j")
        case "read after":
            seen = Fold("+", "i", poly("p") + 1, at("held", "i", "j"), poly("depth"))
            more = (define("y", {"j": "cols"}, seen),)
        case "add":
            new = Bin("+", at("held", "p", "j"), value)
        case _:
            pass
    steps = (Update("held", tuple(axes), place, new, tests), *more)
    return Problem("update", variant, sizes(*names), inputs, steps, ("y",) if more else (), scalars)


_HEADS = (
    {"rows": 3, "heads": 4, "groups": 2, "head": 3, "steps": 5},
    {"rows": 4, "heads": 2, "groups": 1, "head": 4, "steps": 6},
)


def attention(choose: Chooser) -> Problem:
    variant = ("full", "causal", "decode")[choose.below(3)]
    grouped = choose.below(2)
    both = tuple(dict(s) if grouped else {**s, "groups": s["heads"]} for s in _HEADS)
    keys = "rows" if variant != "decode" else "steps"
    decode = variant == "decode"
    g = over("h", over("heads", "groups")) if grouped else poly("h")
    axes: dict[str, str | Poly] = {"h": "heads"} if decode else {"r": "rows", "h": "heads"}
    q = () if decode else (poly("r"),)
    shape = ("heads", "head") if decode else ("rows", "heads", "head")
    inputs = {
        "query": floats(*shape),
        "key": floats(keys, "groups", "head"),
        "value": floats(keys, "groups", "head"),
    }
    if not grouped:
        inputs |= {n: floats(keys, "heads", "head") for n in ("key", "value")}
    scalars: dict[str, str] = {}
    seen, box = poly(keys), None
    if variant == "causal":
        seen, box = poly("r") + 1, poly(keys)
    if decode:
        inputs["position"] = integers(1, low=0, high=poly("steps") - 1)
        scalars["place"] = "item 1 of position"
        seen, box = poly("place") + 1, poly(keys)
    score = total("d", "head", mul(at("query", *q, "h", "d"), at("key", "t", g, "d")))
    here = (*q, poly("h"))
    each = {**axes, "t": poly(keys)}
    steps: tuple[Def, ...] = (
        define("score", each, div(score, Fn("sqrt", (Count(poly("head")),)))),
        define("top", axes, Fold("max", "t", seen, at("score", *here, "t"), box)),
        define("share", each, Fn("exp", (sub(at("score", *here, "t"), at("top", *here)),))),
        define("whole", axes, Fold("+", "t", seen, at("share", *here, "t"), box)),
        define(
            "y",
            {**axes, "d": "head"},
            div(
                Fold("+", "t", seen, mul(at("share", *here, "t"), at("value", "t", g, "d")), box),
                at("whole", *here),
            ),
        ),
    )
    used = ("heads", "head", keys, *(("groups",) if grouped else ()))
    both = tuple({n: s[n] for n in used} for s in both)
    return Problem(
        "attention", variant + (" grouped" if grouped else ""), (both[0], both[1]), inputs, steps, scalars=scalars
    )


def rotary(choose: Chooser) -> Problem:
    near, made = choose.below(2), choose.below(2)
    both = ({"rows": 3, "half": 2}, {"rows": 2, "half": 3})
    width = poly("half") * 2
    left, right = (poly("i") * 2, poly("i") * 2 + 1) if near else (poly("i"), poly("i") + "half")
    inputs = {"x": floats("rows", width)}
    steps: list[Def] = []
    if made:
        angle = mul(
            Count(poly("r")),
            Fn("pow", (Num(10000.0), div(mul(Num(-2.0), Count(poly("i"))), Count(width)))),
        )
        steps += [define(n, {"r": "rows", "i": "half"}, Fn(f, (angle,))) for n, f in (("c", "cos"), ("s", "sin"))]
    else:
        inputs |= {"c": floats("rows", "half"), "s": floats("rows", "half")}
    a, b = at("x", "r", left), at("x", "r", right)
    c, s = at("c", "r", "i"), at("s", "r", "i")
    steps.append(
        define(
            "y",
            {"r": "rows", "i": "half"},
            sub(mul(a, c), mul(b, s)),
            add(mul(a, s), mul(b, c)),
            pairs="near" if near else "far",
        )
    )
    return Problem("rotary", "near" if near else "far", both, inputs, tuple(steps))


def view(choose: Chooser) -> Problem:
    variant = ("transposed", "flattened", "split", "reversed", "part", "heads")[choose.below(6)]
    inputs = {"x": floats("rows", "cols")}
    flat = poly("rows") * "cols"
    match variant:
        case "transposed":
            made = define("t", {"j": "cols", "i": "rows"}, at("x", "i", "j"))
        case "flattened":
            made = define("t", {"k": flat}, at("x", over("k", "cols"), modulo("k", "cols")))
        case "split":
            inputs = {"x": floats(flat)}
            made = define("t", ROW, at("x", poly("i") * "cols" + "j"))
        case "reversed":
            made = define("t", ROW, at("x", poly("rows") - 1 - "i", "j"))
        case "part":
            made = define("t", {"i": poly("rows") - 1, "j": "cols"}, at("x", poly("i") + 1, "j"))
        case _:
            inputs = {"x": floats("rows", flat)}
            made = define("t", {"c": "cols", "i": "rows", "j": "rows"}, at("x", "i", poly("c") * "rows" + "j"))
    steps: list[Def] = [made]
    if choose.below(2):
        here = tuple(poly(v) for v, _ in made.axes)
        steps.append(Def("y", made.axes, (mul(at("t", *here), Num(2.0)),)))
    else:
        steps = [Def("y", made.axes, made.values)]
    return Problem("view", variant, sizes("rows", "cols"), inputs, tuple(steps))


def window(choose: Chooser) -> Problem:
    variant = ("line", "padded", "plane", "channels", "max", "mean", "before", "mask")[choose.below(8)]
    both = ({"n": 7, "m": 6, "taps": 3, "wide": 4}, {"n": 8, "m": 4, "taps": 2, "wide": 3})
    inputs = {"x": floats("n"), "w": floats("taps", weight=True)}
    out = poly("n") - "taps" + 1
    axes: dict[str, str | Poly] = {"i": out}
    scalars: dict[str, str] = {}
    value: Expr
    match variant:
        case "padded":
            place = poly("i") + "k" - 1
            inside = (
                Test(">=", Count(place, False), Num(0)),
                Test("<", Count(place, False), Count(poly("n"), False)),
            )
            axes = {"i": "n"}
            value = total("k", "taps", mul(at("x", place), at("w", "k")), tests=inside)
        case "plane":
            inputs = {"x": floats("n", "m"), "w": floats("taps", "wide", weight=True)}
            axes = {"i": out, "j": poly("m") - "wide" + 1}
            term = mul(at("x", poly("i") + "k", poly("j") + "d"), at("w", "k", "d"))
            value = total("k", "taps", total("d", "wide", term))
        case "channels":
            inputs = {"x": floats("m", "n"), "w": floats("wide", "m", "taps", weight=True)}
            axes = {"c": "wide", "i": out}
            value = total("b", "m", total("k", "taps", mul(at("x", "b", poly("i") + "k"), at("w", "c", "b", "k"))))
        case "max" | "mean":
            inputs = {"x": floats(poly("m") * "wide")}
            axes = {"i": "m"}
            term_ = at("x", poly("i") * "wide" + "k")
            value = Fold("max", "k", poly("wide"), term_)
            if variant == "mean":
                value = div(total("k", "wide", term_), Count(poly("wide")))
        case "before":
            axes, inputs = {"i": "n"}, {"x": floats("n")}
            value = total("k", poly("i") + 1, at("x", "k"), box=poly("n"))
        case "mask":
            axes = {"i": "n"}
            inputs = {"x": floats("n"), "count": integers(1, low=0, high="n")}
            scalars["known"] = "item 1 of count"
            value = Choose((Test("<", Count(poly("i"), False), Count(poly("known"), False)),), at("x", "i"), Num(0.0))
        case _:
            value = total("k", "taps", mul(at("x", poly("i") + "k"), at("w", "k")))
    steps = (define("y", axes, value),)
    used = {n for t in inputs.values() for s in t.shape for n in s.symbols()}
    used |= {n for e in axes.values() for n in poly(e).symbols()}
    kept = tuple({n: v for n, v in s.items() if n in used} for s in both)
    return Problem("window", variant, (kept[0], kept[1]), inputs, steps, scalars=scalars)


def fill(choose: Chooser) -> Problem:
    variant = ("ramp", "pattern", "sine", "zeros", "power")[choose.below(5)]
    inputs: dict[str, Input] = {"x": floats("rows", "cols")}
    match variant:
        case "ramp":
            value: Expr = add(mul(Num(0.5), Count(poly("i"))), Count(poly("j")))
        case "pattern":
            value = Count(modulo(poly("i") * 3 + "j", 4), True)
        case "sine":
            value = Fn("sin", (div(Count(poly("j")), Num(3.0)),))
        case "zeros":
            value = Num(0.0)
        case _:
            value = Fn("pow", (Num(2.0), sub(Num(0.0), Count(poly("i")))))
    steps = (define("f", ROW, value), define("y", ROW, mul(at("x", "i", "j"), at("f", "i", "j"))))
    results = ("y", "f") if choose.below(2) else ("y",)
    return Problem("fill", variant, sizes("rows", "cols"), inputs, steps, results)


def collect(choose: Chooser) -> Problem:
    """Items and rows added where a table says."""
    variant = ("items", "rows", "some")[choose.below(3)]
    inputs = {"ids": integers("rows", low=0, high=poly("depth") - 1)}
    place, axes = (lookup("ids", "i"),), [("i", poly("rows"))]
    tests: tuple[Test, ...] = ()
    names: tuple[str, ...] = ("rows", "depth")
    if variant == "rows":
        inputs |= {"held": floats("depth", "cols", state=True), "x": floats("rows", "cols")}
        place, axes, names = (*place, poly("j")), [*axes, ("j", poly("cols"))], (*names, "cols")
        term: Expr = at("x", "i", "j")
    else:
        inputs |= {"held": floats("depth", state=True), "x": floats("rows")}
        term = at("x", "i")
    if variant == "some":
        tests = (Test(">", at("x", "i"), Num(0.0)),)
    step = Update("held", tuple(axes), place, Bin("+", at("held", *place), term), tests)
    return Problem("collect", variant, sizes(*names), inputs, (step,), ())


def shifted(choose: Chooser) -> Problem:
    """What lies beside, and something else where nothing does."""
    variant = ("before", "after", "row", "both", "diagonal")[choose.below(5)]
    inputs = {"x": floats("rows", "cols")}

    def seen(index: Poly, extent: str, value: Expr) -> Choose:
        inside = Test(">=", Count(index, False), Num(0)), Test("<", Count(index, False), Count(poly(extent), False))
        return Choose(inside, value, Num(0.5))

    i, j = poly("i"), poly("j")
    match variant:
        case "before":
            value: Expr = seen(j - 1, "cols", at("x", i, j - 1))
        case "after":
            value = seen(j + 2, "cols", mul(at("x", i, j + 2), Num(2.0)))
        case "row":
            value = seen(i - 1, "rows", sub(at("x", i, j), at("x", i - 1, j)))
        case "both":
            value = add(seen(j - 1, "cols", at("x", i, j - 1)), seen(j + 1, "cols", at("x", i, j + 1)))
        case _:
            value = seen(i - 1, "rows", seen(j + 1, "cols", at("x", i - 1, j + 1)))
    return Problem("shifted", variant, sizes("rows", "cols"), inputs, (define("y", ROW, value),))


FAMILIES: tuple[Family, ...] = (
    product,
    elementwise,
    activation,
    softmax,
    norm,
    reduction,
    best,
    gather,
    update,
    attention,
    rotary,
    view,
    window,
    fill,
    collect,
    shifted,
    running,
    joined,
    triangle,
)
