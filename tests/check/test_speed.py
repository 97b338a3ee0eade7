"""Cost follows what is distinct: six hundred calls of fifty bodies take little more effort than the bodies alone."""

from __future__ import annotations

from dataclasses import replace

from check.bundling import bundle_of
from effort import effort
from support import REFERENCE

from spatial.check import check_bundle, check_program
from spatial.ir.program import Bind, Call, Program, Tensor
from spatial.ir.text import parse_body

WIDTH, LAYERS = 576, 200

PRODUCT = """
body product persistent {{
  operand x: in f32 dense [1, {rows}, {k}]
  operand w: in q8_0 q8_0 [1, {k}, {n}]
  operand y: out f32 dense [1, {rows}, {n}]
  rect 8x8
  items [{m}, {tiles}] trips [{m}, {turns}] at (t0, 64*t1 + 8*sy + sx)
  queue qx0: {page}x32 f32 cap 2
  queue qx: {page}x32 f32 cap 2
  queue qv: 32x32 i8 cap 2
  queue qs: 1x32 f16 cap 2
  queue qw: 32x32 f32 cap 1
  queue qy: {page}x32 f32 cap {cap}
  load load_x on 1x1 at (0, 0) loops [{steps}] {{ at x[0, {page}*i0, 32*l1] push qx0 @1 }}
  multicast send_x on 1x1 at (0, 0) group 8x8 loops [{steps}] {{ pop qx0 @1 push qx @1 }}
  load load_values loops [{steps}] {{ at w.values[0, 32*l1, 32*i1] push qv @1 }}
  load load_scales loops [{steps}] {{ at w.scales[0, l1, 32*i1] push qs @1 }}
  generic unpacked loops [{steps}] {{ pop qv @1 pop qs @1 push qw @1 = convert(f32, qv) * qs }}
  matmul mm loops [{steps}] {{
    pop qx @1
    pop qw @1
    state acc: {page}x32 f32 @0 = 0.0
    set acc @1 = acc + matmul(qx, qw)
    push qy @0 = acc
  }}
  store store_y {{ pop qy @0 at y[0, {page}*i0, 32*i1] }}
  engine mover0 {{ loop {all} {{ loop {steps} {{ load_x @1 send_x @1 }} }} }}
  engine mover1 {{ loop {all} {{ loop {steps} {{ load_values @1 load_scales @1 }} store_y @0 }} }}
  engine compute {{ loop {all} {{ loop {steps} {{ unpacked @1 mm @1 }} }} }}
}}
"""


def product(rows: int, k: int, n: int, cap: int):
    page = min(rows, 32)
    tiles, m = -(-n // 32), -(-rows // 32)
    turns = -(-tiles // 64)
    values = {"rows": rows, "page": page, "k": k, "n": n, "m": m, "tiles": tiles, "turns": turns, "cap": cap}
    return parse_body(PRODUCT.format(**values, steps=-(-k // 32), all=m * turns))


def deep_program() -> Program:
    """Rows through 200 layers of three products each, every fourth layer by bodies of its own; then a wide head."""
    sizes = ((WIDTH, 1536), (1536, WIDTH), (WIDTH, WIDTH))
    bodies = [product(32, k, n, 1 + v) for v in range(16) for k, n in sizes]
    bodies += [product(32, WIDTH, 49152, 1), product(1, WIDTH, 49152, 1)]
    tensors = [
        Tensor("x", (1, 32, WIDTH), "f32", "input", "dense"),
        Tensor("row", (1, 1, WIDTH), "f32", "input", "dense"),
    ]
    tensors += [Tensor(f"w{i}", (LAYERS, k, n), "q8_0", "weight", "q8_0") for i, (k, n) in enumerate(sizes)]
    tensors += [Tensor("head", (1, WIDTH, 49152), "q8_0", "weight", "q8_0")]
    tensors += [Tensor(f"t{i}", (1, 32, n), "f32", "intermediate", "dense") for i, (_, n) in enumerate(sizes)]
    tensors += [Tensor(n, (1, r, 49152), "f32", "result", "dense") for n, r in (("all", 32), ("last", 1))]
    phases: list[tuple[Call, ...]] = []
    shapes = {t.name: t.shape for t in tensors}

    def call(body: int, x: tuple[str, int], w: str, layer: int, y: tuple[str, int]) -> None:
        zero = (0, 0, 0)
        _, k, n = shapes[w]
        binds = (Bind(*x, zero, shapes[x[0]]), Bind(w, 0, (layer, 0, 0), (1, k, n)), Bind(*y, zero, shapes[y[0]]))
        phases.append((Call(body, binds, (0, 0)),))

    before = ("x", 0)
    for layer in range(LAYERS):
        for i in range(3):
            after = (f"t{i}", layer + 1)
            call(3 * (layer % 16) + i, before, f"w{i}", layer, after)
            before = after
    call(48, before, "head", 0, ("all", 1))
    call(49, ("row", 0), "head", 0, ("last", 1))
    return Program(tuple(tensors), tuple(bodies), tuple(phases), (("all", "all", 1), ("last", "last", 1)))


def test_six_hundred_calls_of_fifty_bodies():
    program = deep_program()
    assert (len(program.phases), len(program.bodies)) == (602, 50)
    few = replace(program, phases=(), results=(), tensors=tuple(t for t in program.tensors if t.role != "result"))
    bodies, alone = effort(lambda: check_program(few, REFERENCE))
    verdict, whole = effort(lambda: check_program(program, REFERENCE))
    assert bodies.accepted
    assert verdict.accepted, [str(f) for f in verdict.failures]
    assert whole - alone < 1000 * len(program.phases)


def test_a_bundle_proves_its_bodies_no_second_time():
    program = deep_program()
    _, once = effort(lambda: check_program(program, REFERENCE))
    verdict, calls = effort(lambda: check_bundle(bundle_of(deep=program)))
    assert verdict.accepted
    assert calls < 2 * once
