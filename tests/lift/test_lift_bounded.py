"""Whatever a few lines would make the lifter do, it ends: work and memory have bounds, and a refusal names them."""

from __future__ import annotations

import pytest
from lifting import Facts, Table, agree, floats, lifted, refusals

from spatial.ir.graph import Fn, Statement, Value
from spatial.lift.context.spent import RUN

FACTS = Facts({"n": 6}, {"x": Table((6,), "float")})


def doubling_calls(depth: int) -> str:
    """Functions that each call the one before twice."""
    calls = "".join(
        f"## To f{k} (a: Float) -> Float:\n    Return f{k - 1}(a) * 0.5 + f{k - 1}(a + 1.0).\n"
        for k in range(1, depth + 1)
    )
    return f"## To f0 (a: Float) -> Float:\n    Return a + x[1].\n{calls}## Main\nLet y be f{depth}(x[2]).\n"


def branching_calls(depth: int) -> str:
    """Functions that call the one before on either branch."""
    calls = "".join(
        f"## To f{k} (a: Float) -> Float:\n"
        f"    If a > {k}.0:\n        Return f{k - 1}(a).\n    Return f{k - 1}(a + 1.0).\n"
        for k in range(1, depth + 1)
    )
    return f"## To f0 (a: Float) -> Float:\n    Return a.\n{calls}## Main\nLet y be f{depth}(x[1]).\n"


def steps_in_steps(depth: int) -> str:
    """Loops in loops, taken step by step."""
    around = "".join("    " * (k + 1) + f"Repeat for j{k} from 1 to 2:\n" for k in range(depth))
    inner = "    " * (depth + 1) + "Set p to p * p + x[i].\n"
    before = "## Main\nLet y be a new Seq of Float.\nRepeat for i from 1 to n:\n    Let p be x[i].\n"
    return f"{before}{around}{inner}    Push p to y.\n"


@pytest.mark.parametrize(
    "source", [doubling_calls(30), branching_calls(30), steps_in_steps(14)], ids=["calls", "branches", "loops"]
)
def test_more_statements_than_any_program_runs_are_refused_as_a_whole(source: str) -> None:
    found = lifted(source, FACTS)
    assert found.graph is None and len(found.missing) == 1
    assert found.missing[0].why.startswith("calls, and loops taken step by step, make more than 50000 statements")
    assert found.missing[0].line == len(source.splitlines()) - (source.count("Repeat") > 0) * (
        2 + source.count("Repeat")
    )


@pytest.mark.parametrize(
    "source", [doubling_calls(7), branching_calls(7), steps_in_steps(2)], ids=["calls", "branches", "loops"]
)
def test_some_of_them_lift(source: str) -> None:
    agree(source, FACTS, {"x": floats(0, 6)})


def test_as_many_statements_as_the_text_has_are_no_work_without_end() -> None:
    source = "## Main\n" + "".join(f"Let a{k} be x[1] + {k}.0.\n" for k in range(RUN // 10)) + "Let y be a0.\n"
    assert lifted(source, FACTS).graph is not None


def test_what_functions_in_a_circle_change_is_carried() -> None:
    source = """## To f (k: Int):
    If k > 1:
        g(k).
    Set total to total + x[1].
## To g (k: Int):
    f(1).
    If k > 5:
        f(k).
## Main
Let total be 0.0.
f(0).
Repeat for i from 1 to n:
    g(2).
Let y be total.
"""
    agree(source, FACTS, {"x": floats(2, 6)})


def test_a_shown_text_does_not_double_without_end() -> None:
    source = '## Main\nLet y be 1.\nLet s be "a{y}".\n' + "Set s to s + s.\n" * 40 + "Show s.\n"
    ((line, why), *_) = refusals(source, FACTS)
    assert line == 15 and why == "a text of more than 4096 parts is put together"


def test_sequences_that_double_are_no_work() -> None:
    found = lifted("## Main\nLet y be [x[1], x[2]].\n" + "Set y to y + y.\n" * 40, FACTS)
    assert found.graph is not None or found.missing


@pytest.mark.parametrize("depth", [5, 40])
def test_choices_within_choices_are_looked_at_so_often_and_no_more(depth: int) -> None:
    source = "## Main\nLet k be floor(x[1]).\n" + "Set k to max(k, min(k, 3) + k) - k * 2.\n" * depth
    agree(source + "Let y be x[max(1, min(k, 6))].\n", FACTS, {"x": floats(1, 6)})


@pytest.mark.parametrize("steps", [60, 330])
def test_a_long_chain_of_operations_is_several_statements(steps: int) -> None:
    """What a graph is written as holds no more than some hundred levels."""
    body = "".join(f"    Set t to t * (item i of x * 0.5) + {k}.5.\n" for k in range(steps))
    source = f"## Main\nLet y be [].\nRepeat for i from 1 to n:\n    Let t be item i of x.\n{body}    Push t to y.\n"
    facts = Facts({"n": 4}, {"x": Table((4,), "float")})
    graph = agree(source, facts, {"x": floats(1, 4)})
    values = [p.value for s in graph.nodes if isinstance(s, Statement) for p in s.pieces]
    assert len(values) >= 2 * steps // 96 and max(map(depth, values)) <= 96


def depth(value: Value) -> int:
    return 1 + max(map(depth, value.args), default=0) if isinstance(value, Fn) else 1


def test_conditions_nested_too_deep_are_refused() -> None:
    tests = "".join(f"    Let c{k + 1} be item i of x > {k}.5 {('and', 'or')[k % 2]} c{k}.\n" for k in range(100))
    source = (
        f"## Main\nLet y be 0.\nRepeat for i from 1 to n:\n    Let c0 be item i of x > 0.5.\n{tests}"
        "    If c100:\n        Set y to y + 1.\n"
    )
    ((_, why),) = refusals(source, Facts({"n": 4}, {"x": Table((4,), "float")}))
    assert why == '"y" is computed by an expression that is nested more than 96 deep'
