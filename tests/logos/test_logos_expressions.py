"""Expressions: every spelling, its canonical form, precedence, and what does not parse."""

import math

import pytest

from spatial.errors import SourceError
from spatial.logos.parser import parse
from spatial.logos.syntax import Expr, FloatLiteral, IntLiteral, Show


def expr(text: str, before: str = "") -> Expr:
    """The expression, parsed as what a Show shows."""
    statement = parse(f"## Main\n{before}\nShow {text}.").main[-1]
    assert isinstance(statement, Show)
    return statement.value


SAME = [
    # Spelled out and symbolic forms are one.
    ("a plus b", "a + b"),
    ("a minus b", "a - b"),
    ("a times b", "a * b"),
    ("a divided by b", "a / b"),
    ("a modulo b", "a % b"),
    ("a mod b", "a % b"),
    ("a to the power of b", "a ** b"),
    ("a followed by b", "a + b"),
    ("a xor b", "a ^ b"),
    ("the sum of a and b", "a + b"),
    ("the product of a and b", "a * b"),
    ("the difference of a and b", "a - b"),
    ("the quotient of a and b", "a / b"),
    ("the remainder of a and b", "a % b"),
    ("the sum of a * 2 and b + 1", "a * 2 + (b + 1)"),
    ("a = b", "a == b"),
    ("a equals b", "a == b"),
    ("a is equal to b", "a == b"),
    ("a is identical to b", "a == b"),
    ("a is 5", "a == 5"),
    ("a is -5", "a == -5"),
    ("a is not b", "a != b"),
    ("a isn't b", "a != b"),
    ("a is less than b", "a < b"),
    ("a is before b", "a < b"),
    ("a is greater than b", "a > b"),
    ("a is after b", "a > b"),
    ("a is at most b", "a <= b"),
    ("a is at least b", "a >= b"),
    ("x is between 1 and 9", "1 <= x and x <= 9"),
    ("x is even", "x % 2 == 0"),
    ("x is odd", "x % 2 == 1"),
    ("x is divisible by n", "x % n == 0"),
    ("a is approximately equal to b", "a is approximately b"),
    ("xs contains x", "x in xs"),
    ("x not in xs", "not x in xs"),
    ("a < b < c", "a < b and b < c"),
    ("a is at least b > c", "a >= b and b > c"),
    ("-x", "0 - x"),
    ("--x", "0 - (0 - x)"),
    ("~x", "x ^ -1"),
    ("item i of xs", "xs[i]"),
    ("item (i + 1) of xs", "xs[i + 1]"),
    ("item -1 of xs", "xs[-1]"),
    ("item 1 of item 2 of g", "g[2][1]"),
    ("item i of g[2]", "g[2][i]"),
    ("item i of xs + 1", "xs[i] + 1"),
    ("items 1 through n of xs + ys", "items 1 through n of (xs + ys)"),
    ("items (a) through (b + 1) of xs", "items a through (b + 1) of xs"),
    ("items 1 through 2", "items 1 through 2 of items"),
    ("items 2 through length of xs of xs", "items 2 through (length of xs) of xs"),
    ("length of xs / 2", "(length of xs) / 2"),
    ("length(xs)", "length of xs"),
    ("the length of xs", "length of xs"),
    ("copy of xs + [1]", "copy(xs + [1])"),
    ("n copies of 0", "repeatSeq(0, n)"),
    ("n copies of 0 times 2", "repeatSeq(0 * 2, n)"),
    ("[1, 2,]", "[1, 2]"),
    ("a new Seq of Int", "new List of Int"),
    ("[] of Int", "a new Seq of Int"),
    ("a new Seq", "[]"),
    ("a new Seq of (Seq of Float)", "new Seq of (Seq of Real)"),
    ("xs.f(y)", "f(xs, y)"),
    ("xs.f(1).g()", "g(f(xs, 1))"),
    ("f(a, b,)", "f(a, b)"),
    ("0xff", "255"),
    ("0b101", "5"),
    ("0o17", "15"),
    ("0xFFFFFFFFFFFFFFFF", "-1"),
    ("1,000", "1000"),
    ("1_000", "1000"),
    ("max(3,4)", "max(34)"),
    ("none", "nothing"),
    ('"{x=}"', '"x={x}"'),
    ('"{x=:.2}"', '"x={x:.2}"'),
    ('"{a & b}"', '"{a and b}"'),
    ('"{a b c}"', '"{a}"'),
    ('"{item 2 of xs}"', '"{xs[2]}"'),
    ('"{x:e}"', '"{x}"'),
]

