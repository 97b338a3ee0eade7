"""Targets and small helpers that tests of several floors share."""

from __future__ import annotations

from dataclasses import replace

from spatial.target import Engine, Matrix, Memory, Network, Target, Vector

MOVES = ("load", "store", "multicast", "scatter", "send", "receive", "allreduce")
DEAR = (("div", 4.0), ("exp", 8.0), ("log", 8.0), ("sqrt", 4.0), ("rsqrt", 4.0), ("reciprocal", 4.0), ("sin", 8.0))

REFERENCE = Target(
    name="reference",
    columns=8,
    rows=8,
    scratch=1_572_864,
    queues=64,
    counter_bits=32,
    tile=(32, 32),
    clock=1.0e9,
    engines=(
        Engine("mover0", MOVES),
        Engine("mover1", MOVES),
        Engine("compute", ("matmul", "generic", "permute")),
    ),
    matrix=Matrix(("f32", "bf16"), ("i8", "i16", "i32", "i64"), "f32", "f32", "i64", 16, 1, 1024.0, 0.0),
    vector=Vector("f32", "i64", ("f32", "bf16", "f16", "i8", "i16", "i32", "i64"), 32.0, 16, DEAR),
    memory=Memory(16 << 30, 256.0, 16, 32, 200.0, 1, 256.0),
    network=Network(32.0, 9.0, 40.0, True, 24.0),
    section_cycles=2000.0,
    step_cycles=100.0,
    unpack=256.0,
    pack=256.0,
)
"""An idealised chip: float32 in both datapaths, all integers."""

TF32 = replace(
    REFERENCE,
    name="tf32",
    matrix=Matrix(("f32", "bf16"), ("i8",), "tf32", "f32", "i32", 4, 8, 512.0, 4.0),
    vector=Vector("f32", "i32", ("f32", "bf16", "f16", "i8", "i16", "i32"), 32.0, 8, DEAR),
)
"""A chip whose matrix datapath rounds float operands to TF32."""
