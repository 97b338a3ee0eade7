"""Alterations of published deployments, each of which breaks one obligation at one place.

Made on decoded records, so nothing of the compiler or of a source stands behind them; found by what a body or a call
does, not by its number, so that other plans change nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from acceptance.resealing import body_with, calls_that, with_body, with_phase, with_program, with_stage

from spatial.ir.affine import Affine
from spatial.ir.body import Body, Loop, Rect, Step, count
from spatial.ir.bundle import Bundle
from spatial.ir.program import Call, Phase, Program
from spatial.ir.text import parse_program, print_program

Found = tuple[Bundle, str]


@dataclass(frozen=True)
class Mutant:
    """`change` of a deployment gives the altered bundle and a part of the place; `obligation` does not hold there."""

    name: str
    obligation: str
    change: Callable[[Bundle], Found]
    deployment: str = "tiny"


def in_body(holds: Callable[[Body], bool], change: Callable[[Body], Body]) -> Callable[[Bundle], Found]:
    """Of the program `decode`, the first body of which `holds` is true, altered."""

    def altered(bundle: Bundle) -> Found:
        number = body_with(bundle.entry("decode").program, holds)
        changed = with_program(bundle, "decode", lambda p: with_body(p, number, change))
        return changed, f"program decode, body {number}"

    return altered


def has(kind: str) -> Callable[[Body], bool]:
    return lambda body: any(stage.kind == kind for stage in body.stages)


def without_step(order: tuple[Loop | Step, ...], name: str) -> tuple[Loop | Step, ...]:
    """An engine's order without the steps of one stage."""
    found: list[Loop | Step] = []
    for node in order:
        match node:
            case Loop(times, inner):
                left = without_step(inner, name)
                found += [Loop(times, left)] if left else []
            case Step(stage, _):
                found += [] if stage == name else [node]
    return tuple(found)


# ---------------------------------------------------------------- in a body


def store_dropped(body: Body) -> Body:
    (store,) = (s for s in body.stages if s.kind == "store")
    engines = tuple(replace(e, order=without_step(e.order, store.name)) for e in body.engines)
    stages = tuple(s for s in body.stages if s != store)
    return replace(body, stages=stages, engines=tuple(e for e in engines if e.order))


def many_pages(body: Body) -> bool:
    return any(count(port.pages) > 1 for stage in body.stages if stage.kind == "load" for port in stage.outs)


def capacity_below_need(body: Body) -> Body:
    """One page fewer than one step of the load pushes."""
    port = next(p for s in body.stages if s.kind == "load" for p in s.outs if count(p.pages) > 1)
    pages = count(port.pages) - 1
    return replace(body, queues=tuple(replace(q, cap=pages) if q.name == port.queue else q for q in body.queues))


def page_count_changed(body: Body) -> Body:
    load = next(s for s in body.stages if s.kind == "load" and count(s.outs[0].pages) > 1)
    (pages,) = load.outs[0].pages
    return with_stage(body, load.name, lambda s: replace(s, outs=(replace(s.outs[0], pages=(pages - 1,)),)))


def in_turn(body: Body) -> tuple[str, str] | None:
    """Two stages that one engine steps one after the other, the first handing pages to the second."""
    makers = {port.queue: stage.name for stage in body.stages for port in stage.outs}
    feeds = {(makers[port.queue], stage.name) for stage in body.stages for port in stage.ins}

    def found(order: tuple[Loop | Step, ...]) -> tuple[str, str] | None:
        for node, after in pairwise(order):
            if isinstance(node, Step) and isinstance(after, Step) and (node.stage, after.stage) in feeds:
                return node.stage, after.stage
        return next((pair for node in order if isinstance(node, Loop) and (pair := found(node.body))), None)

    return next((pair for engine in body.engines if (pair := found(engine.order))), None)


