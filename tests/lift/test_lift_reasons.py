"""Every reason to refuse is earned by a small program, at the place it names, with what would mend it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lifting import Facts, Table, agree, floats, ints, lifted

import spatial.lift

FACTS = Facts(
    {"n": 6, "m": 4},
    {
        "place": Table((1,), "int", (0, 5)),
        "count": Table((1,), "int", (1, 6)),
        "free": Table((1,), "int"),
        "counts": Table((6,), "int", (0, 9)),
        "pick": Table((6,), "int", (1, 4)),
        "xs": Table((6,), "float"),
        "kept": Table((6, 4), "float", None, True),
    },
    ("x", "g", "w"),
)


def cases() -> Iterator[tuple[str, str, str, str]]:
    """Each case of `reasons.cases`: source, place, how the reason begins, what would mend it (empty: any)."""
    text = (Path(__file__).parent / "reasons.cases").read_text(encoding="utf-8")
    source: list[str] = []
    said: list[str] = []
    for line in [*(t for t in text.splitlines() if not re.match(r"# |#$", t)), ""]:
        if line.startswith(">> "):
            said.append(line.removeprefix(">> "))
        elif said:
            place, _, why = said[0].partition(" ")
            yield "\n".join(source) + "\n", place, why, said[1] if len(said) > 1 else ""
            source, said = [line] if line else [], []
        else:
            source.append(line)


def missing_of(source: str) -> list[tuple[str, str, str]]:
    found = lifted(source, FACTS, tuple(n for n in ("y", "s") if f"Let {n} " in source)[:1])
    assert found.graph is None
    return [(f"{m.line}:{m.column}", m.why, m.mend) for m in found.missing]


REASONS = list(cases())


@pytest.mark.parametrize(("source", "place", "why", "mend"), REASONS, ids=range(len(REASONS)))
def test_a_program_earns_its_reason(source: str, place: str, why: str, mend: str) -> None:
    found = missing_of(source)
    assert len(found) == 1, found
    assert found[0][0] == place and found[0][1].startswith(why), found
    assert not mend or found[0][2] == mend, found


def test_the_cases_are_read() -> None:
    assert len(REASONS) > 80
    assert all(re.fullmatch(r"\d+:\d+", place) and why for _, place, why, _ in REASONS)


ADVISED = {
    "max(second, min(best, u)), set before best is": """Let best be 0.
Let second be 0.
Repeat for v in counts:
    Set second to max(second, min(best, v)).
    Set best to max(best, v).
Let y be best * 10 + second.
""",
    "min(ok, same), where same is 1 or 0": """Let y be 0.
Let ok be 1.
Repeat for i from 1 to n:
    Let same be 1.
    If counts[i] > 3:
        Set same to 0.
    Set ok to min(ok, same).
    If ok == 1:
        Set y to y + 1.
""",
    "Set item i of best to max(item i of best, u)": """Let y be 4 copies of 0.0.
Repeat for i from 1 to n:
    Set item pick[i] of y to max(item pick[i] of y, xs[i]).
""",
    "what it gains, Push to it": "Let y be [].\nRepeat for v in xs:\n    Push v * 2.0 to y.\n",
    "what adds up, by a sum of its own": """Let y be [].
Repeat for i from 1 to n:
    Let line be [].
    Repeat for j from 1 to m:
        Let s be 0.0.
        Repeat for k from 1 to i:
            Set s to s + kept[k][j].
        Push s to line.
    Push line to y.
""",
    "count the items that equal it, in a loop over them": """Let y be 0.
Repeat for v in pick:
    Let found be 0.
    Repeat for w in counts:
        If w == v:
            Set found to found + 1.
    If found > 0:
        Set y to y + v.
""",
    "compare the distance of the two, as in abs(a - b) < 0.000001": """Let y be 0.
Repeat for v in xs:
    If abs(v - 0.5) < 0.25:
        Set y to y + 1.
""",
}
"""Parts of what refusals advise, and a program that does so."""


@pytest.mark.parametrize("advice", ADVISED)
def test_what_a_refusal_advises_lifts(advice: str) -> None:
    assert any(advice in mend for *_, mend in REASONS)
    source = "## Main\n" + ADVISED[advice]
    for seed in range(4):
        given = {"counts": ints(seed, 0, 9, 6), "pick": ints(seed, 1, 4, 6), "xs": floats(seed, 6)}
        agree(source, FACTS, given | {"kept": floats(seed, 6, 4)})


# ---------------------------------------------------------------- none is unproved


def templates() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every reason that the lifter's text has, as a pattern; what a program puts in it matches anything."""
    for path in sorted(Path(spatial.lift.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            why = node.args[0]
            if node.func.id not in ("NotLifted", "Undefined"):
                continue
            if isinstance(why, ast.Constant):
                yield f"{path.name}: {why.value}", re.compile(re.escape(str(why.value)))
            elif isinstance(why, ast.JoinedStr):
                parts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".*" for p in why.values]
                yield f"{path.name}: {''.join(parts)}", re.compile("".join(parts))


UNMET = {
    "boxes, names and indices that earlier steps put right": (
        'emit.py: ".*"\\ is\\ no\\ variable\\ of\\ this\\ statement',
        "emit.py: an index is no sum of loop variables and one item of a table",
        'units.py: ".*"\\ has\\ a\\ value\\ that\\ only\\ a\\ run\\ knows',
        "units.py: a value of a loop is read outside it",
    ),
    "what a loop carries, refused before under another name": (
        "combine.py: the result is an Int where the loop runs no time",
        "nests.py: a function that the loop calls changes a variable that the loop sets back",
        'nests.py: how\\ much\\ longer\\ ".*"\\ is\\ after\\ an\\ iteration\\ is\\ not\\ what\\ its\\ text\\ tells',
        "nests.py: the loop changes a variable between Int and Float",
        'nests.py: an\\ index\\ of\\ ".*"\\ depends\\ on\\ a\\ value\\ the\\ loop\\ computes\\ as\\ it\\ goes',
    ),
    "shapes that the first execution learns, or refuses to read": (
        'stores.py: the\\ shape\\ of\\ ".*"\\ is\\ not\\ known:\\ nothing\\ but\\ this\\ copy\\ tells\\ it',
        "stores.py: the shape of the row is not known",
        'stores.py: the\\ shape\\ of\\ ".*"\\ is\\ not\\ known,\\ so\\ nothing\\ can\\ be\\ pushed\\ to\\ it',
    ),
    "the parser refuses such depth": ("lifter.py: an expression is nested too deep",),
    "told by their own tests": (
        "spent.py: calls,\\ and\\ loops\\ taken\\ step\\ by\\ step,\\ make\\ more\\ than\\ .*\\ statements\\ of\\ it",
        'sizes.py: ".*"\\ is\\ computed\\ by\\ an\\ expression\\ that\\ is\\ nested\\ more\\ than\\ .*\\ deep',
        'roots.py: the\\ result\\ ".*"\\ has\\ the\\ name\\ of\\ an\\ input',
        'running.py: ".*"\\ starts\\ as\\ something,\\ beside\\ a\\ maximum\\ that\\ starts\\ below\\ everything',
    ),
}
"""Reasons that no program here earns. They stand behind another check, and refuse whatever may come to them all the
same: a graph is never made of what was not foreseen."""


def test_every_reason_is_earned_or_stands_behind_another() -> None:
    said = [why for source, *_ in REASONS for _, why, _ in missing_of(source)]
    left = [name for name, pattern in templates() if not any(pattern.fullmatch(why) for why in said)]
    assert sorted(left) == sorted(name for names in UNMET.values() for name in names)
