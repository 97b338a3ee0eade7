"""Blocks put so that what instances hand on lies in memory of the program's own.

The instances of a block read what is handed to them through one operand, so all of it has one format and one layout.
A table's are agreed upon apart, and its memory is its own: a table that the block does not write in place is copied
before it begins a block, or is handed on.

    block: begins with a, hands on t        ->      c = a;  block: begins with c, hands on t
    block: s' = f(s) over s, hands on s'    ->      block: s' = f(s) over s;  c = s', hands on c

An integer that is handed on, or is an index, is proved to lie in some range, and its readers rely on that. Lanes of its
memory beyond its elements may compute something else, of zeros; then the values are held to the range.

Knows no layout, no section and no target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from spatial.graph.settle import in_place
from spatial.ir.graph import Block, Carried, Fn, Graph, Node, Num, Statement, Value
from spatial.select.pieces import piece_reads
from spatial.select.temporaries import Temporaries

Owner = tuple[int, int]
"""Which statement of the source's graph one serves: its node, and its position in a block's body or -1."""
Owned = tuple[Node, tuple[Owner, ...]]
"""A node and whom its statements serve."""


def handed(graph: Graph, work: Temporaries) -> list[Owned]:
    """The nodes of the graph, with copies of tables before and in its blocks, whose tensors `work` adds."""
    tables = _tables(graph)
    out: list[Owned] = []
    for n, node in enumerate(graph.nodes):
        if isinstance(node, Block):
            out += _apart(node, n, tables, work)
        else:
            out.append((node, ((n, -1),)))
    return out


def _tables(graph: Graph) -> frozenset[int]:
    """The tensors that lie in the memory of a table: the table, and what is written over it."""
    found = {n for n, t in enumerate(graph.tensors) if t.role in ("input", "weight", "state")}

    def written(statements: Sequence[Statement]) -> None:
        found.update(s.out for s in statements if s.over in found)

    for node in graph.nodes:
        match node:
            case Statement():
                written((node,))
            case Block():
                over = [c for c in node.carried if c.initial in found and in_place(node, c)]
                found.update(c.inner for c in over)
                written(node.body)
                found.update(c.final for c in over)
    return frozenset(found)


def _apart(block: Block, number: int, tables: frozenset[int], work: Temporaries) -> list[Owned]:
    """The block with copies in place of the tables that it carries and does not write in place."""
    inside = {s.out for s in block.body}
    before: dict[int, Statement] = {}
    after: dict[int, Statement] = {}

    def own(tensor: int) -> int:
        if tensor not in tables:
            return tensor
        copies = after if tensor in inside else before
        if tensor not in copies:
            copies[tensor] = work.copy(tensor)
        return copies[tensor].out

    def apart(c: Carried) -> Carried:
        return c if in_place(block, c) else replace(c, initial=own(c.initial), made=own(c.made))

    carried = tuple(apart(c) for c in block.carried)
    body = (*block.body, *after.values())
    owners = tuple((number, min(k, len(block.body) - 1)) for k in range(len(body)))
    copied: list[Owned] = [(s, owners[:1]) for s in before.values()]
    return [*copied, (replace(block, body=body, carried=carried), owners)]


def held_ranges(graph: Graph) -> dict[int, tuple[int, int]]:
    """Of the integers that blocks begin with and hand on, and of indices, by tensor: the values that are taken for
    granted of them."""
    found: dict[int, tuple[int, int]] = {}
    for c in (c for node in graph.nodes if isinstance(node, Block) for c in node.carried):
        held = graph.tensors[c.inner].range
        if graph.tensors[c.inner].kind == "int" and held is not None:
            for n in (c.initial, c.made):
                low, high = found.get(n, held)
                found[n] = max(low, held[0]), min(high, held[1])
    for n in _indices(graph):
        held = graph.tensors[n].range
        if held is not None:
            found.setdefault(n, held)
    return found


def _indices(graph: Graph) -> Iterator[int]:
    """The tensors whose elements are indices of accesses."""
    for s in (s for node in graph.nodes for s in (node.body if isinstance(node, Block) else (node,))):
        for p in s.pieces:
            places = [*p.pos, *(at for r in piece_reads(p) for at in r.at)]
            yield from (at.via.tensor for at in places if at.via is not None)


def held_to(statement: Statement, low: int, high: int) -> Statement:
    """The statement with its values, which are known to lie so, held between `low` and `high` in every lane: what
    lanes that hold no element compute from nothing need not."""

    def held(value: Value) -> Value:
        return Fn("min", (Fn("max", (value, Num(low, "int")), "int"), Num(high, "int")), "int")

    return replace(statement, pieces=tuple(replace(p, value=held(p.value)) for p in statement.pieces))