def order_swapped(body: Body) -> Body:
    """The consumer's step before the producer's, on one engine: it waits for what it would do next."""
    first, second = in_turn(body) or ("", "")
    other = {first: second, second: first}

    def swapped(order: tuple[Loop | Step, ...]) -> tuple[Loop | Step, ...]:
        steps = {node.stage: node for node in order if isinstance(node, Step)}
        return tuple(
            replace(node, body=swapped(node.body))
            if isinstance(node, Loop)
            else steps[other.get(node.stage, node.stage)]
            for node in order
        )

    return replace(body, engines=tuple(replace(e, order=swapped(e.order)) for e in body.engines))


def load_off_its_sender(body: Body) -> Body:
    cast = next(s for s in body.stages if s.kind == "multicast")
    load = next(s for s in body.stages if s.outs and s.outs[0].queue == cast.ins[0].queue)
    at = load.on
    assert at is not None
    aside = at.x + at.w < body.rect[0]
    away = Rect(at.x + aside, at.y + (not aside), at.w, at.h)
    return with_stage(body, load.name, lambda s: replace(s, on=away))


def two_sites_one_tile(body: Body) -> Body:
    """Every site stores where the first does."""

    def first(form: Affine) -> Affine:
        return Affine(form.const)

    (store,) = (s for s in body.stages if s.kind == "store")
    access = store.access
    assert access is not None
    place = (first(access.place[0]), first(access.place[1]), first(access.place[2]))
    return with_stage(body, store.name, lambda s: replace(s, access=replace(access, place=place)))


def plain_map(body: Body) -> bool:
    kinds = {stage.kind for stage in body.stages}
    return kinds == {"load", "generic", "store"} and body.rect[0] * body.rect[1] > 1


# ---------------------------------------------------------------- in a program


def call_dropped(bundle: Bundle) -> Found:
    """The keys' product of the first layer: what turns them then reads a table that was never made."""
    program = bundle.entry("decode").program
    phase, call, _ = calls_that(program, "in", "wk")[0]
    found = program.phases[phase][call]
    (made,) = (b for o, b in zip(program.bodies[found.body].operands, found.binds, strict=True) if o.mode == "out")
    reader, *_ = calls_that(program, "in", made.tensor)[0]
    dropped = with_program(
        bundle, "decode", lambda p: with_phase(p, phase, lambda calls: calls[:call] + calls[call + 1 :])
    )
    return dropped, f"program decode, phase {reader}"


def store_to_cache_dropped(bundle: Bundle) -> Found:
    """The values' call of the first layer, which alone stores them: attention then names a version nobody made."""
    program = bundle.entry("decode").program
    phase, call, _ = calls_that(program, "out", "v_cache")[0]
    reader, *_ = calls_that(program, "in", "v_cache")[0]
    dropped = with_program(
        bundle, "decode", lambda p: with_phase(p, phase, lambda calls: calls[:call] + calls[call + 1 :])
    )
    return dropped, f"program decode, phase {reader}"


def older_version(bundle: Bundle) -> Found:
    """Attention of the second layer reads the keys as they were before this call's were stored."""
    phase, number, operand = calls_that(bundle.entry("decode").program, "in", "k_cache")[-1]

    def aged(call: Call) -> Call:
        binds = tuple(replace(b, version=b.version - 1) if n == operand else b for n, b in enumerate(call.binds))
        return replace(call, binds=binds)

    def calls(found: Phase) -> Phase:
        return tuple(aged(call) if n == number else call for n, call in enumerate(found))

    changed = with_program(bundle, "decode", lambda p: with_phase(p, phase, calls))
    return changed, f"program decode, phase {phase}, call {number}"


def phases_swapped(bundle: Bundle) -> Found:
    program = bundle.entry("decode").program
    first, *_ = calls_that(program, "in", "wgate")[0]

    def swapped(p: Program) -> Program:
        a, b = p.phases[first], p.phases[first + 1]
        return replace(p, phases=(*p.phases[:first], b, a, *p.phases[first + 2 :]))

    return with_program(bundle, "decode", swapped), f"program decode, phase {first}"


