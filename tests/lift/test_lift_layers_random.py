"""Chains of random layers, whatever of them folds, compute what the interpreter says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from layered import graph, trips

from spatial.ir.graph import Graph

_STEP = st.sampled_from(
    [
        "Set y to product(y, item {k} of w).",
        "Set y to normed(y, item {k} of g).",
        "Set y to plus(y, product(y, item {k} of w)).",
        "Set y to plus(y, item {k} of g).",
        "Set y to plus(product(z1, item {k} of w), y).",
        "Let old be copy of y.\nSet y to normed(z1, item {k} of g).\nSet z1 to plus(old, y).",
        "Set item {k} of log to y.",
        "Set z1 to plus(z1, item {k} of log).",
        "Set item {k} of log to product(y, one).",
        "Set y to product(y, one).",
        "Set kept to normed(y, one).",
    ]
)
_DISTANCE = st.integers(-1, 2)


@st.composite
def layers(draw: st.DrawFn) -> str:
    """Some steps, written several times at a constant distance, now and then with one that falls out of step."""
    text = "Let y be copy of x.\nLet z1 be copy of z.\nLet kept be copy of x.\n"
    for _ in range(draw(st.integers(1, 2))):
        steps = draw(st.lists(st.tuples(_STEP, st.integers(1, 5), _DISTANCE), min_size=1, max_size=4))
        for turn in range(draw(st.integers(1, 4))):
            for step, first, distance in steps:
                k = first + turn * distance if draw(st.integers(0, 9)) else draw(st.integers(1, 5))
                text += step.format(k=min(max(k, 1), 5)) + "\n"
    return text


def _lifted(text: str) -> Graph:
    names: dict[str, int] = {}
    lines: list[str] = []
    for line in text.splitlines():  # every sequence of its own name, as no loop is there to make it anew
        if line.startswith("Let old"):
            names["old"] = names.get("old", 0) + 1
        lines.append(line.replace("old", f"old{names.get('old', 0)}"))
    return graph("\n".join(lines), ("y", "z1", "kept"))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(layers())
def test_random_layers_compute_what_they_say(text: str) -> None:
    _lifted(text)


def test_many_of_them_fold() -> None:
    """The drawing is no empty test: most of its chains make a block."""
    folded = drawn = 0

    @settings(max_examples=15, deadline=None, derandomize=True, database=None)
    @given(layers())
    def draw(text: str) -> None:
        nonlocal folded, drawn
        drawn += 1
        folded += bool(trips(_lifted(text)))

    draw()
    assert folded > drawn / 4
