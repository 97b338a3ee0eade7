"""Layouts: how every tensor of a program is stored, and what the programs of a deployment agree on for their tables.

Tensors that are one piece of memory over time (a table and what is written over it, a carried tensor and what each
instance makes of it) are one class with one view. A class is dense where some access moves pages of several rows and
columns, else flat; a weight the deployment stores Q8_0 has its own layout. The agreement is made over the graphs of
all programs at once, from their accesses alone: it needs no plan and no weight's bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spatial.errors import Problem, Refused
from spatial.graph.names import names_of, untaken
from spatial.ir.affine import Affine
from spatial.ir.graph import At, Block, Graph, GraphTensor, Piece, Read, Statement, Value
from spatial.ir.layout import layout_of
from spatial.numerics import Q8_BLOCK, narrowest
from spatial.select.pieces import Stored, forms_of, fusable, piece_reads, reads_of, values_of
from spatial.select.products import is_product
from spatial.select.views import Use, View, choose_view, lane_sides
from spatial.target import Target


@dataclass(frozen=True)
class TableLayout:
    """What programs agree on for one table: its dimensions, how they group, layout, format and declared range."""

    name: str
    role: str
    dims: tuple[int, ...]
    kind: str
    split: tuple[int, int]
    layout: str
    prec: str
    range: tuple[int, int] | None = None

    @property
    def view(self) -> View:
        """The table's view."""
        return View(self.dims, self.split, swap=self.layout == "q8_0")


@dataclass(frozen=True)
class Request:
    """What a deployment asks for: formats by table name (`stored`: "q8_0", "f32", …), and the tables to lay out dense

    (None: as the accesses have it).
    """

    stored: Mapping[str, str] = field(default_factory=dict[str, str])
    dense: frozenset[str] | None = None


def statements_of(graph: Graph) -> Iterator[Statement]:
    """Every statement, those of blocks once."""
    for node in graph.nodes:
        match node:
            case Block():
                yield from node.body
            case Statement():
                yield node


def classes(graph: Graph) -> list[int]:
    """For each tensor the least number of its class: tensors that share memory, or hand it on, are one class."""
    parent = list(range(len(graph.tensors)))

    def root(t: int) -> int:
        while parent[t] != t:
            parent[t] = parent[parent[t]]
            t = parent[t]
        return t

    def join(a: int, b: int) -> None:
        a, b = sorted((root(a), root(b)))
        parent[b] = a

    for s in statements_of(graph):
        if s.over is not None:
            join(s.over, s.out)
    for node in graph.nodes:
        if isinstance(node, Block):
            for c in node.carried:
                for other in (c.inner, c.made, c.final):
                    join(c.initial, other)
    return [root(t) for t in range(len(parent))]


@dataclass
class Facts:
    """What the accesses of one class ask of its view."""

    uses: list[Use] = field(default_factory=list[Use])
    sliced: int = 0
    kept: bool = False


def gather_facts(graph: Graph, q8: frozenset[str]) -> dict[int, Facts]:
    """The facts of every class of the graph; `q8`: names of the weights stored Q8_0."""
    cls = classes(graph)
    facts: dict[int, Facts] = {}
    for statement in statements_of(graph):
        step = _interleaved(statement)
        for piece in statement.pieces:
            reads = piece_reads(piece)
            blocked = any(graph.tensors[r.tensor].name in q8 for r in reads) and bool(piece.accs)
            accesses = [(statement.out, piece.pos), *((r.tensor, r.at) for r in reads)]
            for n, (tensor, at) in enumerate(accesses):
                others = [a for m, (_, a) in enumerate(accesses) if m != n]
                f = facts.setdefault(cls[tensor], Facts())
                cut = blocked and n > 0 and _reduces(piece, at)
                f.uses.append(replace(_use(piece, at, others, is_product(statement), cut, n == 0), step=step))
                f.sliced = max([f.sliced, *(k + 1 for k, x in enumerate(at) if x.base.coef("b"))])
        if statement.pieces[0].accs and not is_product(statement):
            facts[cls[statement.out]].kept = _keeps(statement.pieces[0])
    return facts


def _interleaved(statement: Statement) -> int:
    """How many pieces are one box written at n * v + j along the last axis, j = 0 … n - 1; 1 where they are not."""
    first, n = statement.pieces[0], len(statement.pieces)

    def alike(piece: Piece, k: int) -> bool:
        if (piece.par, piece.guards, piece.pos[:-1]) != (first.par, first.guards, first.pos[:-1]):
            return False
        return (
            not piece.accs and bool(piece.pos) and piece.pos[-1] == replace(first.pos[-1], base=first.pos[-1].base + k)
        )

    whole = bool(first.pos) and first.pos[-1].base.const % n == 0
    return n if whole and all(alike(p, k) for k, p in enumerate(statement.pieces)) else 1