def phases_merged(bundle: Bundle) -> Found:
    """The second phase's calls on columns of their own, so that only what they load is wrong."""
    program = bundle.entry("decode").program
    first, *_ = calls_that(program, "in", "wgate")[0]

    def merged(p: Program) -> Program:
        beside = tuple(replace(call, place=(4 + n, 0)) for n, call in enumerate(p.phases[first + 1]))
        both = p.phases[first] + beside
        blocks = ()  # instances of blocks no longer begin where they did
        return replace(p, phases=(*p.phases[:first], both, *p.phases[first + 2 :]), blocks=blocks)

    return with_program(bundle, "decode", merged), f"program decode, phase {first}"


# ---------------------------------------------------------------- in the deployment


def index_range_widened(bundle: Bundle) -> Found:
    """Tokens up to 120 everywhere, consistently; the table of embeddings has 101."""
    wide = (0, 120)
    reads = calls_that(bundle.entry("decode").program, "in", "token")

    def widened(p: Program) -> Program:
        tensors = tuple(replace(t, range=wide) if t.name == "token" else t for t in p.tensors)
        p = replace(p, tensors=tensors)
        for phase, call, operand in reads:
            p = with_body(p, p.phases[phase][call].body, lambda body, operand=operand: operand_widened(body, operand))
        return p

    def operand_widened(body: Body, number: int) -> Body:
        operands = tuple(replace(o, range=wide) if n == number else o for n, o in enumerate(body.operands))
        return replace(body, operands=operands)

    tables = tuple(replace(t, range=wide) if t.name == "token" else t for t in bundle.tables)
    changed = replace(with_program(bundle, "decode", widened), tables=tables)
    phase, call, _ = reads[0]
    return changed, f"program decode, body {changed.entry('decode').program.phases[phase][call].body}"


def cache_laid_out_differently(bundle: Bundle) -> Found:
    """The table of one program in rows instead of tiles, in itself consistent."""

    def flat(p: Program) -> Program:
        shape = list(p.tensor("totals").shape)
        text = print_program(p).replace(f"i16 dense {shape}", f"i16 flat {shape}")
        return parse_program(text, "rank.sec")

    return with_program(bundle, "rank", flat), "table totals"


def allocations_overlap(bundle: Bundle) -> Found:
    below = next(p for p in bundle.memory if p.tensor == "k_cache")
    memory = tuple(
        replace(p, address=below.address + below.bytes - 32) if p.tensor == "v_cache" else p for p in bundle.memory
    )
    return replace(bundle, memory=memory), "bundle"


MUTANTS = (
    Mutant("a store dropped", "queues", in_body(plain_map, store_dropped)),
    Mutant("the call that stores a cache dropped", "version", store_to_cache_dropped),
    Mutant("a call dropped", "version", call_dropped),
    Mutant("a capacity below need", "schedule", in_body(many_pages, capacity_below_need)),
    Mutant("a page count changed in one stage", "queues", in_body(many_pages, page_count_changed)),
    Mutant("an engine's order swapped", "schedule", in_body(lambda body: in_turn(body) is not None, order_swapped)),
    Mutant("a load moved off its multicast's sender", "queues", in_body(has("multicast"), load_off_its_sender)),
    Mutant("two sites writing one tile", "store", in_body(plain_map, two_sites_one_tile)),
    Mutant("a load naming an older version", "version", older_version),
    Mutant("two phases swapped", "version", phases_swapped),
    Mutant("two phases merged", "version", phases_merged),
    Mutant("an index range widened past its table", "access", index_range_widened),
    Mutant("a cache laid out differently in one program", "deployment", cache_laid_out_differently, "integers"),
    Mutant("two allocations overlapping", "deployment", allocations_overlap),
)
"""Every alteration that the checker must meet in a published deployment."""
