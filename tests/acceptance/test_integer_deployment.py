"""Two programs in whole numbers over one table, as published: exactly what their sources say, call after call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from acceptance.deployed import Published
from acceptance.meaning import Array, Call, Meaning

from spatial.check import OBLIGATIONS
from spatial.errors import Refused
from spatial.simulate.host import Host
from spatial.simulate.pagewise import Pagewise

SIZES = {"left": (20, 40), "right": (40, 45), "totals": (20, 45)}


@pytest.fixture
def meaning() -> Meaning:
    return Meaning("integers")


@pytest.fixture
def host(published: Published) -> Host:
    artifact = published.open("integers")
    return Host(artifact.whole(), artifact.pages)


def drawn(seed: int, low: int = -100, high: int = 100) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(low, high + 1, SIZES[name]) for name in ("left", "right")}


def added(host: Host, given: dict[str, Array]) -> Array:
    host.run("add", given)
    return host.state("totals")


def ranked(host: Host, expected: Call) -> None:
    outcome = host.run("rank", {})
    assert np.array_equal(outcome.results["sums"], expected["sums"])
    assert outcome.results["ahead"] == expected["ahead"]
    assert outcome.lines == expected.lines == (f"row {int(expected['ahead'])} is ahead",)


def test_check_accepts_and_counts_every_obligation(published: Published) -> None:
    told = published.spatial("check", "integers", "--json").json
    assert (told["answer"], told["failures"], list(told["obligations"])) == ("accept", [], list(OBLIGATIONS))
    unused = {name for name, count in told["obligations"].items() if count == 0}
    assert unused == {"multicast"}, "the programs have none"


def test_calls_in_a_row_carry_the_table(host: Host, meaning: Meaning) -> None:
    for seed in range(4):
        given = drawn(seed)
        assert np.array_equal(added(host, given), meaning.run("add", **given)["totals"])
        ranked(host, meaning.run("rank"))


def test_totals_stop_at_their_bounds(host: Host, meaning: Meaning) -> None:
    """Every product at its largest, upward and then downward: 40 * 100 * 100 a call against a bound of 30000."""
    for left, right, end in ((100, 100, 30000), (100, -100, 30000 - 400000), (-100, 100, -30000)):
        given = {"left": np.full(SIZES["left"], left), "right": np.full(SIZES["right"], right)}
        found = added(host, given)
        assert np.array_equal(found, meaning.run("add", **given)["totals"])
        assert np.all(found == max(-30000, min(30000, end)))


def test_the_first_of_equal_rows_is_ahead(host: Host, meaning: Meaning) -> None:
    for rows in ((), (3, 7), (19,), (0, 19)):
        totals = np.zeros(SIZES["totals"], np.int64)
        totals[list(rows), 44] = 5
        host.set_state("totals", totals)
        meaning.state = {"totals": totals}
        ranked(host, meaning.run("rank"))


def test_rows_at_their_extremes_are_ranked(host: Host, meaning: Meaning) -> None:
    totals = np.full(SIZES["totals"], -30000)
    totals[11] = -29999
    host.set_state("totals", totals)
    meaning.state = {"totals": totals}
    ranked(host, meaning.run("rank"))


def test_values_out_of_range_are_refused_with_everything_wrong(host: Host) -> None:
    given = drawn(1)
    given["left"][3, 3] = 101
    with pytest.raises(Refused) as caught:
        host.run("add", {"left": given["left"]})
    told = str(caught.value)
    assert "101" in told
    assert "right" in told


def test_a_page_at_a_time_gives_the_same(published: Published, host: Host) -> None:
    artifact = published.open("integers")
    expected = [added(host, drawn(seed)) for seed in (5, 6)]
    final = host.run("rank", {}).results
    for seed in range(6):
        judge = Host(artifact.whole(), artifact.pages, Pagewise(artifact.whole().target))
        for call, totals in zip((5, 6), expected, strict=True):
            judge.run("add", drawn(call), seed)
            assert np.array_equal(judge.state("totals"), totals)
        found = judge.run("rank", {}, seed).results
        assert all(np.array_equal(found[name], final[name]) for name in final)


def test_run_from_the_folder_alone(published: Published, tmp_path: Path, meaning: Meaning) -> None:
    given = drawn(9)
    np.savez(tmp_path / "in.npz", **given)
    published.spatial("run", "integers", "add", "--in", tmp_path / "in.npz", "--out", tmp_path / "out.npz")
    expected = meaning.run("add", **given)["totals"]
    assert np.array_equal(np.load(tmp_path / "out.npz")["totals"], expected)
    told = published.spatial(
        *("run", "integers", "rank", "--in", tmp_path / "out.npz", "--out", tmp_path / "rank.npz", "--json")
    ).json
    expected_rank = meaning.run("rank")
    assert told["lines"] == list(expected_rank.lines)
    found = np.load(tmp_path / "rank.npz")
    assert np.array_equal(found["sums"], expected_rank["sums"])
    assert np.array_equal(found["totals"], expected)
