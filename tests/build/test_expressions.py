"""Integer expressions over sizes, and relations between inputs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatial.build.expressions import ExpressionError, evaluate, relation

SIZES = {"vocab": 49152, "rows": 32, "positions": 256}


@pytest.mark.parametrize(
    ("text", "value"),
    [("vocab - 1", 49151), ("positions - rows", 224), ("2 * (rows + 1) - -3", 69), ("rows*rows*2", 2048), ("-7", -7),
     ("10 - 4 - 3", 3)],
)  # fmt: skip
def test_values(text, value):
    assert evaluate(text, SIZES) == value


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("vocap - 1", 'did you mean "vocab"'), ("rows / 2", '"/"'), ("rows +", "ends where"),
        ("(rows", 'without its ")"'),
        ("rows rows", "goes on"), ("", "ends where"), ("9" * 30, "2^62"), ("1 +" * 100 + "1", "characters"),
        ("__import__('os')", "import"), ("rows < 3", "goes on"), ("2 ** 3", "should stand"), ("١", "sums"),
    ],
)  # fmt: skip
def test_what_is_no_expression(text, part):
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, SIZES)
    assert part in str(caught.value)


SMALL = {"vocab": 1000, "rows": 32, "positions": 256}
"""Sizes of which six can be multiplied below the limit of values."""

trees = st.recursive(
    st.integers(-50, 50).map(lambda n: f"({n})") | st.sampled_from(sorted(SMALL)),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=6,
)


@given(trees)
def test_values_are_pythons(text):
    assert evaluate(text, SMALL) == eval(text, {}, dict(SMALL))


def test_relations_keep_inputs_as_symbols():
    made = relation("start + count <= positions", SIZES, frozenset({"start", "count"}))
    assert made.left.terms == (("count", 1), ("start", 1))
    assert made.holds({"start": 224, "count": 32})
    assert not made.holds({"start": 225, "count": 32})
    assert relation("2 * start - start - start == 0", SIZES, frozenset({"start"})).left.terms == ()
    with pytest.raises(ExpressionError, match="states no relation"):
        relation("start", SIZES, frozenset({"start"}))
    with pytest.raises(ExpressionError, match="multiplies two inputs"):
        relation("start * start < 3", SIZES, frozenset({"start"}))
