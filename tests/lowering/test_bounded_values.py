"""What bounds an integer, and what does not: arithmetic of bounded floats, and the conditions of a choice."""

from __future__ import annotations

import numpy as np
import pytest
from sources import compiled, hold, sources
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.target import Target

UNBOUNDED = "a float that is not proved bounded becomes an integer"


@pytest.mark.parametrize(
    "lines",
    (
        "Let y be 0.0.\nRepeat for i from 1 to n:\n    Set y to y + round(x[i] * 10.0).\n",
        "Let y be 0.0.\nRepeat for i from 1 to n:\n    Set y to y + (x[i] - floor(x[i])).\n",
        "Let y be 0.0.\nRepeat for i from 1 to n:\n    If ceil(x[i]) > 2:\n        Set y to y + x[i].\n",
        "Let y be a new Seq of Int.\nRepeat for i from 1 to n:\n    Push round(q[i] * x[i]) to y.\n",
        "Let y be a new Seq of Int.\nRepeat for i from 1 to n:\n    Push round(1.0 / min(1.0, max(0.0, x[i]))) to y.\n",
        "Let y be a new Seq of Int.\nRepeat for i from 1 to n:\n    Push round(min(1.0, x[i]) + 1.0) to y.\n",
        "Let y be a new Seq of Int.\nRepeat for i from 1 to n:\n    Let s be x[i].\n"
        "    If s > 9.0:\n        Set s to 9.0.\n    Push round(s) to y.\n",
        "Let y be a new Seq of Int.\nRepeat for i from 1 to n:\n    Let s be x[i].\n"
        "    If s > 9.0:\n        Set s to 9.0.\n    If x[i] < -9.0:\n        Set s to -9.0.\n"
        "    If x[i] < 1.0:\n        Set s to x[i] - 3.0.\n    Push round(s) to y.\n",
    ),
)
def test_a_float_bounded_on_one_side_or_none_becomes_no_integer(lines: str):
    (source,) = sources(
        "unbounded", f"# sizes n = 6\n# table x: Float [n]\n# table q: Int [n] 0 .. 9\n## Main\n{lines}"
    )
    with pytest.raises(Refused, match=UNBOUNDED):
        compiled(source, REFERENCE)


HELD = """# sizes n = 12
# table x: Float [n]
# results y
## Main
Let y be a new Seq of Int.
Repeat for i from 1 to n:
    Let s be x[i] * 2.0.
    If s > 127.0:
        Set s to 127.0.
    If s < -128.0:
        Set s to -128.0.
    Push round(s) to y.
"""


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
def test_no_number_passes_conditions_and_rounds_to_zero(target: Target):
    (source,) = sources("held", HELD)
    x = [np.nan, np.inf, -np.inf, 2.5, -2.5, 63.75, -64.25, 63.5, 3.0e38, -3.0e38, 1.0e19, -0.0]
    hold(compiled(source, target), 1, {"x": np.array(x, np.float32)})


@pytest.mark.parametrize(
    ("condition", "then", "otherwise"),
    (
        ("c[1] > 3", "0", "c[1] + 1"),
        ("c[1] >= 3", "c[1] + 1", "0"),
        ("c[1] >= 3 and x[1] > 0.0", "0", "c[1] + 1"),
        ("c[1] == 2", "0", "c[1] + 1"),
        ("d[1] >= 3", "0", "c[1] + 1"),
        ("c[1] >= d[1]", "0", "c[1] + 1"),
    ),
)
def test_a_condition_that_leaves_the_end_does_not_bound(condition: str, then: str, otherwise: str):
    text = f"""# state c: Int [1] 0 .. 3
# table d: Int [1] 0 .. 4
# table x: Float [1]
## Main
If {condition}:
    Set c[1] to {then}.
Otherwise:
    Set c[1] to {otherwise}.
Let y be c[1] + d[1].
"""
    (source,) = sources("counter", text)
    with pytest.raises(Refused, match="outside its declared range"):
        compiled(source, REFERENCE)


@pytest.mark.parametrize(
    "lines",
    (
        "Let k be i + 1.\n    If k > n + 1:\n        Set k to 1.",
        "Let k be i + 1.\n    If k == n:\n        Set k to 1.",
        "Let k be i - 1.\n    If k == 1:\n        Set k to n.",
        "Let k be i - 1.\n    If k == 0:\n        Set k to n + 1.",
        "Let k be i + 1.\n    If k <= n:\n        Set k to 1.",
    ),
)
def test_a_place_that_its_condition_lets_out_is_refused(lines: str):
    text = "# sizes n = 6\n# table x: Float [n]\n## Main\nLet y be a new Seq of Float.\nRepeat for i from 1 to n:\n"
    (source,) = sources("astray", f"{text}    {lines}\n    Push x[k] to y.\n")
    found = source.lifted()
    assert found.graph is None and "not proved in range" in found.missing[0].why


@pytest.mark.parametrize("value", ("(c[1] + 1) % 5", "c[1] + 1 - 4 * ((c[1] + 2) / 4)", "4 - (c[1] + 1) % 4"))
def test_a_remainder_that_passes_the_range_is_refused(value: str):
    text = f"# state c: Int [1] 0 .. 3\n## Main\nSet c[1] to {value}.\nLet y be c[1] + 1.\n"
    (source,) = sources("rest", text)
    with pytest.raises(Refused, match="outside its declared range"):
        compiled(source, REFERENCE)
