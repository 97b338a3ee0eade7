"""The programs of `docs/lifting.md` lift as the page says, to graphs that compute what the interpreter does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from lifting import Array, Facts, Table, agree, floats, graph_of, ints, lifted, parse

DOCUMENT = (Path(__file__).parents[2] / "docs" / "lifting.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(logos same|logos|refused)\n(.*?)```", DOCUMENT, re.DOTALL)
SPEC = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)[0])

FOLLOWED = [*(kind for kind, _ in BLOCKS[1:]), "end"]
REFUSED = [(text, BLOCKS[n + 1][1]) for n, (_, text) in enumerate(BLOCKS) if FOLLOWED[n] == "refused"]
LIFTED = [text for n, (kind, text) in enumerate(BLOCKS) if kind != "refused" and FOLLOWED[n] != "refused"]
SAME = [(BLOCKS[n - 1][1], text) for n, (kind, text) in enumerate(BLOCKS) if kind == "logos same"]

FACTS = Facts(
    SPEC["sizes"],
    {
        name: Table(
            tuple(t["shape"]), t["type"].lower(), tuple(t["range"]) if "range" in t else None, t.get("state", False)
        )
        for name, t in SPEC["tables"].items()
    },
    tuple(SPEC["weights"]),
)


def results(source: str) -> list[str]:
    return ["y"] if "Let y " in source else []


def inputs(seed: int) -> dict[str, Array]:
    given = {name: floats(seed + n, *shape) for n, (name, shape) in enumerate(SPEC["weights"].items())}
    for n, (name, table) in enumerate(FACTS.tables.items()):
        low, high = table.range or (0, 1)
        at = 100 * seed + n
        given[name] = ints(at, low, high, *table.dims) if table.kind == "int" else floats(at, *table.dims)
    return given


def test_the_page_has_both_kinds() -> None:
    assert len(LIFTED) >= 10
    assert len(REFUSED) >= 8
    assert len(SAME) >= 2


@pytest.mark.parametrize("source", LIFTED, ids=range(len(LIFTED)))
def test_what_lifts_computes_what_the_interpreter_does(source: str) -> None:
    graph = graph_of(source, FACTS, results(source))
    used = {tensor.name for tensor in graph.tensors}
    for seed in range(3):
        given = {name: value for name, value in inputs(seed).items() if name in used}
        agree(source, FACTS, given, results(source), graph)


@pytest.mark.parametrize(("first", "second"), SAME)
def test_spellings_said_to_be_the_same_give_one_graph(first: str, second: str) -> None:
    assert graph_of(first, FACTS) == graph_of(second, FACTS)


@pytest.mark.parametrize(("source", "told"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_says_where_why_and_what_would_lift(source: str, told: str) -> None:
    found = lifted(parse(source, "example.lg"), FACTS, results(source))
    assert found.graph is None
    said = [(f"{m.line}:{m.column} {m.why}", m.mend) for m in (*found.missing, *found.depending)]
    assert [line for lines in said for line in lines if line] == told.splitlines()


def test_divisions_in_another_order_are_told_apart() -> None:
    one = "Let y be a new Seq of Float.\nRepeat for i from 1 to m:\n    Push item i of g / 3.0 * item i of x to y.\n"
    other = one.replace("item i of g / 3.0 * item i of x", "item i of g * item i of x / 3.0")
    assert graph_of(one, FACTS) != graph_of(other, FACTS)
