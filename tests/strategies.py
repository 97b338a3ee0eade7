"""Hypothesis strategies that draw records: arbitrary well-formed bodies and programs.

Well formed means that every reference has something to refer to and every name is one; nothing drawn here needs to
run. They feed the properties of the forms (text, wire); strategies of runnable bodies build on the same leaves.
"""

from __future__ import annotations

from hypothesis import strategies as st

from spatial.ir import body as ir
from spatial.ir.affine import Affine
from spatial.ir.program import ROLES, Bind, Block, Call, Program, Show, Tensor
from spatial.numerics import PRECISIONS, is_float

PLAIN = st.sampled_from(("a", "b", "qa", "x1", "acc", "load_a", "_", "r", "l1", "sx", "pop", "inf", "loop", "mask"))
ODD = st.text(st.characters(codec="utf-8"), max_size=6)
NAMES = PLAIN | PLAIN | ODD
"""Names: mostly plain words, keywords and coordinates among them, now and then anything."""

COORDINATES = st.sampled_from(("sx", "sy", "i0", "i1", "l1", "l2", "t0", "p0", "p1", "r", "c"))
SMALL = st.integers(-5, 70)
INTS = st.integers(-(1 << 63), (1 << 63) - 1)
FLOATS = st.floats(allow_nan=False)
SIZES = st.tuples(st.integers(0, 40), st.integers(0, 40))
TRIPLES = st.tuples(SMALL, SMALL, SMALL)
RANGES = st.none() | st.tuples(INTS, INTS)
PRECS = st.sampled_from(tuple(PRECISIONS))
FORMATS = PRECS | st.just("q8_0")
LAYOUTS = st.sampled_from(("flat", "dense", "q8_0"))


def tuples_of(element: st.SearchStrategy, most: int = 3, least: int = 0) -> st.SearchStrategy:
    return st.lists(element, min_size=least, max_size=most).map(tuple)


def distinct(element: st.SearchStrategy, most: int = 3) -> st.SearchStrategy:
    return st.lists(element, max_size=most, unique=True).map(tuple)


AFFINES = st.builds(Affine.of, SMALL, st.dictionaries(COORDINATES, st.integers(-40, 40), max_size=3))
CHOICES = tuples_of(AFFINES, 2)
CONSTANTS = st.builds(ir.Const, FLOATS, st.just("float")) | st.builds(ir.Const, INTS, st.just("int"))


@st.composite
def expressions(draw: st.DrawFn, pages: int, states: int) -> ir.Expr:
    """Expressions over `pages` in ports and `states` states."""
    leaves = [CONSTANTS, st.builds(ir.Coord, AFFINES, SIZES)]
    page = st.builds(ir.Page, st.integers(0, pages - 1), CHOICES) if pages else None
    if page is not None:
        leaves += [page, st.builds(ir.Matmul, page, page, st.booleans())]
    if states:
        leaves.append(st.builds(ir.Cell, st.integers(0, states - 1), CHOICES))

    def grown(inner: st.SearchStrategy) -> st.SearchStrategy:
        ops = st.sampled_from(sorted(ir.OPS)).flatmap(
            lambda op: st.builds(ir.Op, st.just(op), st.tuples(*[inner] * ir.OPS[op]))
        )
        lanes = st.builds(ir.Lanes, st.sampled_from(("sum", "max", "min")), st.sampled_from(("rows", "cols")), inner)
        return ops | ops | lanes | st.builds(ir.Convert, PRECS, inner)

    return draw(st.recursive(st.one_of(leaves), grown, max_leaves=8))


