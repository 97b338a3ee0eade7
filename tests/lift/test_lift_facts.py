"""Names a source uses, inputs without a declaration, relations between inputs, and proved ranges."""

from __future__ import annotations

import numpy as np
from lifting import Facts, Table, agree, floats, graph_of, ints, lifted, parse

from spatial.graph.ranges import ranges_of
from spatial.lift import flat_tables, used_names

FACTS = Facts(
    {"n": 4, "spare": 3, "limit": 8},
    {
        "start": Table((1,), "int", (0, 6)),
        "count": Table((1,), "int", (1, 4)),
        "table": Table((8, 2), "float", None, True),
        "unused": Table((1,), "int"),
    },
    ("w", "other"),
    ("start + count <= limit",),
)

SOURCE = """## To scaled (v: Float) -> Float:
    Return v * item 1 of w.

## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push scaled(item i of w) to y.
Repeat for i from 1 to item 1 of count:
    Set item 1 of (item (item 1 of start + i) of table) to 0.0.
"""


def test_used_names() -> None:
    """Names in functions count, and those of relations between inputs."""
    used = used_names(parse(SOURCE), FACTS)
    assert used.sizes == ("limit", "n")
    assert used.tables == ("count", "start", "table")
    assert used.weights == ("w",)


def test_relations_between_inputs_prove_accesses() -> None:
    """`start + i` with i up to `count` is in the table only because of the declared relation."""
    graph = graph_of(SOURCE, FACTS)
    for start, count in [(0, 1), (6, 2), (4, 4)]:
        given = {
            "start": np.array([start]),
            "count": np.array([count]),
            "table": floats(1, 8, 2),
            "w": floats(2, 4),
        }
        agree(SOURCE, FACTS, given, graph=graph)
    alone = Facts(FACTS.sizes, FACTS.tables, FACTS.weights)
    found = lifted(SOURCE, alone)
    assert found.graph is None
    assert found.missing[0].line == 9


def test_inputs_of_a_source_by_itself() -> None:
    """Shapes follow from the accesses; what is used as an index holds integers."""
    source = """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to 3:
    Push item (max(1, min(5, item i of order0))) of values to y.
"""
    facts = Facts(open_inputs=True)
    graph = graph_of(source, facts)
    assert {(t.name, t.dims, t.kind) for t in graph.tensors if t.role == "input"} == {
        ("order0", (3,), "int"),
        ("values", (5,), "float"),
    }
    agree(source, facts, {"order0": np.array([4, 1, 5]), "values": floats(3, 5)}, graph=graph)


def test_unbound_names_are_refused_with_a_spec() -> None:
    found = lifted("## Main\nLet y be spar + 1.\n", FACTS)
    assert found.missing[0].mend == 'did you mean "spare"?'


def test_flat_tables() -> None:
    nested = "## Main\nLet y be item 1 of (item 2 of table) + 0.5.\n"
    flat = "## Main\nLet y be item 3 of table + 0.5.\n"
    assert flat_tables(parse(nested), FACTS) == frozenset()
    assert flat_tables(parse(flat), FACTS) == {"table"}
    assert graph_of(nested, FACTS) == graph_of(flat, FACTS)


def test_ranges_of_integers() -> None:
    """Sums count their terms, guards make terms optional, and a carried integer that grows has no bound."""
    source = """## Main
Let total be 0.
Repeat for i from 1 to n:
    Set total to total + item i of q * item i of q.
Let some be 0.
Repeat for i from 1 to item 1 of start + 1:
    Set some to some + item i of q.
Let best be item 1 of q.
Let where0 be 1.
Repeat for i from 1 to n:
    If item i of q > best:
        Set best to item i of q.
        Set where0 to i.
Let mixed be total // 3 - some % 4.
"""
    facts = Facts({"n": 4}, {"q": Table((7,), "int", (-3, 5)), "start": Table((1,), "int", (0, 6))})
    names = ("total", "some", "best", "where0", "mixed")
    graph = agree(source, facts, {"q": ints(1, -3, 5, 7), "start": np.array([3])}, names)
    found = {name: graph.tensors[n].range for name, n in graph.results}
    assert found["total"] == (-60, 100)
    assert found["some"] == (-21, 35)
    assert found["best"] == (-3, 5)
    assert found["where0"] == (1, 4)
    assert ranges_of(graph) == {n: t.range for n, t in enumerate(graph.tensors) if t.range is not None}


def test_a_growing_carried_integer_has_no_range() -> None:
    source = """## Main
Let y be copy of q.
Repeat for step from 1 to 9:
    Let next be a new Seq of Int.
    Repeat for i from 1 to n:
        Push item i of y + item (n + 1 - i) of y to next.
    Set y to next.
"""
    facts = Facts({"n": 4}, {"q": Table((4,), "int", (-3, 5))})
    graph = agree(source, facts, {"q": ints(1, -3, 5, 4)})
    ((_, y),) = graph.results
    assert graph.tensors[y].range is None
    clamped = source.replace("item i of y + item (n + 1 - i) of y", "min(9, item i of y + item (n + 1 - i) of q)")
    graph = graph_of(clamped.replace("min(9,", "max(-9, min(9,").replace("of q) to", "of q)) to"), facts)
    ((_, y),) = graph.results
    assert graph.tensors[y].range == (-9, 9)


def test_a_sum_that_starts_at_an_item_of_a_weight() -> None:
    """Whether the item is a row or a number shows only as the loops add to it; what follows still tells shapes."""
    source = """## To moved (x: Seq of Float, b: Seq of Float) -> Seq of Float:
    Let out be a new Seq of Float.
    Repeat for j from 1 to n:
        Let t be item j of b.
        Repeat for i from 1 to n:
            Repeat for k from 1 to i:
                Set t to t + item i of x * k.
        Push t to out.
    Return out.

## Main
Let y be moved(moved(moved(x, a), b), c).
"""
    facts = Facts({"n": 4}, {"x": Table((4,), "float")}, ("a", "b", "c"))
    agree(source, facts, {name: floats(n, 4) for n, name in enumerate("xabc")})