PRECEDENCE = [
    ("a or b and c", "a or (b and c)"),
    ("not a == b", "not (a == b)"),
    ("not a and b", "(not a) and b"),
    ("a == b | c", "a == (b | c)"),
    ("a | b ^ c", "a | (b ^ c)"),
    ("a ^ b & c", "a ^ (b & c)"),
    ("a & b + c", "a & (b + c)"),
    ("a + b shifted left by c", "a + (b shifted left by c)"),
    ("a shifted right by b * c", "a shifted right by (b * c)"),
    ("a * b ** c", "a * (b ** c)"),
    ("a ** b ** c", "a ** (b ** c)"),
    ("-2 ** 2", "(-2) ** 2"),
    ("-x ** 2", "(0 - x) ** 2"),
    ("a - b - c", "(a - b) - c"),
    ("a / b * c // d % e", "(((a / b) * c) // d) % e"),
    ("a + b combined with c - d", "((a + b) combined with c) - d"),
    ("a - -3", "a - (-3)"),
    ("x in xs and y", "(x in xs) and y"),
    ("2 ** -1", "2 ** (-1)"),
    ("-xs[1]", "0 - (xs[1])"),
]


@pytest.mark.parametrize(("text", "canonical"), SAME + PRECEDENCE)
def test_means_the_same(text: str, canonical: str) -> None:
    assert repr(expr(text)) == repr(expr(canonical))


@pytest.mark.parametrize(
    ("text", "other"),
    [("a - b - c", "a - (b - c)"), ("not a == b", "(not a) == b"), ("1", "1.0"), ("-0.0", "0.0"), ("True", "true")],
)
def test_means_something_else(text: str, other: str) -> None:
    assert repr(expr(text)) != repr(expr(other))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5e-3", 0.0015),
        ("1e400", math.inf),
        ("infinity", math.inf),
        ("-infinity", -math.inf),
        ("2E+4", 2e4),
        ("-0.0", -0.0),
    ],
)
def test_floats(text: str, value: float) -> None:
    found = expr(text)
    assert isinstance(found, FloatLiteral) and repr(found.value) == repr(value)


def test_the_smallest_integer_is_one_literal() -> None:
    assert expr("-9223372036854775808") == IntLiteral(-(1 << 63))


@pytest.mark.parametrize(
    ("word", "means"), [("nan", "FloatLiteral(value=nan)"), ("infinity", "FloatLiteral(value=inf)")]
)
def test_a_bound_variable_wins_over_a_word(word: str, means: str) -> None:
    assert repr(expr(word)) == means
    assert repr(expr(word, f"Let {word} be 1.")) == f"Name(name='{word}')"


def test_a_bound_variable_wins_over_an_operator_word() -> None:
    main = parse("## Main\nLet times be 2.\nLet x be times\ntimes = 3.").main
    assert len(main) == 3


def test_lines_continue_until_a_period() -> None:
    assert repr(expr("x\n- 3")) == repr(expr("x - 3"))


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("a is b", 8, "no comparison"),
        ("a is not equal to b", 17 - 2, "no comparison"),
        ("a is less than or equal to b", 21, "at most"),
        ("a < b < c < d", 16, "more than two"),
        ("item 0 of xs", 11, "item 0 does not exist"),
        ("item i + 1 of xs", 13, 'expected "of"'),
        ("(a, b)", 6, "a tuple is not part"),
        ("(x: Int) -> x", 6, "a closure"),
        ("{1, 2}", 6, "a map or set is not part"),
        ('item "k" of m', 11, "a map is not part"),
        ("a union b", 8, "a set operation"),
        ("x.field", 8, "field of a structure"),
        ("a new Map", 12, "a new Map is not part"),
        ("some 5", 6, "an optional value"),
        ('t in "UTC"', 8, "time zones"),
        ("99999999999999999999", 6, "64 bits"),
        ("9223372036854775808", 6, "64 bits"),
        ("", 6, "expected an expression"),
        ("[1, 2", 11, 'expected "]"'),
        ("(1", 8, 'expected ")"'),
        ("f(1", 9, 'expected ")"'),
        ("xs[1", 10, 'expected "]"'),
        ("a shifted by 2", 16, "left"),
        ('"{}"', 8, "an empty hole"),
        ('"{x"', 8, "a hole without an end"),
        ('"{x:08.3}"', 8, "no format"),
        ('"{x:>8.3}"', 8, "no format"),
        ('"{x:99999}"', 8, "no format"),
        ('"{1 + }"', 12, "expected an expression"),
    ],
)
def test_refused_with_its_place(text: str, column: int, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(f"## Main\nShow {text}.", "t.lg")
    first = caught.value.problems[0]
    assert first.place is not None
    assert words in str(first)
    assert (first.place.line, first.place.column) == (2, column)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "-" * 5000 + "x",
        "not " * 5000 + "x",
        "1 + " * 5000 + "1",
        "2 ** " * 5000 + "1",
        "item 1 of " * 5000 + "xs",
        "[" * 5000,
        "copy of " * 5000 + "x",
        "xs" + "[1]" * 5000,
        "f(" * 5000,
        "1 < (" * 60 + "1" + " < 1)" * 60,
    ],
)
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(SourceError):
        parse(f"## Main\nShow {text}.")


def test_a_sum_of_130_terms_and_parentheses_32_deep_parse() -> None:
    expr(" + ".join(["x"] * 130))
    expr("(" * 32 + "x" + ")" * 32)
