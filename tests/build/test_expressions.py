"""Integer expressions over sizes, and relations between inputs."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatial.build.expressions import MAX_VALUE, ExpressionError, evaluate, relation

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


@dataclass(frozen=True)
class Drawn:
    """An expression, and the value of each of its parts as Python has it, its own last."""

    text: str
    parts: tuple[int, ...]


def joined(sides: tuple[Drawn, str, Drawn]) -> Drawn:
    """The sum, difference or product of two."""
    one, sign, other = sides
    a, b = one.parts[-1], other.parts[-1]
    value = {"+": a + b, "-": a - b, "*": a * b}[sign]
    return Drawn(f"({one.text} {sign} {other.text})", (*one.parts, *other.parts, value))


trees = st.recursive(
    st.integers(-50, 50).map(lambda n: Drawn(f"({n})", (n,)))
    | st.sampled_from(sorted(SIZES)).map(lambda name: Drawn(name, (SIZES[name],))),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(joined),
    max_leaves=6,
)


@given(trees)
def test_values_are_pythons_or_too_large(drawn):
    if max(map(abs, drawn.parts)) < MAX_VALUE:
        assert evaluate(drawn.text, SIZES) == drawn.parts[-1]
    else:
        with pytest.raises(ExpressionError, match=r"past 2\^62"):
            evaluate(drawn.text, SIZES)


LARGEST = MAX_VALUE - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [(f"{LARGEST}", LARGEST), (f"-{LARGEST}", -LARGEST), ("vocab * vocab * rows * rows", 49152**2 * 32**2),
     (f"{LARGEST - 1} + 1 - {LARGEST}", 0), ("2147483648 * 2147483647", 2**62 - 2**31)],
)  # fmt: skip
def test_values_just_below_the_limit(text, value):
    assert evaluate(text, SIZES) == value


@pytest.mark.parametrize(
    "text",
    [f"{MAX_VALUE}", f"-{MAX_VALUE}", f"{LARGEST} + 1", f"-{LARGEST} - 1", f"{LARGEST} + 1 - {LARGEST}",
     "2147483648 * 2147483648", "0 * (vocab * vocab * vocab * vocab)"],
)  # fmt: skip
def test_a_part_past_the_limit_is_refused_whatever_the_whole_is(text):
    with pytest.raises(ExpressionError, match=r"past 2\^62"):
        evaluate(text, SIZES)


def test_a_factor_of_an_input_past_the_limit_is_refused():
    with pytest.raises(ExpressionError, match=r"past 2\^62"):
        relation(f"start * {LARGEST} + start < 3", SIZES, frozenset({"start"}))


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
