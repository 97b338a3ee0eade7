"""Linking: one placement a table, nothing overlaps, and every disagreement is named at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import REFERENCE

from spatial.build.link import Part, link
from spatial.errors import Refused
from spatial.ir.bundle import Placement
from spatial.ir.graph import Graph, GraphTensor
from spatial.ir.layout import layout_of
from spatial.ir.program import Program, Tensor

W, F, G = "a" * 64, "b" * 64, "c" * 64

CACHE = Tensor("cache", (1, 8, 8), "i16", "state", "flat", (-9, 9))
TOKEN = Tensor("token", (1, 1, 1), "i32", "input", "flat", (0, 99))
WEIGHT = Tensor("w", (1, 64, 40), "q8_0", "weight", "q8_0")
LOGITS = Tensor("logits", (1, 1, 40), "f32", "result", "flat")
FILL = Tensor("fill4", (1, 8, 8), "f32", "weight", "flat")
SCRATCH = Tensor("t5", (1, 33, 40), "f32", "intermediate", "dense")


def part(name: str, *tensors: Tensor, fills: dict[str, str] | None = None, final: tuple[int, int] = (-9, 9)) -> Part:
    """A program of `tensors` and a graph that agrees; `final`: what it may leave in its state."""
    roles = {"state": "state", "input": "input", "weight": "weight", "result": "made"}
    graph: list[GraphTensor] = []
    state: list[tuple[str, int, int]] = []
    for t in tensors:
        if t.role in roles and t.name not in (fills or {}):
            kind = "int" if t.prec.startswith("i") else "float"
            named = "" if t.role == "result" else t.name
            graph.append(GraphTensor(t.shape, kind, roles[t.role], named, t.range))
        if t.role == "state":
            graph.append(GraphTensor(t.shape, "int", "made", "", final))
            state.append((t.name, len(graph) - 2, len(graph) - 1))
    results = tuple(("logits", n) for n, g in enumerate(graph) if g.role == "made" and g.kind == "float")
    program = Program(tensors, (), (), results=tuple((n, "logits", 1) for n, _ in results))
    return Part(name, program, Graph(tuple(graph), (), results, tuple(state)), fills or {})


def overlapping(a: Placement, b: Placement) -> bool:
    return a.address < b.address + b.bytes and b.address < a.address + a.bytes


def test_tables_lie_once_and_nothing_overlaps() -> None:
    one = part("prefill", CACHE, WEIGHT, LOGITS, SCRATCH, replace(SCRATCH, name="t6"))
    two = part("decode", TOKEN, WEIGHT, CACHE, LOGITS, SCRATCH)
    bundle = link([one, two], {"w": W}, REFERENCE)
    assert [(p.program, p.tensor) for p in bundle.memory] == [
        ("", "cache"), ("", "token"), ("", "logits"), ("", "w"), ("decode", "t5"), ("prefill", "t5"), ("prefill", "t6"),
    ]  # fmt: skip
    assert [p.data for p in bundle.memory] == ["", "", "", W, "", "", ""]
    for n, a in enumerate(bundle.memory):
        t = bundle.entry(a.program or "prefill" if a.tensor != "token" else "decode").program.tensor(a.tensor)
        assert a.bytes == layout_of(t.layout, t.prec, t.shape, REFERENCE).bytes
        assert a.address % REFERENCE.memory.align == 0
        assert not any(overlapping(a, b) for b in bundle.memory[:n])
    assert bundle.entry("decode").inputs == ("token",)
    assert bundle.entry("decode").state == ("cache",)
    assert bundle.table("logits").role == "result"
    assert bundle.table("cache").range == (-9, 9)


def test_the_order_of_programs_does_not_show() -> None:
    one = part("prefill", CACHE, WEIGHT, LOGITS, SCRATCH)
    two = part("decode", TOKEN, WEIGHT, CACHE, LOGITS, FILL, fills={"fill4": F})
    assert link([one, two], {"w": W}, REFERENCE) == link([two, one], {"w": W}, REFERENCE)


def test_fills_lie_with_their_program_and_equal_ones_name_the_same_bytes() -> None:
    one = part("a", FILL, replace(FILL, name="fill9"), fills={"fill4": F, "fill9": G})
    two = part("b", replace(FILL, name="fill7"), fills={"fill7": F})
    memory = link([one, two], {}, REFERENCE).memory
    assert [(p.program, p.tensor, p.data) for p in memory] == [
        ("a", "fill4", F), ("a", "fill9", G), ("b", "fill7", F),
    ]  # fmt: skip


def test_what_a_program_keeps_for_itself_is_not_called_as_a_table_of_another() -> None:
    one = part("a", CACHE, FILL, SCRATCH, replace(SCRATCH, name="_t5"), fills={"fill4": F})
    two = part("b", replace(TOKEN, name="t5"), replace(WEIGHT, name="fill4"))
    bundle = link([one, two], {"fill4": W}, REFERENCE)
    assert [(p.program, p.tensor, p.data) for p in bundle.memory] == [
        ("", "cache", ""), ("", "t5", ""), ("", "fill4", W), ("a", "_fill4", F), ("a", "__t5", ""), ("a", "_t5", ""),
    ]  # fmt: skip
    assert [t.name for t in bundle.entry("a").program.tensors] == ["__t5", "_fill4", "_t5", "cache"]
    assert bundle.entry("b").program == two.program


def test_every_disagreement_is_told_at_once_with_both_programs_and_the_table() -> None:
    one = part("prefill", CACHE, WEIGHT, LOGITS)
    cache, weight = replace(CACHE, layout="dense"), replace(WEIGHT, shape=(1, 32, 40))
    logits = replace(LOGITS, prec="bf16")
    two = part("decode", cache, weight, logits)
    with pytest.raises(Refused) as caught:
        link([one, two], {"w": W}, REFERENCE)
    told = [p.what for p in caught.value.problems]
    assert told == [
        "programs `prefill` and `decode` disagree on the layout of table `cache`: flat and dense",
        "programs `prefill` and `decode` disagree on the shape of table `w`: 1 x 64 x 40 and 1 x 32 x 40",
        "programs `prefill` and `decode` disagree on the precision of table `logits`: f32 and bf16",
    ]


def test_results_that_are_stored_alike_are_told_apart_by_their_dimensions() -> None:
    def giving(name: str, *dims: int) -> Part:
        made = part(name, LOGITS)
        return replace(made, graph=replace(made.graph, tensors=(replace(made.graph.tensors[0], dims=dims),)))

    with pytest.raises(Refused) as caught:
        link([giving("prefill", 40), giving("decode", 1, 40)], {}, REFERENCE)
    assert [p.what for p in caught.value.problems] == [
        "programs `prefill` and `decode` disagree on the dimensions of table `logits`: 40 and 1 x 40"
    ]
    assert link([giving("prefill", 1, 40), giving("decode", 1, 40)], {}, REFERENCE).table("logits").dims == (1, 40)


def test_a_writer_leaves_what_each_reader_expects() -> None:
    writer, reader = part("add", CACHE, final=(-9, 12)), part("rank", CACHE)
    with pytest.raises(Refused) as caught:
        link([writer, reader], {}, REFERENCE)
    told = {p.what for p in caught.value.problems}
    assert "program `add` may leave -9 to 12 in table `cache`; program `rank` relies on -9 to 9" in told, (
        "the reader is named with what it relies on"
    )
    assert "program `add` may leave -9 to 12 in table `cache`; program `add` relies on -9 to 9" in told


def test_what_does_not_fit_the_memory_is_refused_with_the_figures() -> None:
    small = replace(REFERENCE, memory=replace(REFERENCE.memory, bytes=4096))
    with pytest.raises(Refused, match=r"needs \d+ bytes of memory, reference has 4096"):
        link([part("a", SCRATCH)], {}, small)
