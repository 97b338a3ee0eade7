"""A graph in words: families, expressions, names and state in the order in which they are met."""

from __future__ import annotations

import pytest
from lifting import Facts, Table, lifted

from spatial.graph.describe import (
    carried_state,
    conditions,
    expression,
    family,
    is_float,
    names_of,
    place,
    state_order,
    statements_of,
)
from spatial.ir.graph import Graph, Lifted

FACTS = Facts(
    {"n": 6, "m": 4},
    {
        "xs": Table((6,), "float"),
        "q": Table((6,), "int", (-9, 9)),
        "place": Table((1,), "int", (0, 5)),
        "zeta": Table((6, 4), "float", None, True),
        "alpha": Table((6,), "float", None, True),
        "whole": Table((6,), "float", None, True),
    },
    ("g", "w"),
)


def whole(source: str, results: tuple[str, ...] = ("y",)) -> tuple[Lifted, Graph]:
    found = lifted(source, FACTS, results)
    assert found.graph is not None, found.missing
    return found, found.graph


PUSHED = "Let y be a new Seq of Float.\nRepeat for i from 1 to n:\n    "
CASES = {
    "product": (
        "Let y be a new Seq of Float.\nRepeat for j from 1 to m:\n    Let t be 0.0.\n    Repeat for i from 1 to n:\n"
        "        Set t to t + item i of (item j of w) * item i of xs.\n    Push t to y.\n",
        "sum[w[i, j] * xs[j] over j]",
    ),
    "reduction": (
        "Let y be item 1 of xs.\nRepeat for t from 1 to item 1 of place + 1:\n    Set y to max(y, item t of xs).\n",
        "max[xs[i] where i <= place[0] over i]",
    ),
    "map": (
        PUSHED + "Push (item i of xs + 1.0) * (item i of xs - 2.0) / 3.0 to y.\n",
        "(xs[i] + 1.0) * (xs[i] - 2.0) / 3.0",
    ),
    "gather": (PUSHED + "Push item (item 1 of place + 1) of xs to y.\n", "xs[place[0]]"),
    "arg-max": (
        "Let y be 1.\nLet best be item 1 of q.\nRepeat for i from 2 to n:\n    If item i of q >= best:\n"
        "        Set best to item i of q.\n        Set y to i.\n",
        "[i + 1 at max, last of q[i] over i]",
    ),
}  # fmt: skip


TERMS = {
    "item i of (item j of w) * item i of xs * 0.3": "product",
    "item i of (item j of w) * 3.0 * (item i of xs / 7.0)": "product",
    "item i of (item j of w) * item i of xs / item j of g": "product",
    "(0.0 - item i of (item j of w)) * item i of xs": "product",
    "item i of (item j of w) * item i of (item j of w) * 0.3": "reduction",
    "item i of (item j of w) / item i of xs": "reduction",
    "(item i of (item j of w) + 1.0) * 0.5": "reduction",
    "1.0 - item i of (item j of w) * item i of xs": "reduction",
}
"""Terms that are summed over i, for every j."""


@pytest.mark.parametrize("term", TERMS)
def test_a_product_may_be_scaled_in_any_place(term: str) -> None:
    source = (
        "Let y be a new Seq of Float.\nRepeat for j from 1 to m:\n    Let t be 0.0.\n    Repeat for i from 1 to n:\n"
        f"        Set t to t + {term}.\n    Push t to y.\n"
    )
    _, graph = whole(source)
    assert family(list(statements_of(graph))[-1][1]) == TERMS[term]


@pytest.mark.parametrize("kind", CASES)
def test_a_statement_has_a_family_and_an_expression(kind: str) -> None:
    source, text = CASES[kind]
    found, graph = whole(source)
    _, statement, instances = list(statements_of(graph))[-1]
    assert family(statement) == kind
    assert instances == 1
    assert expression(statement.pieces[0], names_of(graph, found)) == text
    assert is_float(statement, graph) == (kind != "arg-max")


def test_writes_say_where_and_when() -> None:
    source = """If item 1 of place is at most 3:
    Repeat for j from 1 to m:
        Set item j of (item (item 1 of place + 1) of zeta) to item j of g.
"""
    found, graph = whole(source, ())
    ((_, statement, _),) = statements_of(graph)
    names = names_of(graph, found)
    (piece,) = statement.pieces
    assert family(statement) == "scatter"
    assert place(piece, names) == "place[0], i"
    assert conditions(piece.guards, piece, names) == "place[0] - 3 <= 0"
    assert expression(piece, names, 3) == "g[…"


def test_state_stands_in_the_order_in_which_it_is_met_and_is_carried_unless_it_is_assembled_whole() -> None:
    source = """Set item 2 of (item 1 of zeta) to 0.5.
Repeat for i from 1 to n:
    Set item i of whole to item i of xs * 2.0.
Repeat for step from 1 to 3:
    Repeat for i from 1 to n:
        Set item i of alpha to item i of alpha * 0.5 + item i of whole.
"""
    found, graph = whole(source, ())
    assert [name for name, _, _ in graph.state] == ["alpha", "whole", "zeta"]
    assert state_order(graph, found.origins) == ("zeta", "whole", "alpha")
    assert carried_state(graph, found.origins) == ("zeta", "alpha")
