"""Sequences against a model that copies everything: random programs of changes in place give the same values."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spatial.logos.interpret import Seq, interpret
from spatial.logos.parser import parse
from spatial.logos.values import Text

FUNCTIONS = """
## To plain (xs: Seq of Int) -> Int:
    Push 9 to xs.
    If length of (item 1 of xs) > 0: Set item 1 of (item 1 of xs) to 5.
    Return length of xs.
## To by_reference (xs: mutable Seq of Int):
    Push [8] to xs.
## To same (xs: Seq of Int) -> Seq of Int:
    Return xs.
## To through (xs: Seq of Int) -> Seq of Int:
    Let ys be same(xs).
    Push [4] to ys.
    Return ys.
## To change_a (xs: Seq of Int) -> Int:
    Push [6] to a.
    Return length of xs.
## To local ():
    Let ys be a.
    Push [3] to item 1 of ys.
    Push ys to a.
"""

Env = dict[str, Any]


def copied(value: Any) -> Any:
    """The value, nothing in it shared with anything else."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


Step = tuple[str, Callable[[Env, str, str], None]]


def change_a(env: Env, v: str, w: str) -> None:
    before = len(env[w])
    env["a"].append([6])
    env[v].append([before])


def local(env: Env, v: str, w: str) -> None:
    ys = copied(env["a"])
    ys[0].append([3])
    env["a"].append(ys)


def put(place: str) -> Callable[[Env, str, str], None]:
    """Set `place` of v to a copy of w."""

    def step(env: Env, v: str, w: str) -> None:
        copy = copied(env[w])
        if place == "first":
            env[v][0] = copy
        elif place == "last":
            env[v][-1] = copy
        else:
            env[v].append(copy)

    return step


def rebind(value: Callable[[Env, str], Any]) -> Callable[[Env, str, str], None]:
    """Set v to a copy of what `value` gives."""

    def step(env: Env, v: str, w: str) -> None:
        env[v] = copied(value(env, w))

    return step


STEPS: list[Step] = [
    ("Set {v} to {w}.", rebind(lambda env, w: env[w])),
    ("Let {v} be same({w}).", rebind(lambda env, w: env[w])),
    ("Let {v} be through({w}).", rebind(lambda env, w: [*env[w], [4]])),
    ("Let {v} be {w} + {w}.", rebind(lambda env, w: env[w] + env[w])),
    ("Let {v} be [item 1 of {w}, {w}].", rebind(lambda env, w: [env[w][0], env[w]])),
    ("Let {v} be items 1 through 1 of {w}.", rebind(lambda env, w: env[w][:1])),
    ("Let {v} be 2 copies of {w}.", rebind(lambda env, w: [env[w], env[w]])),
    ("Set item 1 of {v} to {w}.", put("first")),
    ("Set item -1 of {v} to {w}.", put("last")),
    ("Push {w} to {v}.", put("end")),
    ("Push 1 to item 1 of {v}.", lambda env, v, w: env[v][0].append(1)),
    ("Push [2] to {v}.", lambda env, v, w: env[v].append([2])),
    ("Push plain({w}) to item 1 of {v}.", lambda env, v, w: env[v][0].append(len(env[w]) + 1)),
    ("by_reference({v}).", lambda env, v, w: env[v].append([8])),
    ("by_reference(item 1 of {v}).", lambda env, v, w: env[v][0].append([8])),
    ("Let n be change_a({w}). Push [n] to {v}.", change_a),
    ("local().", local),
    ("Repeat for row in {v}:\n    Push 7 to {w}.\n    Break.", lambda env, v, w: env[w].append(7)),
    ("Repeat for row in [{v}]:\n    Push 7 to row.", lambda env, v, w: None),
    ("Pop from item 1 of {v}.", lambda env, v, w: env[v][0] and env[v][0].pop()),
]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from("abc"), st.sampled_from("abc")), max_size=10))
def test_shared_buffers_behave_as_copies(steps: list[tuple[Step, str, str]]) -> None:
    start: Env = {"a": [[1], [2]], "b": [[3]], "c": [[], [4, 5]]}
    env = copied(start)
    lines = [f"Let {name} be {value}." for name, value in start.items()]
    for (text, step), v, w in steps:
        if len(str(env)) > 4000:
            break
        step(env, v, w)
        lines.append(text.format(v=v, w=w))
    run = interpret(parse(f"{FUNCTIONS}## Main\n" + "\n".join(lines)))
    for name in "abc":
        found = run.variables[name]
        assert isinstance(found, Seq)
        assert found.to_list() == env[name], lines


def test_an_operand_is_not_changed_by_a_later_one() -> None:
    text = """
## To grow () -> Seq of Int:
    Push 9 to a.
    Return [0].
## To total (xs: Seq of Int) and (ys: Seq of Int) -> Int:
    Return length of xs * 10 + length of ys.
## Main
Let a be [1].
Show a + grow().
Show total(a, grow()).
Show item (length of grow() - 2) of a.
Show a == grow().
Show items 1 through (length of grow() + 1) of a.
Show a.
"""
    lines: list[str] = []
    interpret(parse(text), {}, (), lines.append)
    assert lines == ["[1, 0]", "21", "9", "false", "[1, 9]", "[1, 9, 9, 9, 9, 9]"]


def test_the_characters_of_a_text_are_made_once() -> None:
    text = Text("aéb")
    assert [c.value for c in text.items] == ["a", "é", "b"]
    assert text.items is text.items