def _reduces(piece: Piece, at: Sequence[At]) -> bool:
    return any(x.base.coef(f"v{v}") for x in at for v in range(len(piece.par), len(piece.par) + len(piece.red)))


def _use(
    piece: Piece, at: tuple[At, ...], others: Sequence[Sequence[At]], product: bool, blocked: bool, written: bool
) -> Use:
    extents = piece.par + piece.red
    forms = [x.base for a in others for x in a]
    forms += [f for value in values_of(piece) for f in forms_of(value)]
    pairs = frozenset(fusable(piece, extents, forms))
    guards = [f for guard in piece.guards for f in (*forms_of(guard), *index_forms_of(guard))] if written else []
    upright = frozenset(n for n in range(len(extents)) if any(f.coef(f"v{n}") for f in guards))
    return Use(at, extents, len(piece.par), product, pairs, blocked, upright)


def index_forms_of(value: Value) -> Iterator[Affine]:
    """Every affine form in the indices of a value's reads."""
    for read in reads_of(value):
        for at in read.at:
            yield at.base


def _keeps(piece: Piece) -> bool:
    """Whether a reduction folds the last axis of what it reads, so that its results lie one a row: along that axis
    nothing moves by shorter steps than what is reduced."""
    kept, folded = range(len(piece.par)), range(len(piece.par), len(piece.par) + len(piece.red))
    for read in (r for acc in piece.accs for r in reads_of(acc.value) if r.at):
        form = read.at[-1].base
        steps, folds = ([abs(c) for v in some if (c := form.coef(f"v{v}"))] for some in (kept, folded))
        if folds and min(folds) <= min(steps, default=min(folds)):
            return True
    return False


def _layout(view: View, uses: Sequence[Use], tile: tuple[int, int]) -> str:
    """Dense where some access moves pages of several rows and several columns of the table, else flat."""
    if min(view.shape[1:]) == 1:
        return "flat"
    return "dense" if any(min(lane_sides(view, use, tile)) > 1 for use in uses) else "flat"


def number_format(tensor: GraphTensor, asked: str | None, target: Target) -> str:
    """The storage format of a tensor: what was asked for, else the widest float, or the narrowest integer that
    holds it."""
    if asked is not None:
        return asked
    if tensor.kind == "float":
        return target.vector.float
    width = target.vector.int
    return (narrowest(tensor.range, target.vector.holds) if tensor.range else None) or width


def agree(graphs: Mapping[str, Graph], request: Request, target: Target) -> dict[str, TableLayout]:
    """The layout of every table and weight the graphs name, judged over all of them; `Refused` where they
    contradict."""
    q8 = frozenset(n for n, f in request.stored.items() if f == "q8_0")
    seen: dict[str, tuple[str, GraphTensor]] = {}
    facts: dict[str, Facts] = {}
    problems: list[Problem] = []
    for program, graph in graphs.items():
        cls = classes(graph)
        by_class = gather_facts(graph, q8)
        for number, tensor in enumerate(graph.tensors):
            if tensor.role not in ("input", "weight", "state"):
                continue
            other, first = seen.setdefault(tensor.name, (program, tensor))
            problems += _conflicts(tensor, first, program, other)
            mine, total = by_class.get(cls[number], Facts()), facts.setdefault(tensor.name, Facts())
            if first.dims == tensor.dims:
                total.uses += mine.uses
                total.sliced = max(total.sliced, mine.sliced)
    if problems:
        raise Refused(problems)
    out: dict[str, TableLayout] = {}
    for name, (_, tensor) in sorted(seen.items()):
        fact = facts[name]
        view = choose_view(tensor.dims, fact.uses, fact.sliced, False, False, target.tile)
        split, prec = view.split, number_format(tensor, request.stored.get(name), target)
        layout = _layout(view, fact.uses, target.tile)
        if request.dense is not None and tensor.role != "weight":
            layout = "dense" if name in request.dense else "flat"
        if prec == "q8_0":
            split, layout = _q8_split(tensor, name), "q8_0"
        out[name] = TableLayout(name, tensor.role, tensor.dims, tensor.kind, split, layout, prec, tensor.range)
    _room(out.values(), target)
    return out


