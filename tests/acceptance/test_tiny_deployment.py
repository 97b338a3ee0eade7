"""The small model as published: checked, run and generated from its folder alone, and held to its source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from acceptance.chip import BOUND, CACHES, PROMPT, Array, Chip
from acceptance.deployed import Published
from acceptance.meaning import GEOMETRY, Call, Meaning
from reference_llama import Llama

from spatial.check import OBLIGATIONS
from spatial.simulate.pagewise import STRATEGIES, Pagewise


@pytest.fixture(scope="module")
def chip(published: Published) -> Chip:
    return Chip(published)


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test begins with empty caches."""
    yield
    if "chip" in request.fixturenames:
        request.getfixturevalue("chip").clear()


@pytest.fixture(scope="module")
def meaning() -> Meaning:
    return Meaning("tiny")


def rows_of(source: Meaning, ids: tuple[int, ...], start: int) -> Call:
    """What a prefill of `ids` means."""
    tokens = np.zeros(source.spec.sizes["rows"], np.int64)
    tokens[: len(ids)] = ids
    return source.run("prefill", tokens=tokens, start=[start], count=[len(ids)])


def near(found: dict[str, Array], expected: Call) -> None:
    for name in ("logits", *CACHES):
        difference = np.abs(found[name] - expected[name])
        assert found[name].shape == expected[name].shape
        assert difference.max() <= BOUND, f"{name} is {difference.max():.3g} off at {np.argmax(difference)}"
    assert np.ptp(expected["logits"]) > 1, "nothing to tell apart"


def same_bytes(found: dict[str, Array], expected: dict[str, Array], *names: str) -> None:
    for name in names:
        assert found[name].tobytes() == expected[name].tobytes(), name


# ---------------------------------------------------------------- from the folder alone


def test_check_accepts_and_counts_every_obligation(published: Published) -> None:
    told = published.spatial("check", "tiny", "--json").json
    assert (told["schema"], told["answer"], told["certified"]) == ("spatial.check/1", "accept", True)
    assert told["failures"] == told["unsupported"] == []
    assert list(told["obligations"]) == list(OBLIGATIONS)
    assert all(count > 0 for count in told["obligations"].values()), told["obligations"]


def test_generate_chooses_what_the_reference_chooses(published: Published, tmp_path: Path, meaning: Meaning) -> None:
    told = published.spatial(
        *("generate", "tiny", "--ids", ",".join(map(str, PROMPT)), "-n", "6"),
        *("--json", "--logits", tmp_path / "logits.npz"),
    ).json
    model = Llama(meaning.weights, GEOMETRY)
    chosen, logits = list[int](), [model.prefill(PROMPT)]
    for _ in range(6):
        chosen.append(int(logits[-1].argmax()))
        best = np.sort(logits[-1])
        assert best[-1] - best[-2] > 2 * BOUND, "the choice is no matter of rounding"
        logits.append(model.decode(chosen[-1]))
    assert told["ids"] == chosen
    found = np.load(tmp_path / "logits.npz")["logits"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, logits[:6], rtol=0, atol=BOUND)


def test_run_takes_state_from_a_file_and_gives_it_back(published: Published, tmp_path: Path, meaning: Meaning) -> None:
    rng = np.random.default_rng(8)
    shape = meaning.spec.tables["k_cache"].shape
    caches = {name: rng.normal(size=shape).astype(np.float32) for name in CACHES}
    np.savez(tmp_path / "in.npz", token=np.array([7]), position=np.array([21]), **caches)
    published.spatial("run", "tiny", "decode", "--in", tmp_path / "in.npz", "--out", tmp_path / "out.npz")
    meaning.state = {name: cache.astype(np.float64) for name, cache in caches.items()}
    near(dict(np.load(tmp_path / "out.npz")), meaning.run("decode", token=[7], position=[21]))


# ---------------------------------------------------------------- held to the source


