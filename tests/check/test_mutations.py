"""Drawn mutations of the kinds that change what a program means: none is accepted.

Each kind alters a decoded record so that, by construction, something is missing, doubled, out of step or out of place;
the claims of a deployment are made for what was accepted before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from check.mutants import read, texts
from check.naive import completes
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support import REFERENCE

from spatial.check import check_program
from spatial.ir.body import Body, Loop, Stage, Step, count
from spatial.ir.program import Program
from spatial.target import Target

PROGRAMS = {name: read(name) for name in sorted(texts())}
Draw = st.DataObject
Changed = tuple[Program, Target]


def _any(program: Program, data: Draw) -> tuple[int, Body]:
    n = data.draw(st.integers(0, len(program.bodies) - 1))
    return n, program.bodies[n]


def _with_body(program: Program, n: int, body: Body) -> Changed:
    return replace(program, bodies=(*program.bodies[:n], body, *program.bodies[n + 1 :])), REFERENCE


def store_dropped(program: Program, data: Draw) -> Changed:
    n, body = _any(program, data)
    gone = data.draw(st.sampled_from([s.name for s in body.stages if s.kind == "store"]))
    engines = tuple(replace(e, order=_without(e.order, gone)) for e in body.engines)
    return _with_body(
        program, n, replace(body, stages=tuple(s for s in body.stages if s.name != gone), engines=engines)
    )


def _without(order: tuple[Loop | Step, ...], stage: str) -> tuple[Loop | Step, ...]:
    kept = [replace(s, body=_without(s.body, stage)) if isinstance(s, Loop) else s for s in order]
    return tuple(s for s in kept if (s.body if isinstance(s, Loop) else s.stage != stage))


def call_dropped(program: Program, data: Draw) -> Changed:
    p = data.draw(st.integers(0, len(program.phases) - 1))
    c = data.draw(st.integers(0, len(program.phases[p]) - 1))
    phase = program.phases[p][:c] + program.phases[p][c + 1 :]
    return replace(program, phases=(*program.phases[:p], phase, *program.phases[p + 1 :])), REFERENCE


def capacity_below_need(program: Program, data: Draw) -> Changed:
    n, body = _any(program, data)
    q = data.draw(st.integers(0, len(body.queues) - 1))
    queues = tuple(replace(x, cap=x.cap - 1) if i == q else x for i, x in enumerate(body.queues))
    lower = replace(body, queues=queues)
    assume(body.queues[q].cap == 1 or not completes(lower, 0))
    return _with_body(program, n, lower)


def page_count_changed(program: Program, data: Draw) -> Changed:
    n, body = _any(program, data)
    s = data.draw(st.integers(0, len(body.stages) - 1))
    stage, more = body.stages[s], data.draw(st.integers(2, 5))
    field = data.draw(st.sampled_from([f for f in ("ins", "outs") if getattr(stage, f)]))
    ports = list(getattr(stage, field))
    p = data.draw(st.integers(0, len(ports) - 1))
    assume(count(ports[p].pages) != more)
    ports[p] = replace(ports[p], pages=(more,))
    changed = replace(stage, **{field: tuple(ports)})
    return _with_body(program, n, replace(body, stages=(*body.stages[:s], changed, *body.stages[s + 1 :])))


def trip_count_changed(program: Program, data: Draw) -> Changed:
    n, body = _any(program, data)
    # A loop no page passes through is the stage's own affair: shortening it is for refinement to see.
    s = data.draw(st.sampled_from([i for i, x in enumerate(body.stages) if _deepest(x) > 0] or [-1]))
    assume(s >= 0)
    stage = body.stages[s]
    changed = replace(stage, loops=(stage.loops[0] + data.draw(st.sampled_from((-1, 1))), *stage.loops[1:]))
    return _with_body(program, n, replace(body, stages=(*body.stages[:s], changed, *body.stages[s + 1 :])))


def _deepest(stage: Stage) -> int:
    return max((p.depth for p in (*stage.ins, *stage.outs)), default=-1)


def order_swapped(program: Program, data: Draw) -> Changed:
    n, body = _any(program, data)
    e = data.draw(st.integers(0, len(body.engines) - 1))
    order = _swapped(body.engines[e].order, data)
    engines = tuple(replace(x, order=order) if i == e else x for i, x in enumerate(body.engines))
    other = replace(body, engines=engines)
    assume(not completes(other, 0))
    return _with_body(program, n, other)


def _swapped(order: tuple[Loop | Step, ...], data: Draw) -> tuple[Loop | Step, ...]:
    inner = tuple(replace(s, body=_swapped(s.body, data)) if isinstance(s, Loop) else s for s in order)
    return inner[::-1] if data.draw(st.booleans()) else inner


def sites_writing_one_item(program: Program, data: Draw) -> Changed:
    n, body = _any(program, data)
    symbol = data.draw(st.sampled_from(sorted({s for f in body.items.coord for s in f.symbols}) or [""]))
    sizes = {"sx": body.rect[0], "sy": body.rect[1]} | {f"t{i}": k for i, k in enumerate(body.items.trips)}
    assume(sizes.get(symbol, 1) > 1)
    coord = tuple(replace(f, terms=tuple(t for t in f.terms if t[0] != symbol)) for f in body.items.coord)
    return _with_body(program, n, replace(body, items=replace(body.items, coord=coord)))


def version_altered(program: Program, data: Draw) -> Changed:
    p = data.draw(st.integers(0, len(program.phases) - 1))
    c = data.draw(st.integers(0, len(program.phases[p]) - 1))
    call = program.phases[p][c]
    b = data.draw(st.integers(0, len(call.binds) - 1))
    by = data.draw(st.sampled_from((-2, -1, 1, 2)))
    binds = tuple(replace(x, version=x.version + by) if i == b else x for i, x in enumerate(call.binds))
    phase = tuple(replace(x, binds=binds) if i == c else x for i, x in enumerate(program.phases[p]))
    return replace(program, phases=(*program.phases[:p], phase, *program.phases[p + 1 :])), REFERENCE


def _dependent(program: Program, p: int) -> bool:
    """Whether phase p + 1 loads what phase p stores."""
    made = {
        (b.tensor, b.version)
        for c in program.phases[p]
        for o, b in zip(program.bodies[c.body].operands, c.binds, strict=True)
        if o.mode == "out"
    }
    return any(
        o.mode == "in" and b.version > 0 and (b.tensor, b.version) in made
        for c in program.phases[p + 1]
        for o, b in zip(program.bodies[c.body].operands, c.binds, strict=True)
    )


def phases_swapped(program: Program, data: Draw) -> Changed:
    pairs = [p for p in range(len(program.phases) - 1) if _dependent(program, p)]
    assume(pairs)
    p = data.draw(st.sampled_from(pairs))
    a, b = program.phases[p : p + 2]
    return replace(program, phases=(*program.phases[:p], b, a, *program.phases[p + 2 :])), REFERENCE


def phases_merged(program: Program, data: Draw) -> Changed:
    pairs = [p for p in range(len(program.phases) - 1) if _dependent(program, p)]
    assume(pairs)
    p = data.draw(st.sampled_from(pairs))
    a, b = program.phases[p : p + 2]
    # On sites of their own, so that the rectangles are not what is wrong.
    low = tuple(replace(c, place=(c.place[0] + 4, c.place[1])) for c in b)
    return replace(program, phases=(*program.phases[:p], a + low, *program.phases[p + 2 :])), REFERENCE


def _indices(body: Body) -> set[str]:
    """Operands whose elements are loaded to be run-time indices."""
    queues = {s.ins[s.access.index.port].queue for s in body.stages if s.access and s.access.index}
    return {s.access.operand for s in body.stages if s.access and s.outs and s.outs[0].queue in queues}


def index_widened(program: Program, data: Draw) -> Changed:
    ranged = [
        (n, i)
        for n, body in enumerate(program.bodies)
        for i, o in enumerate(body.operands)
        if o.range and o.name in _indices(body)
    ]
    assume(ranged)
    n, i = data.draw(st.sampled_from(ranged))
    body = program.bodies[n]
    held = body.operands[i].range
    low, high = held or (0, 0)
    wide = data.draw(st.sampled_from(((low - 1, high), (low, high + 100))))
    operands = tuple(replace(o, range=wide) if k == i else o for k, o in enumerate(body.operands))
    return _with_body(program, n, replace(body, operands=operands))


def scratch_short(program: Program, data: Draw) -> Changed:
    """One byte less than the neediest body takes: found by the checker itself, at the edge of its own answer."""
    low, high = 0, REFERENCE.scratch
    while high - low > 1:
        middle = (low + high) // 2
        fits = check_program(program, replace(REFERENCE, scratch=middle)).accepted
        low, high = (low, middle) if fits else (middle, high)
    most = max(sum(q.cap * q.page[0] * q.page[1] for q in b.queues) for b in program.bodies)
    assert high >= most, "even bytes would take so much"
    return program, replace(REFERENCE, scratch=high - 1)


KINDS: tuple[Callable[[Program, Draw], Changed], ...] = (
    store_dropped,
    call_dropped,
    capacity_below_need,
    page_count_changed,
    trip_count_changed,
    order_swapped,
    sites_writing_one_item,
    version_altered,
    phases_swapped,
    phases_merged,
    index_widened,
    scratch_short,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_no_mutation_of_this_kind_is_accepted(kind: Callable[[Program, Draw], Changed], data: Draw):
    name = data.draw(st.sampled_from(sorted(PROGRAMS)))
    program, target = kind(PROGRAMS[name], data)
    verdict = check_program(program, target)
    assert verdict.answer == "reject", name
    assert all(f.obligation and f.place and f.witness for f in verdict.failures)
