"""Show forms and formats."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatial.logos.interpret import interpret
from spatial.logos.parser import parse
from spatial.logos.show import show_value
from spatial.logos.values import Seq


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e21, "1" + "0" * 21),
        (1.0e-7, "0.0000001"),
        (-0.0, "-0"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (2.0**63, "9223372036854776000"),
        (1.5e300, "15" + "0" * 299),
        (5e-324, "0." + "0" * 323 + "5"),
        (123, "123"),
        (-(10**30), "-1" + "0" * 30),
        (True, "true"),
        (None, "nothing"),
        ("raw {x}", "raw {x}"),
        (Seq.of([1, 2.5, [True, "a"], []]), "[1, 2.5, [true, a], []]"),
    ],
)
def test_show_forms(value: object, text: str) -> None:
    assert show_value(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_shown_float_reads_back(value: float) -> None:
    text = show_value(value)
    assert "e" not in text.lower() and not text.endswith(".0")
    assert repr(float(text)) == repr(value)


@pytest.mark.parametrize("digits", [4000, 4301, 20_000])
def test_integers_of_any_size_are_shown(digits: int) -> None:
    assert show_value(10**digits) == "1" + "0" * digits
    assert show_value(-(10**digits) + 1) == "-" + "9" * digits


@pytest.mark.parametrize(
    ("hole", "text"),
    [
        ("{2.5:.0}", "2"),
        ("{3.5:.0}", "4"),
        ("{0.125:.2}", "0.12"),
        ("{-0.001:.2}", "-0.00"),
        ("{7:.2}", "7.00"),
        ("{nan:.2}", "NaN"),
        ("{infinity:.2}", "inf"),
        ("{true:.2}", "true"),
        ("{5:3}", "  5"),
        ("{5:>3}", "  5"),
        ("{5:<3}|", "5  |"),
        ("{5:^4}|", " 5  |"),
        ("{12345:3}", "12345"),
        ("{x:5}", "  abc"),
        ("{x=}", "x=abc"),
        ("{n=:.1}", "n=4.0"),
        ("{2.5:$}", "$2.50"),
        ("{2 ** 70:$}", "$1180591620717411303424.00"),
        ("{x:e}", "abc"),
        ("a{n}b{n + 1}c", "a4b5c"),
        ("{{{n}}}", "{4}"),
        ("{xs[1]} {length(xs)} {item 2 of xs} {length of xs}", "7 2 8 2"),
        ("{n == 4}", "true"),
        ("{n > 1 & n < 3}", "false"),
        ('\\"{x}\\"', '"abc"'),
    ],
)
def test_formats(hole: str, text: str) -> None:
    lines: list[str] = []
    interpret(parse(f'Show "{hole}".'), {"x": "abc", "n": 4, "xs": [7, 8]}, (), lines.append)
    assert lines == [text]