@pytest.mark.parametrize(
    ("start", "count"), [(0, 1), (0, 12), (0, 5), (17, 7), (38, 12), (38, 1)], ids=lambda value: str(value)
)
def test_prefill_means_its_source(chip: Chip, meaning: Meaning, start: int, count: int) -> None:
    """At the first and the last start there is, whole chunks and single tokens, over caches that were filled before."""
    rng = np.random.default_rng(start + count)
    filled = {name: rng.normal(size=meaning.spec.tables[name].shape).astype(np.float32) for name in CACHES}
    chip.put(filled)
    meaning.state = {name: cache.astype(np.float64) for name, cache in filled.items()}
    ids = PROMPT[:count]
    found = chip.prefill(ids, start)
    near(found, rows_of(meaning, ids, start))
    for name in CACHES:
        kept = np.delete(np.arange(50), np.arange(start, start + count))
        assert found[name][:, kept].tobytes() == filled[name][:, kept].tobytes(), f"{name}: other rows are untouched"
        changed = found[name][:, start : start + count] != filled[name][:, start : start + count]
        assert changed.mean() > 0.99


@pytest.mark.parametrize("position", [0, 1, 31, 32, 49])
def test_decode_means_its_source(chip: Chip, meaning: Meaning, position: int) -> None:
    """At the first and last position, and on both sides of a tile's edge."""
    rng = np.random.default_rng(position)
    filled = {name: rng.normal(size=meaning.spec.tables[name].shape).astype(np.float32) for name in CACHES}
    chip.put(filled)
    meaning.state = {name: cache.astype(np.float64) for name, cache in filled.items()}
    near(chip.decode(100 - position, position), meaning.run("decode", token=[100 - position], position=[position]))


def test_a_conversation_means_its_source(chip: Chip, meaning: Meaning) -> None:
    """State goes from call to call: two chunks, then steps."""
    meaning.reset()
    near(chip.prefill(PROMPT[:12], 0), rows_of(meaning, PROMPT[:12], 0))
    near(chip.prefill(PROMPT[12:], 12), rows_of(meaning, PROMPT[12:], 12))
    for position, token in enumerate((5, 55, 100), start=len(PROMPT)):
        near(chip.decode(token, position), meaning.run("decode", token=[token], position=[position]))


# ---------------------------------------------------------------- chunks and unused tokens


@pytest.mark.parametrize("counts", [(7, 12, 1), (1, 11, 8), (4, 4, 4, 4, 4)], ids=str)
def test_however_a_prompt_is_cut_the_bytes_are_the_same(chip: Chip, counts: tuple[int, ...]) -> None:
    whole = chip.chunks(PROMPT, 12, 8)
    chip.clear()
    parts = chip.chunks(PROMPT, *counts)
    same_bytes(parts, whole, "logits", *CACHES)
    assert np.all(np.any(whole["k_cache"][:, : len(PROMPT)] != 0, axis=2)), "every row was written"


def test_one_chunk_or_token_by_token(chip: Chip) -> None:
    """Decode orders its sums in another way than prefill, so the bytes may differ and the values may not."""
    whole = chip.chunks(PROMPT, 12, 8)
    chip.clear()
    found = dict[str, Array]()
    for position, token in enumerate(PROMPT):
        found = chip.decode(token, position)
    for name in ("logits", *CACHES):
        np.testing.assert_allclose(found[name], whole[name], rtol=0, atol=BOUND, err_msg=name)


def test_unused_tokens_leave_no_trace(chip: Chip) -> None:
    first = chip.prefill(PROMPT[:5], 0, unused=0)
    chip.clear()
    second = chip.prefill(PROMPT[:5], 0, unused=77)
    same_bytes(second, first, "logits", *CACHES)
    for name in CACHES:
        assert not first[name][:, 5:].any(), "rows past the count are as they were"


# ---------------------------------------------------------------- the two executors


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_page_at_a_time_gives_the_same_bytes(published: Published, chip: Chip, strategy: str) -> None:
    """The whole decode program, in interleavings of every kind."""
    before = chip.prefill(PROMPT[:9], 0)
    expected = chip.decode(11, 9)
    judge = Chip(published, Pagewise(chip.bundle.target, strategy))
    judge.put(before)
    same_bytes(judge.decode(11, 9), expected, "logits", *CACHES)


def test_a_page_at_a_time_a_masked_chunk_gives_the_same_bytes(published: Published, chip: Chip) -> None:
    """The whole prefill program, its last chunk not full."""
    before = chip.prefill(PROMPT[:12], 0)
    expected = chip.prefill(PROMPT[12:], 12)
    judge = Chip(published, Pagewise(chip.bundle.target))
    judge.put(before)
    same_bytes(judge.prefill(PROMPT[12:], 12), expected, "logits", *CACHES)
