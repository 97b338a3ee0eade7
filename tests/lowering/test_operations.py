"""Every operation of the language over every kind of operand: lowered right, or refused by name; never a fault of ours.

One operand at least is read from a table, and an item of another is added, so that there is something to compute. The
four targets take turns; a nightly run tries each case on all.
"""

from __future__ import annotations

from itertools import product

import pytest
from graphs import Drawn
from running import LONE, SMALL, lowered
from sources import Source, compiled, hold, sources
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.target import Target

TARGETS = (REFERENCE, TF32, SMALL, LONE)
HEAD = """# sizes n = 5
# table q: Int [n] -9 .. 9
# table p: Int [n] 1 .. 7
# table x: Float [n]
# table r: Int [n] -20 .. 20
"""
NATIVES = ("exp", "log", "sin", "cos", "tanh", "erf")
DECLARED = "".join(f"## To native {name} (x: Float) -> Float\n" for name in NATIVES)
MAIN = "\n## Main\nLet y be a new Seq of {kind}.\nRepeat for k from 1 to n:\n    {body}\n"

TABLES = ("q[k]", "p[k]", "x[k]")
INTS = ("q[k]", "p[k]", "k", "3", "2", "-2")
FLOATS = ("x[k]", "2.5", "2.0")
BINARY = ("+", "-", "*", "/", "//", "%", "**")
CALLS = ("min", "max", "pow")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
UNARY = ("abs", "sqrt", "floor", "ceil", "round", *NATIVES)
BOUNDED = "min(max(x[k] * 3.0, -8.0), 8.5)"
BRANCHES = "\n        Push r[k] + 0.5 to y.\n    Otherwise:\n        Push r[k] * 1.5 to y."
ZERO = "the divisor is not proved to differ from zero"
ONE_OPERATION = ("2", "2.0")
"""Exponents with which a power of a Float is one operation."""


def refusal(op: str, a: str, b: str = "") -> str:
    """Part of the reason for which a case is refused; nothing where it lowers."""
    ints = a in INTS and b in INTS
    match op:
        case "/" | "//" if ints and b == "q[k]":
            return ZERO
        case "%" if not ints:
            return "% is of two Ints"
        case "%" if b == "q[k]":
            return ZERO
        case "**" if a in ("2", "3") and b == "p[k]":
            return ""  # one of the few powers that there may be
        case "**" | "pow" if ints:
            return "" if b in ("2", "3") else "a power of Ints needs a known exponent"
        case "**" | "pow":
            return "" if b in ONE_OPERATION else "a power of run-time values"
        case "floor" | "ceil" | "round" if a == "x[k]":
            return "a float that is not proved bounded becomes an integer"
        case _:
            return ""


def cases() -> dict[str, tuple[str, str]]:
    """The program of each case, by what it computes, and part of the reason for which it is refused."""
    found: dict[str, tuple[str, str]] = {}
    for a, b in product(INTS + FLOATS, repeat=2):
        if (a not in TABLES and b not in TABLES) or {a, b} == {"p[k]", "-2"}:
            continue  # nothing to compute, or it is known beforehand which is the greater
        for op in BINARY if a != b else BINARY[2:]:
            found[f"{a} {op} {b}"] = f"Push r[k] + ({a} {op} {b}) to y.", refusal(op, a, b)
        for op in CALLS:
            found[f"{op}({a}, {b})"] = f"Push r[k] + {op}({a}, {b}) to y.", refusal(op, a, b)
        if a != b and "2" not in (a, b):
            for op in COMPARISONS:
                found[f"{a} {op} {b}"] = f"If {a} {op} {b}:{BRANCHES}", ""
    for a, op in product((*TABLES, BOUNDED), UNARY):
        found[f"{op}({a})"] = f"Push r[k] + {op}({a}) to y.", refusal(op, a)
    found |= {f"-{a}": (f"Push r[k] + -{a} to y.", "") for a in TABLES}
    return found


CASES = cases()


def source(body: str, kind: str = "Float") -> Source:
    (found,) = sources("operation", HEAD + DECLARED + MAIN.format(kind=kind, body=body))
    return found


def judged(body: str, why: str, target: Target) -> None:
    work = source(body)
    found = work.lifted()
    if found.graph is None:
        assert why and why in found.missing[0].why and found.missing[0].mend
        return
    if why:
        with pytest.raises(Refused, match=why):
            compiled(work, target)
        return
    chip = compiled(work, target)
    for seed in (1, 2):
        hold(chip, seed)


@pytest.mark.parametrize("n", range(len(CASES)), ids=list(CASES))
def test_an_operation_lowers_or_is_refused_by_name(n: int):
    judged(*list(CASES.values())[n], TARGETS[n % len(TARGETS)])


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("name", CASES)
def test_an_operation_does_so_on_every_target(name: str, target: Target):
    judged(*CASES[name], target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize(
    "body",
    (
        "Push x[k] // (p[k] * 0.5) to y.",
        "Push x[k] - x[k] // 2.5 * 2.5 to y.",
        "Push (x[k] ** 2 + pow(x[k], 2.0)) ** 1 to y.",
        "Push (x[k] * x[k] + 1.0) ** -1 to y.",
        "Push (x[k] ** 0 + x[k]) ** 2.0 to y.",
    ),
)
def test_floors_of_quotients_and_powers_of_one_operation_compute_what_they_say(body: str, target: Target):
    judged(body, "", target)


@pytest.mark.parametrize(
    ("power", "mend"),
    (
        ("x[k] ** 3", "write x * x * x"),
        ("pow(x[k], -4.0)", "write 1.0 / (x * x * x * x)"),
        ("x[k] ** 0.5", "write sqrt(x)"),
        ("x[k] ** 2.5", "exp(log(x) * c)"),
        ("x[k] ** 40", "exp(log(x) * c)"),
        ("0.9 ** q[k]", "exp(y * log(x))"),
    ),
)
def test_a_power_that_rounds_more_than_once_is_refused_with_the_spelling_that_lowers(power: str, mend: str):
    found = source(f"Push {power} to y.").lifted()
    assert found.graph is not None
    (missing,) = lowered(Drawn(found.graph), REFERENCE).missing
    assert missing.why.startswith("a power of run-time values") and mend in missing.mend
