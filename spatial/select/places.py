"""Places that only a run knows, which may lie outside their table: which sections have them, and how a write is mended.

A mover takes an index as it comes. That of a guarded write may point anywhere where the guard fails: it is drawn into
the table in a tensor of its own first, where the guard still decides whether anything is written.

    if k > 0: a[k - 1] = x      ->      t = min(max(k - 1, 0), n - 1);  if k > 0: a[t] = x

Knows no plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spatial.ir.affine import Affine
from spatial.ir.body import Body
from spatial.ir.graph import At, Fn, Num, Piece, Read, Statement, Value, Var
from spatial.numerics import int_range
from spatial.select.emit import Misfit, Template
from spatial.select.pieces import Stored, moved
from spatial.select.temporaries import Temporaries, identity

AXES = ("slice", "row", "column")


def unbound(template: Template, stored: Mapping[int, Stored], trips: int) -> Misfit | None:
    """The refusal of a template that some iteration of its block would bind to a part past its table's end."""
    for bind in template.binds:
        low, high = bind.origin.bounds({"b": (0, trips - 1)})
        if low < 0 or high + bind.slices > stored[bind.tensor].view.shape[0]:
            return Misfit(
                "a place that only a run knows is added to the number of a block's iteration",
                "one body serves all iterations, each over a part of the tensor, and the last one's would pass its end",
                "declare a narrower range of the table the place comes from",
            )
    return None


def outside(body: Body) -> Misfit | None:
    """The refusal of a template's body in which a run-time index may lead outside its table; None where none does."""
    sources = {o.queue: s for s in body.stages for o in s.outs}
    for stage in body.stages:
        if stage.access is None or stage.access.index is None:
            continue
        index = stage.access.index
        source = sources[stage.ins[index.port].queue].access
        assert source is not None
        told, reached = body.operand(source.operand), body.operand(stage.access.operand)
        ranges = {f"i{n}": (0, extent - 1) for n, extent in enumerate(body.items.grid)}
        ranges |= {f"l{n + 1}": (0, trips - 1) for n, trips in enumerate(stage.loops)}
        low, high = stage.access.place[index.axis].bounds(ranges)
        steps = [index.scale * v for v in told.range or int_range(told.prec)]
        first, last, extent = low + min(steps), high + max(steps), reached.extent[index.axis]
        if first < 0 or last >= extent:
            return Misfit(
                f"a place that only a run knows may be {AXES[index.axis]} {first} to {last} of {extent}",
                "nothing outside a table is read or written, and no bound of the place was proved that keeps it inside",
                "declare a narrower range of the table the place comes from, or bound it with min and max",
            )
    return None


def may_stray(statement: Statement, work: Temporaries) -> bool:
    """Whether a guarded write has a place that would lie outside if it were not for the guard."""
    return any(_strays(p, k, statement, work) for p in statement.pieces for k in range(len(p.pos)))


def _strays(piece: Piece, axis: int, statement: Statement, work: Temporaries) -> bool:
    at, extent = piece.pos[axis], work.tensors[statement.out].dims[axis]
    if not piece.guards or at.via is None or at.base.coef("b"):
        return False
    known = work.ranges.get(at.via.tensor)
    low, high = at.base.bounds({f"v{n}": (0, count - 1) for n, count in enumerate(piece.par)})
    steps = [at.scale * v for v in known] if known else [-extent, extent]
    return low + min(steps) < 0 or high + max(steps) >= extent


def drawn_in(statement: Statement, work: Temporaries) -> list[Statement]:
    """The statement with such places held inside the table, after what makes them."""
    pieces: list[Piece] = []
    for piece in statement.pieces:
        pos = (
            _held(piece, at, work.tensors[statement.out].dims[k], work) if _strays(piece, k, statement, work) else at
            for k, at in enumerate(piece.pos)
        )
        pieces.append(replace(piece, pos=tuple(pos)))
    return [*work.taken(), replace(statement, pieces=tuple(pieces))]


def _held(piece: Piece, at: At, extent: int, work: Temporaries) -> At:
    """A place drawn into `extent`, as an index by itself; of its piece's variables it has those it depends on."""
    assert at.via is not None
    forms = (at.base, *(inner.base for inner in at.via.at))
    used = sorted({int(s[1:]) for form in forms for s in form.symbols if s != "b"})
    names = {f"v{v}": Affine.sym(f"v{k}") for k, v in enumerate(used)}
    step: Value = at.via if at.scale == 1 else Fn("mul", (Num(at.scale, "int"), at.via), "int")
    place = moved(Fn("add", (Var(at.base), step), "int"), names)
    inside = Fn("min", (Fn("max", (place, Num(0, "int")), "int"), Num(extent - 1, "int")), "int")
    dims = tuple(piece.par[v] for v in used)
    made = work.put(dims, "int", Piece(dims, (), identity(len(dims)), inside))
    return At(Affine(), Read(made, tuple(At(Affine.sym(f"v{v}")) for v in used)), 1)
