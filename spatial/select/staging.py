"""Statements put so that no section loads what it stores: order, copies and temporaries around tables written in place.

A table's versions share memory, and within a phase nothing is both stored and loaded. So whoever reads the old version
goes before whoever writes the new one; where each needs the other, the old version is copied; a statement that reads
the table it writes computes into a temporary first; and a result that is an input, or a version that is written over,
is a copy. What blocks carry is put right first (`handing`).

    a' = a[i] + 1 over a        ->      t = a[i] + 1;  a' = t[i] over a

Of anything but state, what is not written is lost: a tensor written over another that is no state is written whole
(`select.whole`), and so are tensors whose parts no sections can make side by side.

Knows no layout, no section and no target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spatial.graph.settle import in_place, written_over
from spatial.ir.graph import (
    At,
    Block,
    Fn,
    Graph,
    Node,
    Piece,
    Read,
    Reduction,
    Shown,
    Statement,
    Value,
)
from spatial.select.handing import Owner, handed
from spatial.select.pieces import piece_reads
from spatial.select.places import drawn_in, may_stray
from spatial.select.temporaries import Temporaries
from spatial.select.whole import whole


@dataclass(frozen=True)
class Staged:
    """The graph in its new order. `owners`: for each node whom its statements serve; `kept`: versions of state."""

    graph: Graph
    owners: tuple[tuple[Owner, ...], ...]
    kept: frozenset[int]


@dataclass(frozen=True)
class _Item:
    """A node with what it reads, makes and writes over, by tensor; `owners` as in `Staged`."""

    node: Node
    owners: tuple[Owner, ...]
    reads: frozenset[int]
    makes: frozenset[int]
    over: frozenset[int]


def staged(graph: Graph) -> Staged:
    """The graph as sections can run it; the same where nothing stands in the way."""
    work = Temporaries(list(graph.tensors))
    kept = _kept(graph)
    items: list[_Item] = []
    for node, owners in handed(graph, work):
        if isinstance(node, Block):
            parts = [(o, made) for s, o in zip(node.body, owners, strict=True) for made in _settled(work, s, kept)]
            items.append(_of_body(node, _ordered(work, [_item(s, (o,)) for o, s in parts])))
        else:
            items += [_item(s, owners) for s in _settled(work, node, kept)]
    gone = {t for i in items for t in i.over}
    results = list(graph.results)
    end: Owner = (len(graph.nodes), -1)
    places = {last: name for name, _, last in graph.state}
    for k, (name, tensor) in enumerate(results):
        held = places.setdefault(tensor, name)  # each result lies in a table of its own name
        if tensor in gone or held != name or work.tensors[tensor].role in ("input", "weight", "fill"):
            copy = work.copy(tensor)
            items.append(_item(copy, (end,)))
            results[k] = (name, copy.out)
    shows = list[Shown]()
    for line in graph.shows:
        parts = list[str | int]()
        for part in line.parts:
            if isinstance(part, int) and part in gone:
                copy = work.copy(part)  # the version shown, before it is written over
                items.append(_item(copy, (end,)))
                part = copy.out
            parts.append(part)
        shows.append(replace(line, parts=tuple(parts)))
    done = _ordered(work, items)
    made = replace(
        graph,
        tensors=tuple(work.tensors),
        nodes=tuple(i.node for i in done),
        results=tuple(results),
        shows=tuple(shows),
    )
    return Staged(made, tuple(i.owners for i in done), _kept(made))


Judge = Callable[[Statement], bool]
Change = Callable[[Statement, Temporaries], Sequence[Statement] | None]
"""The statements to put in the place of one, what they need made noted; None to leave it as it is."""


def remade(put: Staged, unfit: Judge, outside: Judge) -> Staged | None:
    """The graph with the statements that cannot be sections made otherwise; None if none is left.

    `unfit`: parts do not fit side by side; those written over state follow each other, others become one statement
    over the whole tensor. `outside`: a place may lie outside its table; that of a guarded write is held inside.
    """

    def change(statement: Statement, work: Temporaries) -> Sequence[Statement] | None:
        made = _joined(work, statement, put.kept) if unfit(statement) else None
        if made is None and may_stray(statement, work) and outside(statement):
            return drawn_in(statement, work)
        return made

    return changed(put, change)


def changed(put: Staged, change: Change) -> Staged | None:
    """The graph with what `change` puts in the place of its statements; None where it leaves all as they are."""
    work = Temporaries(list(put.graph.tensors))
    items: list[_Item] = []
    other = False
    for node, owners in zip(put.graph.nodes, put.owners, strict=True):
        body = node.body if isinstance(node, Block) else (node,)
        inner: list[_Item] = []
        for statement, owner in zip(body, owners, strict=True):
            made = change(statement, work)
            other = other or made is not None
            inner += [_item(s, (owner,)) for s in made or [statement]]
        items += [_of_body(node, inner)] if isinstance(node, Block) else inner
    if not other:
        return None
    graph = replace(put.graph, tensors=tuple(work.tensors), nodes=tuple(i.node for i in items))
    return Staged(graph, tuple(i.owners for i in items), _kept(graph))


def _of_body(block: Block, body: Sequence[_Item]) -> _Item:
    made = replace(block, body=tuple(s for i in body for s in (i.node,) if isinstance(s, Statement)))
    return _item(made, tuple(o for i in body for o in i.owners))


def _kept(graph: Graph) -> frozenset[int]:
    """The versions of state from a call's beginning to its end: what a statement does not write is still there.

    What is written over a copy of state is none of them.
    """
    earlier = written_over(graph)
    found: set[int] = set()
    for _, start, end in graph.state:
        at = end
        found |= {start, end}
        while at in earlier:
            at = earlier[at]
            found.add(at)
    return frozenset(found)


def _settled(work: Temporaries, statement: Statement, kept: frozenset[int]) -> list[Statement]:
    """A statement and what must be made before it: one reduction a statement, and whole what is no state."""
    if len(statement.pieces) > 1 and any(p.accs for p in statement.pieces):
        kind = work.tensors[statement.out].kind
        pieces = (
            replace(p, red=(), value=work.held(p, p.value, kind), accs=()) if p.accs else p for p in statement.pieces
        )
        statement = replace(statement, pieces=tuple(pieces))
    if statement.over is not None and statement.out not in kept:
        statement = whole(statement, work) or statement
    return [*work.taken(), statement]


def _joined(work: Temporaries, statement: Statement, kept: frozenset[int]) -> list[Statement] | None:
    """A statement of several parts as several statements, or as one of one part; None where it cannot be."""
    if len(statement.pieces) == 1:
        return None
    if statement.out not in kept:
        made = whole(statement, work, interleave=False)
        return None if made is None else [*work.taken(), made]
    old = work.tensors[statement.out]
    steps: list[Statement] = []
    for piece in statement.pieces:
        step = Statement(work.made(old.dims, old.kind, old.range), (piece,), steps[-1].out if steps else statement.over)
        steps.append(step)
    steps[-1] = replace(steps[-1], out=statement.out)
    return steps


def _item(node: Node, owners: tuple[Owner, ...]) -> _Item:
    match node:
        case Statement():
            reads = frozenset(_reads(node))
            over: frozenset[int] = frozenset(() if node.over is None else (node.over,))
            return _Item(node, owners, reads, frozenset((node.out,)), over)
        case Block():
            inside = {s.out for s in node.body} | {c.inner for c in node.carried}
            # What is handed on alike by every instance is made outside, and read like anything else.
            reads = {t for s in node.body for t in _reads(s)} | {c.made for c in node.carried}
            reads -= inside
            written = {c.initial for c in node.carried if in_place(node, c)}
            carried = {c.initial for c in node.carried} - written
            makes = frozenset(c.final for c in node.carried)
            return _Item(node, owners, frozenset(reads | carried), makes, frozenset(written))


def _reads(statement: Statement) -> Iterator[int]:
    for piece in statement.pieces:
        for read in piece_reads(piece):
            yield read.tensor


def _ordered(work: Temporaries, items: Sequence[_Item]) -> list[_Item]:
    """The items, each after what it needs, writers after all readers of what they write over."""
    left = [x for item in items for x in _apart(work, item)]
    done: list[_Item] = []
    while left:
        makes = {t for i in left for t in i.makes}
        free = [i for i in left if not (i.reads | i.over) & (makes - i.makes)]
        ready = next((i for i in free if not any(i.over & j.reads for j in left if j is not i)), None)
        if ready is None:
            # Each of two versions is still read by whoever waits for the other: the old one is copied.
            ready = next(i for i in free if i.over)
            for old in sorted(ready.over):
                copy = work.copy(old)
                done.append(_item(copy, ready.owners[:1]))
                left = [_renamed_item(j, {old: copy.out}) if j is not ready else j for j in left]
        done.append(ready)
        left = [i for i in left if i is not ready]
    return done


def _apart(work: Temporaries, item: _Item) -> list[_Item]:
    """The item so that it reads nothing it writes over."""
    both = item.reads & item.over
    if not both:
        return [item]
    if isinstance(item.node, Block):
        copies = {t: work.copy(t) for t in sorted(both)}
        inner = _renamed_item(item, {t: c.out for t, c in copies.items()})
        return [*(_item(c, item.owners[:1]) for c in copies.values()), inner]
    statement = item.node
    pieces: list[Piece] = []
    for piece in statement.pieces:
        value = work.held(piece, piece.value, work.tensors[statement.out].kind)
        guards = tuple(
            work.held_truth(piece, g) if any(r.tensor in both for r in piece_reads(Piece((), (), (), g))) else g
            for g in piece.guards
        )
        pos = (
            replace(at, via=work.held(piece, at.via, "int")) if at.via is not None and at.via.tensor in both else at
            for at in piece.pos
        )
        pieces.append(Piece(piece.par, (), tuple(pos), value, (), guards))
    made = [*work.taken(), Statement(statement.out, tuple(pieces), statement.over)]
    return [_item(s, item.owners) for s in made]


# ---------------------------------------------------------------- rewriting reads


def _renamed_item(item: _Item, names: Mapping[int, int]) -> _Item:
    if not item.reads & set(names):
        return item
    match item.node:
        case Statement():
            return _item(_renamed(item.node, names), item.owners)
        case Block() as block:
            body = tuple(_renamed(s, names) for s in block.body)
            made = (replace(c, made=names.get(c.made, c.made)) for c in block.carried)
            carried = tuple(
                c if c.initial in item.over else replace(c, initial=names.get(c.initial, c.initial)) for c in made
            )
            return _item(replace(block, body=body, carried=carried), item.owners)


def _renamed(statement: Statement, names: Mapping[int, int]) -> Statement:
    return replace(statement, pieces=tuple(_renamed_piece(p, names) for p in statement.pieces))


def _renamed_piece(piece: Piece, names: Mapping[int, int]) -> Piece:
    def value(x: Value) -> Value:
        match x:
            case Read():
                return read(x)
            case Fn():
                return Fn(x.fn, tuple(value(a) for a in x.args), x.kind)
            case _:
                return x

    def read(x: Read) -> Read:
        return Read(names.get(x.tensor, x.tensor), tuple(index(a) for a in x.at))

    def index(x: At) -> At:
        return x if x.via is None else At(x.base, read(x.via), x.scale)

    def reduction(x: Reduction) -> Reduction:
        return Reduction(
            x.op,
            value(x.value),
            tuple(value(g) for g in x.guards),
            None if x.arg is None else value(x.arg),
            None if x.init is None else value(x.init),
        )

    return Piece(
        piece.par,
        piece.red,
        tuple(index(a) for a in piece.pos),
        value(piece.value),
        tuple(reduction(a) for a in piece.accs),
        tuple(value(g) for g in piece.guards),
    )
