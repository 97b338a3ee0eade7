"""Layers written out fold to the block of the loop over them, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from layered import graph, trips
from lifting import agree, graph_of, parse_files
from llama_sources import SMALL, SOURCES, caches, facts, program, weights
from sources import Source, read_sources
from unrolled import unrolled

from spatial.ir.graph import Block, Graph
from spatial.logos.parser import parse

PROGRAMS = Path(__file__).parents[1] / "lowering" / "programs"


@pytest.mark.parametrize(
    ("name", "layers"), [(n, k) for n in ("decode.lg", "prefill.lg") for k in (1, 2, 3)] + [("decode.lg", 30)]
)
def test_a_llama_written_out_lifts_to_the_looped_one(name: str, layers: int) -> None:
    sizes = facts(**{**SMALL, "layers": layers})
    looped = graph_of(program(name), sizes, ("logits",))
    text = unrolled(program(name), sizes.sizes, "layer")
    assert "layer" not in text.replace("layers", "").split("## Main")[-1]
    assert graph_of(text, sizes, ("logits",)) == looped
    assert trips(looped) == ([] if layers == 1 else [layers])


def test_a_llama_of_layers_that_are_calls_lifts_to_the_looped_one() -> None:
    sizes = facts(**{**SMALL, "layers": 5})
    looped = graph_of(program("decode.lg"), sizes, ("logits",))
    text = (SOURCES / "decode.lg").read_text()
    before, _, rest = text.partition("Repeat for layer from 1 to layers:\n")
    body = [line for line in rest.splitlines() if line.startswith("    ")]
    after = "".join(f"{line}\n" for line in rest.splitlines() if not line.startswith("    "))
    assert body[-1].startswith("    Set x to ")
    layer = "\n".join([*body[:-1], body[-1].replace("Set x to", "Return")])
    layer = layer.replace("Set x to", "Let y be").replace(
        "normalized(x, item layer of ffn", "normalized(y, item layer of ffn"
    )
    layer = layer.replace("Return added(x", "Return added(y")
    step = f"## To step (x: Seq of Float, place: Int, layer: Int) -> Seq of Float:\n{layer}\n"
    calls = "".join(f"Set x to step(x, place, {n}).\n" for n in range(1, 6))
    files = [("layers.lg", (SOURCES / "layers.lg").read_text()), ("decode.lg", step + before + calls + after)]
    assert graph_of(parse_files(files), sizes, ("logits",)) == looped


FOLDING = ("block_next_slice", "block_state", "straight_line_layers", "block_groups")


@pytest.mark.parametrize("source", [s for s in read_sources(PROGRAMS) if s.name in FOLDING], ids=str)
def test_loops_of_other_programs_written_out(source: Source) -> None:
    text = unrolled(parse(source.text, "test.lg"), source.facts.sizes)
    assert graph_of(text, source.facts, source.results) == graph_of(source.text, source.facts, source.results)


# ---------------------------------------------------------------- what folds


def straight(*lines: str) -> Graph:
    return graph("Let y be copy of x.\n" + "".join(f"{line}\n" for line in lines))


def test_two_layers_are_a_block_as_their_loop_is() -> None:
    written = straight("Set y to product(y, item 1 of w).", "Set y to product(y, item 2 of w).")
    looped = graph("Let y be copy of x.\nRepeat for l from 1 to 2:\n    Set y to product(y, item l of w).\n")
    assert written == looped and trips(written) == [2]


def test_one_layer_is_no_block_nor_is_its_loop() -> None:
    written = straight("Set y to product(y, item 1 of w).")
    looped = graph("Let y be copy of x.\nRepeat for l from 1 to 1:\n    Set y to product(y, item l of w).\n")
    assert written == looped and trips(written) == []


@pytest.mark.parametrize(("first", "step"), [(1, 2), (5, -2), (3, 0)])
def test_slices_at_a_constant_distance(first: int, step: int) -> None:
    lines = [f"Set y to product(y, item {first + k * step} of w)." for k in range(3)]
    assert trips(straight(*lines)) == [3]


def test_two_functions_by_turns_are_one_layer() -> None:
    lines = [f"Set y to {f}(y, item {k} of {m})." for k in (1, 2, 3) for f, m in (("normed", "g"), ("product", "w"))]
    written = straight(*lines)
    looped = graph(
        "Let y be copy of x.\nRepeat for l from 1 to 3:\n"
        "    Set y to normed(y, item l of g).\n    Set y to product(y, item l of w).\n"
    )
    assert written == looped and trips(written) == [3]


def test_two_weights_by_turns_are_one_layer() -> None:
    assert trips(straight(*["Set y to product(y, one).", "Set y to product(y, two)."] * 2)) == [2]


def test_a_last_half_layer_stays_outside() -> None:
    """The norm after the last layer is alike the one that begins each."""
    lines = [f"Set y to plus(y, product(normed(y, item {k} of g), item {k} of w))." for k in (1, 2, 3)]
    written = straight(*lines, "Set y to normed(y, item 4 of g).")
    looped = graph(
        "Let y be copy of x.\nRepeat for l from 1 to 3:\n"
        "    Set y to plus(y, product(normed(y, item l of g), item l of w)).\nSet y to normed(y, item 4 of g).\n"
    )
    assert written == looped and trips(written) == [3]


def test_operands_exchanged_in_one_layer() -> None:
    lines = ["plus(y, product(y, item 1 of w))", "plus(product(y, item 2 of w), y)", "plus(y, product(y, item 3 of w))"]
    assert trips(straight(*(f"Set y to {line}." for line in lines))) == [3]


def test_the_first_layer_begins_with_a_row_of_a_weight() -> None:
    calls = "".join(f"Set y to plus(y, product(y, item {k} of w)).\n" for k in (1, 2, 3))
    loop = "Repeat for l from 1 to 3:\n    Set y to plus(y, product(y, item l of w)).\n"
    begin = "Let k be item n of (item 5 of words).\nLet y be item (item 1 of spot + 1) of words.\n"
    written = graph(begin + calls, ("y", "k"))
    assert written == graph(begin + loop, ("y", "k")) and trips(written) == [3]


def test_what_all_layers_read_is_read_from_outside() -> None:
    """The first layer begins with what all of them add; and each computes again what is the same in all."""
    lines = [f"Set y to plus(product(y, item {k} of w), product(x, one))." for k in (1, 2, 3)]
    written = straight(*lines)
    (block,) = (n for n in written.nodes if isinstance(n, Block))
    assert (block.trip, len(block.body), len(block.carried)) == (3, 2, 1)


def test_two_sequences_are_handed_on() -> None:
    lines = [
        f"Let p{k} be product(y, item {k} of w).\nSet z1 to plus(z1, p{k}).\nSet y to plus(normed(z1, one), p{k})."
        for k in (1, 2, 3)
    ]
    loop = (
        "Repeat for l from 1 to 3:\n    Let p be product(y, item l of w).\n"
        "    Set z1 to plus(z1, p).\n    Set y to plus(normed(z1, one), p).\n"
    )
    begin = "Let y be copy of x.\nLet z1 be copy of z.\n"
    written = graph(begin + "\n".join(lines), ("y", "z1"))
    assert written == graph(begin + loop, ("y", "z1")) and trips(written) == [3]


def test_state_is_written_by_every_layer_and_read_after() -> None:
    lines = [f"Set y to product(y, item {k} of w).\nSet item {k} of log to y." for k in (1, 2, 3)]
    after = "Set item 5 of log to x."
    loop = f"Repeat for l from 1 to 3:\n    Set y to product(y, item l of w).\n    Set item l of log to y.\n{after}\n"
    written = straight(*lines, after)
    assert written == graph("Let y be copy of x.\n" + loop) and trips(written) == [3]


# ---------------------------------------------------------------- what folds in part


def test_a_slice_out_of_step_ends_the_block() -> None:
    lines = [f"Set y to product(y, item {k} of w)." for k in (1, 2, 3, 5, 7)]
    assert trips(straight(*lines)) == [3, 2]


def test_what_a_middle_layer_hands_outside_ends_the_block() -> None:
    lines = [f"Set y to product(y, item {k} of w)." for k in (1, 2, 3, 4, 5)]
    lines[3:3] = ["Let middle be copy of y."]
    found = graph("Let y be copy of x.\n" + "\n".join(lines), ("y", "middle"))
    assert trips(found) == [3, 2]


def test_an_inner_tensor_of_the_last_layer_is_read() -> None:
    """The last layer then stays outside."""
    lines = [f"Let p{k} be product(y, item {k} of w).\nSet y to plus(y, p{k})." for k in (1, 2, 3)]
    assert trips(graph("Let y be copy of x.\n" + "\n".join(lines), ("y", "p3"))) == [2]


def test_one_layer_of_its_own_parts_two_blocks() -> None:
    lines = [f"Set y to product(y, item {k} of w)." for k in (1, 2, 3, 4)]
    lines[2:2] = ["Set y to normed(y, one)."]
    assert trips(straight(*lines)) == [2, 2]


def test_a_block_of_a_loop_beside_layers_written_out() -> None:
    lines = [f"Set y to product(y, item {k} of w)." for k in (1, 2, 3)]
    loop = "Repeat for l from 1 to 3:\n    Set y to normed(y, item l of g)."
    assert trips(straight(*lines, loop, *lines)) == [3, 3, 3]


# ---------------------------------------------------------------- what does not fold


@pytest.mark.parametrize(
    "lines",
    [
        ("Let a be product(x, item 1 of w).", "Let b be product(x, item 2 of w).", "Let y be plus(a, b)."),
        ("Let a be product(x, one).", "Let b be product(z, one).", "Let y be plus(a, b)."),
        ("Let y be product(product(x, one), two).",),
        ("Let y be normed(product(x, one), two).",),
        ("Let a be product(x, one).", "Let b be product(a, two).", "Let y be plus(b, product(a, one))."),
        ("Let y be plus(plus(x, z), z).",),
        ("Let y be plus(plus(plus(x, product(z, one)), product(z, one)), product(z, one)).",),
    ],
)
def test_equal_statements_that_are_no_chain(lines: tuple[str, ...]) -> None:
    assert trips(graph("\n".join(lines))) == []


def test_rows_of_state_written_one_by_one_are_no_layers() -> None:
    lines = [f"Set item {k} of log to product(x, item {k} of w)." for k in (1, 2, 3)]
    assert trips(graph("\n".join([*lines, "Let y be item 2 of log."]))) == []


def test_items_of_a_sequence_of_its_own_are_no_layers() -> None:
    """A loop over them hands on a sequence written in part, which is a recurrence."""
    lines = ["Let y be copy of x."]
    lines += [f"Set item {k + 1} of y to item {k} of y * item {k} of z + 1.0." for k in (1, 2, 3)]
    assert trips(graph("\n".join(lines))) == []


def test_constants_that_change_from_layer_to_layer() -> None:
    lines = [
        f"Let a{k} be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push item i of y * {k}.0 + 1.0 to a{k}.\n"
        f"Set y to product(a{k}, one)."
        for k in (1, 2, 3)
    ]
    assert trips(straight(*lines)) == []


def test_a_layer_that_reads_two_layers_back() -> None:
    lines = ["Let a1 be product(x, item 1 of w).", "Let a2 be plus(product(a1, item 2 of w), x)."]
    lines += [f"Let a{k} be plus(product(a{k - 1}, item {k} of w), a{k - 2})." for k in (3, 4, 5)]
    assert trips(graph("\n".join([*lines, "Let y be copy of a5."]))) == []


def test_quotients_of_the_layer_number() -> None:
    """`l / 2` is 0, 1, 1: no constant distance; the numbers 0, 2, 4 are, but are divided."""
    lines = [
        f"Let a{k} be a new Seq of Float.\nRepeat for i from 1 to n:\n"
        f"    Push item i of y + item ((i + {k} - 2) / 2 + 1) of z to a{k}.\nSet y to product(a{k}, one)."
        for k in (2, 3, 4)
    ]
    straight(*lines)


def test_an_index_that_layers_compute_stays_as_it_stands() -> None:
    """Its range is proved of each layer, and of none of what a block would hand on."""
    text = "Let k be item 1 of spot.\nLet y be copy of x.\n"
    for _ in range(3):
        text += "Set y to plus(y, item (k + 1) of rows).\nSet k to 1.\nLet best be item 1 of y.\n"
        text += "Repeat for i from 2 to n:\n    If item i of y > best:\n        Set best to item i of y.\n"
        text += "        Set k to i.\n"
    assert trips(graph(text)) == []


def test_a_mutant_of_one_layer_is_itself() -> None:
    """Each differs from the block it nearly is, and computes what it says."""
    right = [f"Set y to plus(y, product(normed(y, item {k} of g), item {k} of w))." for k in (1, 2, 3, 4)]
    whole = straight(*right)
    for n, line in enumerate(right):
        for old, new in (
            (f"item {n + 1} of g", f"item {4 - n} of g"),
            ("plus(y", "plus(x"),
            (f"item {n + 1} of w)", "one)"),
            ("product(", "normed(product("),
        ):
            mutant = line.replace(old, new) if new != "normed(product(" else f"Set y to plus(y, item {n + 1} of g)."
            if mutant != line and not (n == 0 and new == "plus(x"):
                assert straight(*right[:n], mutant, *right[n + 1 :]) != whole
    assert trips(whole) == [4]


def test_a_llama_written_out_computes_what_the_interpreter_says() -> None:
    small = {**SMALL, "layers": 3}
    text = unrolled(program("decode.lg"), facts(**small).sizes, "layer")
    given = {**weights(**small), **caches(50, **small), "token": np.array([7]), "position": np.array([4])}
    agree(text, facts(**small), given, ("logits",))
