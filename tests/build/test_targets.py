"""Target files: the shipped ones load, and whatever is wrong with one is told with its line and its name."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from spatial.build.target_fields import ALSO, OPTIONAL, SECTIONS
from spatial.build.targets import load_target, read_target
from spatial.errors import Problem, SpecError
from spatial.ir import wire
from spatial.target import Target

TARGETS = Path(__file__).parents[2] / "targets"
SHIPPED = tuple(sorted(path.stem for path in TARGETS.glob("*.yaml")))
FIGURES = [(section, field) for section, shape in SECTIONS.items() for field in shape]


def shipped(name: str) -> dict[str, Any]:
    """The shipped file as plain maps, to be altered."""
    return copy.deepcopy(_plain(name))


@cache
def _plain(name: str) -> dict[str, Any]:
    return yaml.safe_load((TARGETS / f"{name}.yaml").read_text())


def text_of(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, width=1000)


def problems(document: dict[str, Any]) -> list[Problem]:
    with pytest.raises(SpecError) as caught:
        read_target(text_of(document).encode(), "t.yaml", "chip")
    assert all(p.place is not None and p.place.file == "t.yaml" and p.place.line and p.place.column
               for p in caught.value.problems)  # fmt: skip
    return list(caught.value.problems)


def the_problem(document: dict[str, Any]) -> Problem:
    (found,) = problems(document)
    return found


def line_of(document: dict[str, Any], section: str, field: str) -> int:
    """The line of `field` under `section` in the document's text."""
    lines = text_of(document).splitlines()
    start = lines.index(f"{section}:")
    return next(i for i, line in enumerate(lines, 1) if i > start and line.startswith(f"  {field}:"))


# ---------------------------------------------------------------- what is shipped


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_target_loads_and_its_record_comes_back(name: str) -> None:
    target = load_target(TARGETS / f"{name}.yaml")
    assert target.name == name
    assert wire.unpack(wire.pack(target), Target) == target


def test_wormhole_figures_follow_from_its_published_ones() -> None:
    target = load_target(TARGETS / "wormhole-n150.yaml")
    assert target.scratch == 1_499_136 - 103_712 - 16 * 1024
    assert target.memory.bytes == 12 << 30
    assert target.memory.rate * target.clock == 267e9
    assert target.matrix.registers == 32 * 1024 // (32 * 32 * 4) // 2
    matrix = target.matrix
    assert (matrix.operand, matrix.float_accumulate, matrix.int_accumulate) == ("tf32", "f32", "i32")
    assert target.matrix.ints == ("i8",)
    assert target.engine_of("matmul") == target.engine_of("generic") == ("compute",)
    assert target.engine_of("load") == ("mover0", "mover1")


def test_the_reference_rounds_nothing_and_has_every_integer() -> None:
    target = load_target(TARGETS / "reference.yaml")
    assert target.scratch == 3 << 19
    assert {target.matrix.operand, target.matrix.float_accumulate, target.vector.float} == {"f32"}
    assert target.matrix.ints == ("i8", "i16", "i32", "i64")
    assert target.matrix.int_accumulate == target.vector.int == "i64"


@pytest.mark.parametrize("name", SHIPPED)
def test_order_of_keys_and_words_sources_and_what_stands_aside_mean_nothing(name: str) -> None:
    document = shipped(name)
    document["matrix"]["floats"]["value"].reverse()
    document["engines"][0]["carries"]["value"].reverse()
    document["matrix"]["macs"]["source"] += ": of my own"
    document.pop("also", None)
    for unread in [tag for tag in document["sources"] if tag not in _tags_of(document)]:
        del document["sources"][unread]
    turned = {key: _turned(value) for key, value in reversed(document.items())}
    assert read_target(text_of(turned).encode(), "t.yaml", name) == load_target(TARGETS / f"{name}.yaml")


def _turned(value: Any) -> Any:
    return {k: _turned(v) for k, v in reversed(value.items())} if isinstance(value, dict) else value


def _tags_of(value: Any) -> set[str]:
    match value:
        case {"source": str(source)}:
            return {tag.strip() for tag in source.partition(":")[0].split(",")}
        case dict():
            return {tag for inner in value.values() for tag in _tags_of(inner)}
        case list():
            return {tag for inner in value for tag in _tags_of(inner)}
        case _:
            return set()


