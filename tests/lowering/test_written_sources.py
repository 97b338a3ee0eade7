"""Programs as a person writes them: lowered whole, accepted, and computing what the interpreter of the source says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from running import LONE, SMALL, tables_of
from sources import Lowered, Source, compiled, hold, read_sources, sources
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.numerics import Array
from spatial.target import Target

SOURCES = read_sources(Path(__file__).parent / "programs")


@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL, LONE), ids=lambda t: t.name)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_written_source_computes_what_it_says(source: Source, target: Target):
    work = compiled(source, target)
    for seed in (1, 2, 4):
        hold(work, seed)


def test_a_table_of_rows_read_as_one_list_backwards_is_refused_with_a_reason_that_is_so():
    text = """# sizes n = 6, m = 4
# table z: Float [n, m]
## Main
Let y be a new Seq of Float.
Repeat for k from 1 to n * m:
    Push z[n * m + 1 - k] * 2.0 to y.
"""
    (source,) = sources("backwards", text)
    with pytest.raises(Refused, match="what division and remainder give is read from a table too"):
        compiled(source, REFERENCE)


def test_what_is_read_at_two_run_time_places_is_refused():
    text = """# sizes n = 9, m = 5
# table z: Float [n, m]
# table k: Int [n] 0 .. n - 1
# table j: Int [n] 0 .. m - 1
## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push z[item i of k + 1][item i of j + 1] to y.
"""
    (source,) = sources("two places", text)
    with pytest.raises(Refused, match="more than one index that is read from a table"):
        compiled(source, REFERENCE)


def test_ties_that_loops_meet_in_another_order_than_that_of_places_are_refused():
    text = """# table q: Int [4] 0 .. 1
## Main
Let y be 0.
Let best be 0 - 1.
Repeat for a from 1 to 2:
    Repeat for c from 1 to 2:
        If q[2 * (c - 1) + a] > best:
            Set best to q[2 * (c - 1) + a].
            Set y to 2 * (c - 1) + a.
"""
    (source,) = sources("ties", text)
    with pytest.raises(Refused, match="the loops do not count the position up"):
        compiled(source, REFERENCE)
    (ordered,) = sources("ordered", text.replace("2 * (c - 1) + a", "2 * (a - 1) + c"))
    for seed in (1, 2, 3):
        hold(compiled(ordered, REFERENCE), seed)


EXTREMA = """# sizes n = 6
# table q: Int [n] -9 .. 9
# table p: Int [n] 2 .. 9
# table count: Int [1] 0 .. n
# results top, least, all
## Main
Let top be -50.
Let least be 70.
Let all be 7.
Repeat for i from 1 to count[1]:
    Set top to max(top, q[i]).
    Set least to min(least, q[i]).
    Set all to all * p[i].
"""


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
@pytest.mark.parametrize("count", (0, 1, 6))
def test_a_reduction_of_no_terms_is_where_it_starts(count: int, target: Target):
    (source,) = sources("extrema", EXTREMA)
    hold(compiled(source, target), 1, {"count": np.array([count])})


CLAMPED = """# sizes n = 12
# table x: Float [n]
# results y, z
## Main
Let y be a new Seq of Int.
Repeat for i from 1 to n:
    Push max(2, min(7, round(x[i]))) to y.
Let z be a new Seq of Float.
Repeat for i from 1 to n:
    Push min(4, max(-3, floor(x[i]))) * 0.5 to z.
"""


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
def test_what_is_no_number_rounds_to_zero_and_what_is_endless_to_its_bound(target: Target):
    (source,) = sources("clamped", CLAMPED)
    x = [np.nan, np.inf, -np.inf, 2.5, -2.5, 6.5, -0.5, 7.4, 3.0e38, -3.0e38, 1.0e19, -0.0]
    hold(compiled(source, target), 1, {"x": np.array(x, np.float32)})


@pytest.mark.parametrize(
    "value",
    (
        "round(x[i]) * 0.5",
        "max(0, round(x[i])) * 0.5",
        "max(-20000001, min(20000001, round(x[i]))) * 0.5",
        "min(max(round(x[i]), k[i]), 9) * 0.5",
    ),
)
def test_a_rounding_that_no_constants_bound_is_refused(value: str):
    text = "# sizes n = 6\n# table x: Float [n]\n# table k: Int [n] 0 .. 5\n## Main\nLet y be a new Seq of Float.\n"
    (source,) = sources("rounding", f"{text}Repeat for i from 1 to n:\n    Push {value} to y.\n")
    with pytest.raises(Refused, match="a float that is not proved bounded becomes an integer"):
        compiled(source, REFERENCE)


@pytest.mark.parametrize(
    ("trips", "why"),
    (
        ("10 ** 12", "iterations of one stage"),
        ("10 ** 15", "iterations of one stage"),
        ("2 ** 53", "a statement of 9007199254740992 iterations"),
        ("10 ** 19", "a statement of 10000000000000000000 iterations"),
        ("10 ** 30", "no run would end"),
    ),
)
def test_a_loop_that_is_longer_than_any_run_is_refused_at_once(trips: str, why: str):
    text = f"# table x: Float [3]\n## Main\nLet y be 0.0.\nRepeat for i from 1 to {trips}:\n    Set y to y + x[1].\n"
    (source,) = sources("endless", text)
    with pytest.raises(Refused, match=why):
        compiled(source, REFERENCE)


def spoilt(work: Lowered, name: str, axis: int, last: int) -> Array:
    """The drawn table with what lies past `last` along an axis no number, or none that is finite."""
    values = np.moveaxis(tables_of(work.case)[name].copy(), axis, 0)
    values[last:] = np.nan
    values[last + 1 :: 2] = np.inf
    return np.moveaxis(values, 0, axis)


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
@pytest.mark.parametrize("source", [s for s in SOURCES if s.name in ("attention_decode", "attention_prefill")], ids=str)
def test_what_no_row_looks_at_does_not_show(source: Source, target: Target):
    work = compiled(source, target)
    sizes = source.facts.sizes
    rows = sizes.get("rows", 1)
    at = (sizes["positions"] - rows) // 2
    given = {name: spoilt(work, name, 0, at + rows) for name in ("keys", "values")}
    hold(work, 1, {**given, "start" if "rows" in sizes else "place": np.array([at])})
