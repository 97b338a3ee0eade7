"""settle: every state ends in the memory it began in.

A graph may say that a state ends as a tensor of its own, made whole from what the state was. On a chip a table has one
place, and a phase never stores what it reads: such a state is made beside the table, then copied over it.

    t5 = f(totals)                        t5 = f(totals)
    state totals: begins t0, ends t5  ->  t6 = t5 over t0
                                          state totals: begins t0, ends t6

Expects any graph. Ensures that each state's end is its beginning or written over it, step by step. Leaves alone what
already is.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.ir.affine import Affine
from spatial.ir.graph import At, Block, Carried, Graph, GraphTensor, Node, Piece, Read, Statement


def settle(graph: Graph) -> Graph:
    """`graph` with a copy appended for each state that would end elsewhere."""
    before, after = written_over(graph), versions(graph)
    tensors, nodes = list(graph.tensors), list(graph.nodes)
    state: list[tuple[str, int, int]] = []
    results = dict(graph.results)
    for name, start, end in graph.state:
        at = end
        while at != start and at in before:
            at = before[at]
        if at != start:
            source, last = tensors[end], start
            while last in after:
                last = after[last]
            tensors.append(GraphTensor(source.dims, source.kind, "made", "", source.range))
            nodes.append(_copy(end, len(tensors) - 1, last, source.dims))
            if results.get(name) == end:
                results[name] = len(tensors) - 1  # a result that is the state is read where that is
            end = len(tensors) - 1
        state.append((name, start, end))
    return replace(
        graph, tensors=tuple(tensors), nodes=tuple(nodes), state=tuple(state), results=tuple(results.items())
    )


def versions(graph: Graph) -> dict[int, int]:
    """Of each tensor that is written over, by a statement or by all instances of a block, what is made of it."""
    after: dict[int, int] = {}
    for node in graph.nodes:
        match node:
            case Statement(out, _, over):
                if over is not None:
                    after[over] = out
            case Block():
                after |= {c.initial: c.final for c in node.carried if in_place(node, c)}
    return after


def in_place(block: Block, carried: Carried) -> bool:
    """Whether the block writes a carried tensor over what it was, rather than making another."""
    over = {s.out: s.over for s in block.body}
    at: int | None = carried.made
    while at is not None and at != carried.inner:
        at = over.get(at)
    return at == carried.inner and carried.made != carried.inner


def written_over(graph: Graph) -> dict[int, int]:
    """For each tensor written over another one, that one; the end of a carried tensor counts as over its beginning."""
    found: dict[int, int] = {}

    def note(node: Node) -> None:
        match node:
            case Statement(out, _, over):
                if over is not None:
                    found[out] = over
            case Block(_, body, carried):
                for statement in body:
                    note(statement)
                for c in carried:
                    found[c.final] = c.made
                    found[c.inner] = c.initial

    for node in graph.nodes:
        note(node)
    return found


def _copy(source: int, out: int, over: int, dims: tuple[int, ...]) -> Statement:
    at = tuple(At(Affine.sym(f"v{n}")) for n in range(len(dims)))
    return Statement(out, (Piece(dims, (), at, Read(source, at)),), over)
