"""Targets and small helpers that tests of several floors share."""

from __future__ import annotations

from dataclasses import replace

from spatial.target import Engine, Host, Matrix, Memory, Network, Numerics, Target, Vector

MOVES = ("load", "store", "multicast", "scatter", "send", "receive", "allreduce")
DEAR = (("div", 4.0), ("exp", 8.0), ("log", 8.0), ("sqrt", 4.0), ("rsqrt", 4.0), ("reciprocal", 4.0), ("sin", 8.0))
FOUR = (("bf16", 4), ("f32", 4), ("i8", 4))

REFERENCE = Target(
    name="reference",
    columns=8,
    rows=8,
    chips=1,
    scratch=1_572_864,
    align=16,
    queues=64,
    descriptors=0,
    locks=0,
    counter_bits=32,
    tile=(32, 32),
    clock=1.0e9,
    engines=(
        Engine("mover0", MOVES, 0),
        Engine("mover1", MOVES, 1),
        Engine("compute", ("matmul", "generic", "permute")),
    ),
    matrix=Matrix(("f32", "bf16"), ("i8", "i16", "i32", "i64"), "f32", "f32", "i64", 16, 32, 1, 1, 1024.0, (), 0.0),
    vector=Vector("f32", "i64", ("f32", "bf16", "f16", "i8", "i16", "i32", "i64"), 32.0, 16, DEAR),
    memory=Memory(16 << 30, 256.0, 256.0, 16, 32, 200.0, 1, 256.0),
    network=Network(2, 32.0, 32.0, 9.0, 40.0, 24.0, ((32.0, 1.0), (2048.0, 32.0)), ("rectangle",)),
    links=None,
    host=Host(16.0, 16.0, 1000.0),
    numerics=Numerics("kept", "ties-even", "kept"),
    section_cycles=2000.0,
    step_cycles=100.0,
    unpack=256.0,
    pack=256.0,
)
"""An idealised chip: float32 in both datapaths, all integers."""

TF32 = replace(
    REFERENCE,
    name="tf32",
    matrix=Matrix(("f32", "bf16"), ("i8",), "tf32", "f32", "i32", 4, 8, 2, 8, 2048.0, FOUR, 4.0),
    vector=Vector("f32", "i32", ("f32", "bf16", "f16", "i8", "i16", "i32"), 32.0, 8, DEAR),
)
"""A chip whose matrix datapath rounds float operands to TF32."""