def _room(tables: Iterable[TableLayout], target: Target) -> None:
    """Refuse tables that memory cannot hold, before anything is planned for them or packed; `link` counts the rest."""
    sizes = {t.name: layout_of(t.layout, t.prec, t.view.shape, target).bytes for t in tables}
    if sum(sizes.values()) > target.memory.bytes:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        raise Refused(
            f"tables and weights need {sum(sizes.values())} bytes of memory, {target.name} has {target.memory.bytes}",
            f"the largest, in bytes: {', '.join(f'{name} {sizes[name]}' for name in largest)}",
            "make them smaller, store them narrower, or choose another target",
        )


def _conflicts(tensor: GraphTensor, first: GraphTensor, program: str, other: str) -> Iterator[Problem]:
    for what in ("dims", "kind", "role", "range"):
        a, b = getattr(first, what), getattr(tensor, what)
        if a != b:
            yield Problem(
                f"programs `{other}` and `{program}` disagree on the {what} of table `{tensor.name}`: {a} and {b}",
                "tables shared by programs lie in one memory",
                "declare the table in the spec, or read it alike in both",
            )


def _q8_split(tensor: GraphTensor, name: str) -> tuple[int, int]:
    """A Q8_0 weight groups as [.., N, K]: blocks along its last axis."""
    rank = len(tensor.dims)
    if rank < 2 or tensor.dims[-1] % Q8_BLOCK:
        raise Refused(
            f"weight `{name}` of shape {list(tensor.dims)} cannot be stored q8_0",
            f"its last axis is cut into blocks of {Q8_BLOCK}",
            "store it f32 or bf16, or make its last axis a multiple of 32",
        )
    return rank - 2, rank - 1


def store_all(graph: Graph, tables: Mapping[str, TableLayout], target: Target) -> dict[int, Stored]:
    """How every tensor of one program is stored, under the agreed layouts of its tables.

    Names: of tables their own; of constant fills `fill` and the tensor's number; of the rest `t` and the number of the
    class for chains written in place, of the tensor else. Where the program has such a name, `_` stands before it.
    """
    taken = names_of(graph)
    cls = classes(graph)
    q8 = frozenset(n for n, t in tables.items() if t.layout == "q8_0")
    facts = gather_facts(graph, q8)
    chain = _chains(graph)
    # Whoever reads a result from outside, or makes a constant, knows its dimensions in their own order.
    outside = {cls[t] for _, t in graph.results} | {cls[p] for s in graph.shows for p in s.parts if isinstance(p, int)}
    outside |= {cls[n] for n, t in enumerate(graph.tensors) if t.role == "fill"}
    held = _held(graph, cls)
    out: dict[int, Stored] = {}
    for number, tensor in enumerate(graph.tensors):
        base = graph.tensors[cls[number]]
        table = tables.get(base.name) if base.role in ("input", "weight", "state") else None
        if table is not None:
            own = tensor.name or (table.name if base.role == "state" else untaken(f"t{chain[number]}", taken))
            known = table.range if tensor.name or base.role == "state" else tensor.range
            out[number] = Stored(own, table.view, table.prec, table.layout, known)
            continue
        fact = facts.get(cls[number], Facts())
        free = cls[number] not in outside
        view = choose_view(tensor.dims, fact.uses, fact.sliced, fact.kept, free, target.tile)
        layout = _layout(view, fact.uses, target.tile)
        name = untaken(f"fill{number}" if tensor.role == "fill" else f"t{chain[number]}", taken)
        prec = number_format(replace(tensor, range=held[cls[number]]), None, target)
        out[number] = Stored(name, view, prec, layout, tensor.range)
    return out


def _held(graph: Graph, cls: Sequence[int]) -> dict[int, tuple[int, int] | None]:
    """The values that the tensors of each class hold together, by class; None where that is not known of all."""
    found: dict[int, tuple[int, int] | None] = {}
    for number, tensor in enumerate(graph.tensors):
        old, new = found.setdefault(cls[number], tensor.range), tensor.range
        found[cls[number]] = None if old is None or new is None else (min(old[0], new[0]), max(old[1], new[1]))
    return found


def _chains(graph: Graph) -> list[int]:
    """For each tensor the first of the chain of writes in place it belongs to."""
    first = list(range(len(graph.tensors)))
    for s in statements_of(graph):
        if s.over is not None:
            first[s.out] = first[s.over]
    return first


def dense_tables(graph: Graph, target: Target) -> frozenset[str]:
    """The tables one program would lay out dense on its own."""
    layouts = agree({"": graph}, Request(), target)
    return frozenset(n for n, t in layouts.items() if t.layout == "dense")


def read_tensors(statement: Statement) -> list[Read]:
    """Every distinct read of a statement."""
    return list(dict.fromkeys(r for p in statement.pieces for r in piece_reads(p)))