# ---------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(("section", "field"), FIGURES)
def test_a_missing_field_is_named_where_its_section_stands(section: str, field: str) -> None:
    document = shipped("reference")
    del document[section][field]
    found = the_problem(document)
    assert found.what == f"{section} has no {field}"
    assert found.mend == f"add {field}:"
    assert found.place and found.place.line == text_of(document).splitlines().index(f"{section}:") + 2


@pytest.mark.parametrize(("section", "field"), FIGURES)
def test_a_misspelt_field_is_named_with_the_nearest_known_one(section: str, field: str) -> None:
    document = shipped("reference")
    document[section] = {(f"{field}x" if key == field else key): value for key, value in document[section].items()}
    wrong, lacking = sorted(problems(document), key=lambda p: not p.what.startswith("no field"))
    assert wrong.what == f'no field of {section} is called "{field}x"'
    assert wrong.mend == f'did you mean "{field}"?'
    assert wrong.place and wrong.place.line == line_of(document, section, f"{field}x")
    assert lacking.what == f"{section} has no {field}"


@pytest.mark.parametrize(("section", "field"), FIGURES)
@pytest.mark.parametrize("value", [{"a": 1}, -1, "nonsense"], ids=["map", "negative", "word"])
def test_a_value_of_the_wrong_kind_is_named_on_its_line(section: str, field: str, value: Any) -> None:
    document = shipped("reference")
    document[section][field]["value"] = value
    found = problems(document)[0]
    assert f"{section}.{field}" in found.what
    assert found.place
    line = line_of(document, section, field)
    assert line < found.place.line <= line + 2


@pytest.mark.parametrize("name", ALSO)
def test_figures_aside_are_read_as_strictly(name: str) -> None:
    document = shipped("reference")
    document["also"] = {name: {"value": "nonsense", "source": "definition", "kind": "stated"}}
    assert f"also.{name}" in the_problem(document).what


@pytest.mark.parametrize("section", [*(s for s in SECTIONS if s not in OPTIONAL), "engines", "sources", "schema"])
def test_a_missing_section_is_named(section: str) -> None:
    document = shipped("reference")
    del document[section]
    assert f"the target has no {section}" in [p.what for p in problems(document)]


def test_every_problem_of_a_file_is_told_in_the_order_of_the_text() -> None:
    document = shipped("reference")
    document["sites"]["columns"]["value"] = 0
    document["vector"]["cost"]["expp"] = document["vector"]["cost"].pop("exp")
    document["memory"]["rate"]["kind"] = "guessed"
    document["colour"] = "red"
    found = problems(document)
    assert [p.what for p in found] == [
        "sites.columns is 0",
        'no operation is called "expp"',
        'the kind of memory.rate is "guessed"',
        'no field of the target is called "colour"',
    ]
    assert found[1].mend == 'did you mean "exp"?'


def _source(section: str, field: str, text: str, kind: str = "assumed") -> dict[str, Any]:
    document = shipped("reference")
    document[section][field] |= {"source": text, "kind": kind}
    return document


def test_sources_are_in_the_table_and_the_table_has_no_others() -> None:
    assert the_problem(_source("memory", "rate", "definitoin: so")).mend == 'did you mean "definition"?'
    assert "begins with" in the_problem(_source("memory", "rate", "A page")).what
    assert "not shown how" in the_problem(_source("memory", "rate", "definition", "derived")).what
    document = shipped("reference")
    document["sources"]["book"] = "a book"
    assert the_problem(document).what == 'no figure names the source "book"'


def test_engines_are_told_apart_and_carry_what_programs_need() -> None:
    document = shipped("reference")
    document["engines"][1]["name"] = "mover0"
    assert the_problem(document).what == 'two engines are called "mover0"'
    document = shipped("reference")
    document["engines"][2]["carries"]["value"] = ["matmul", "genric"]
    assert the_problem(document).mend == 'did you mean "generic"?'
    document = shipped("reference")
    document["engines"].pop()
    assert the_problem(document).what == "no engine carries matmul, generic or permute"
    document = shipped("reference")
    document["engines"][2]["carries"]["value"] = []
    assert "is empty" in the_problem(document).what