@st.composite
def stages(draw: st.DrawFn) -> ir.Stage:
    ins = draw(tuples_of(st.builds(ir.InPort, NAMES, SMALL, tuples_of(SMALL, 2))))
    state_names = draw(distinct(NAMES, 2))
    exprs = expressions(len(ins), len(state_names))
    states = []
    for name in state_names:
        prec = draw(PRECS)
        init = draw(FLOATS if is_float(prec) else INTS)
        parts = (draw(SIZES), prec, draw(SMALL), init, draw(SMALL), draw(exprs), draw(tuples_of(SMALL, 2)))
        states.append(ir.State(name, *parts, draw(CHOICES)))
    value = st.none() | exprs
    outs = draw(tuples_of(st.builds(ir.OutPort, NAMES, SMALL, tuples_of(SMALL, 2), value)))
    port = st.integers(0, len(ins) - 1) if ins else None
    index = st.none() if port is None else st.none() | st.builds(ir.Index, port, st.integers(0, 2), SMALL)
    mask = st.none() if port is None else st.none() | port
    place = st.tuples(AFFINES, AFFINES, AFFINES)
    access = st.none() | st.builds(ir.Access, NAMES, place, st.sampled_from(("", "values", "scales")), index, mask)
    on = st.none() | st.builds(ir.Rect, SMALL, SMALL, st.integers(0, 9), st.integers(0, 9))
    return ir.Stage(
        draw(NAMES), draw(st.sampled_from(ir.KINDS)), draw(tuples_of(SMALL, 2)), ins, outs, tuple(states),
        draw(access), draw(on), draw(st.just("transpose") | tuples_of(SMALL, 4)), draw(SIZES),
    )  # fmt: skip


ORDERS = st.recursive(
    tuples_of(st.builds(ir.Step, NAMES, SMALL)),
    lambda inner: tuples_of(st.builds(ir.Step, NAMES, SMALL) | st.builds(ir.Loop, SMALL, inner)),
    max_leaves=5,
)
NATURALS = st.integers(0, 1 << 40)
PLANS = st.builds(
    ir.Plan,
    block=tuples_of(st.tuples(NAMES, SMALL), 2),
    rect=SIZES,
    spread=tuples_of(st.tuples(SMALL, NAMES), 2),
    multicast=tuples_of(NAMES, 2),
    scatter=tuples_of(st.tuples(NAMES, SMALL), 2),
    resident=tuples_of(NAMES, 2),
    depth=tuples_of(st.tuples(NAMES, SMALL), 2),
    engines=tuples_of(st.tuples(NAMES, NAMES), 2),
    label=NAMES,
    cycles=FLOATS,
    traffic=NATURALS,
)
OPERANDS = st.builds(
    ir.Operand, NAMES, FORMATS, LAYOUTS, TRIPLES, st.sampled_from(("in", "out")), RANGES, st.booleans()
)
QUEUES = st.builds(ir.Queue, NAMES, SIZES, PRECS, SMALL)
BODIES = st.builds(
    ir.Body,
    operands=st.lists(OPERANDS, max_size=3, unique_by=lambda o: o.name).map(tuple),
    rect=SIZES,
    items=st.builds(ir.Items, tuples_of(SMALL), tuples_of(SMALL), tuples_of(AFFINES)),
    queues=tuples_of(QUEUES, 2),
    stages=tuples_of(stages(), 3),
    engines=tuples_of(st.builds(ir.Engine, NAMES, ORDERS), 2),
    plan=st.none() | PLANS,
    phase=st.sampled_from(ir.PHASES),
)
TENSORS = st.builds(Tensor, NAMES, TRIPLES, FORMATS, st.sampled_from(ROLES), LAYOUTS, RANGES)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    tensors = draw(st.lists(TENSORS, min_size=1, max_size=3, unique_by=lambda t: t.name).map(tuple))
    bodies = draw(tuples_of(BODIES, 2))
    tensor = st.sampled_from([t.name for t in tensors])
    version = st.tuples(tensor, st.integers(0, 9))

    def calls_of(number: int) -> st.SearchStrategy:
        binds = st.tuples(*[st.builds(Bind, tensor, SMALL, TRIPLES, TRIPLES)] * len(bodies[number].operands))
        return st.builds(Call, st.just(number), binds, st.tuples(SMALL, SMALL))

    calls = st.integers(0, len(bodies) - 1).flatmap(calls_of) if bodies else st.nothing()
    return Program(
        tensors,
        bodies,
        draw(tuples_of(tuples_of(calls, 2), 2)) if bodies else draw(tuples_of(st.just(()), 2)),
        draw(tuples_of(st.tuples(NAMES, tensor, SMALL), 2)),
        draw(tuples_of(version, 2)),
        draw(tuples_of(st.builds(Block, SMALL, SMALL, SMALL, tuples_of(tuples_of(version, 2), 2)), 2)),
        draw(tuples_of(tuples_of(st.builds(Show, ODD, st.just("") | tensor), 3), 2)),
        draw(tuples_of(ODD, 2)),
    )