@pytest.mark.parametrize(
    ("section", "field", "value", "said"),
    [
        ("memory", "align", 24, "memory.align is no multiple"),
        ("memory", "align", 48, "memory.align is 48"),
        ("memory", "peak", 200, "memory.rate is above memory.peak"),
        ("sites", "align", 12, "sites.align is 12"),
        ("sites", "tile", [32, 16], "sites.tile is 32 x 16"),
        ("matrix", "ints", ["i8", "i16"], "matrix.passes has no i16"),
        ("matrix", "floats", ["f32"], "matrix.passes has bf16"),
        ("vector", "holds", ["i8", "i32"], "matrix.floats has no format that vector.holds has"),
        ("network", "count", 0, "a multicast, and network.count is 0"),
        ("network", "count", 1, "the engine mover1 is on network 1"),
        ("network", "rates", [[128, 5], [64, 9]], "network.rates goes from"),
        ("network", "multicast", ["rectangel"], 'item of network.multicast is called "rectangel"'),
        ("links", "rate", 13, "links.rate is above links.rated"),
        ("memory", "unplaced", 300, "memory.unplaced is above"),
        ("vector", "holds", ["f32", "i8"], "vector.holds lacks"),
        ("sites", "scratch", 1_000_000, "sites.scratch is 1000000"),
    ],
)
def test_figures_that_cannot_all_be_true_are_refused(section: str, field: str, value: Any, said: str) -> None:
    document = shipped("wormhole-n150")
    document[section][field]["value"] = value
    assert any(said in p.what for p in problems(document))


def test_engines_networks_and_links_go_together() -> None:
    document = shipped("wormhole-n300")
    del document["links"]
    told = [p.what for p in problems(document)]
    assert "sites.chips is 2" in told
    assert "the engine mover0 carries allreduce, send or receive" in told
    document = shipped("reference")
    del document["engines"][0]["network"]
    assert the_problem(document).what == "the engine mover0 moves pages and is on no network"
    document = shipped("reference")
    document["engines"][2]["network"] = document["engines"][0]["network"]
    assert the_problem(document).what == "the engine compute is on a network and moves nothing"
    document = shipped("h100")
    document["engines"][0]["carries"]["value"].append("scatter")
    assert the_problem(document).what == "the engine mover0 carries scatter"


def test_one_mistake_hides_no_other() -> None:
    """What cannot all be true is told beside what is wrong by itself."""
    document = shipped("reference")
    document["sites"]["columns"]["value"] = "many"
    document["memory"]["unplaced"]["value"] = 300
    document["matrix"]["passes"]["f33"] = document["matrix"]["passes"]["f16"]
    found = problems(document)
    assert [p.what.split(" is ")[0] for p in found] == ["sites.columns", "no format", "memory.unplaced"]


def test_files_that_are_no_target_are_spec_errors(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        load_target(tmp_path / "absent.yaml")
    (tmp_path / "Chip.yaml").write_text("schema: 1")
    with pytest.raises(SpecError, match="cannot be called"):
        load_target(tmp_path / "Chip.yaml")
    for text in (b"", b"[1]", b"12", b"a: [", b"\xff"):
        with pytest.raises(SpecError):
            read_target(text, "t.yaml", "chip")


_leaf = st.none() | st.booleans() | st.integers(-3, 1 << 62) | st.floats() | st.text("ab: ,", max_size=5)
_anything = st.recursive(_leaf, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text("abc"), part))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_anything_anywhere_is_a_target_or_a_spec_error(data: st.DataObject) -> None:
    """Whatever stands in place of any part of a target file, the reader gives a record or a SpecError, nothing else."""
    document: Any = shipped("wormhole-n150")
    at = document
    key = data.draw(st.sampled_from(sorted(at)))
    while isinstance(at[key], dict | list) and at[key] and data.draw(st.booleans()):
        at = at[key]
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
    at[key] = data.draw(_anything)
    try:
        read_target(text_of(document).encode(), "t.yaml", "chip")
    except SpecError as error:
        assert error.problems
