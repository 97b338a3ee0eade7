"""The corpus: sections written by hand, with seeded inputs and what each must compute.

A case is a program in text form beside this file, a function from a seed to its inputs (weights and the state it starts
with included) and a function from inputs to its results and final state, in numpy's binary64 or integers: written from
the formula, knowing nothing of pages or sites. Arrays are [slices, rows, columns]; a Q8_0 table is its two planes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spatial.ir.program import Program
from spatial.ir.text import parse_program

Array = npt.NDArray[Any]
Tables = dict[str, Array]
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A program, its inputs for a seed, and what it must make of them, to within `tolerance` (absolute and relative).

    A plane of a Q8_0 tensor `w` is called "w.values" or "w.scales" among the inputs.
    """

    name: str
    inputs: Callable[[int], Tables]
    expected: Callable[[Tables], Tables]
    tolerance: float

    @property
    def text(self) -> str:
        """The program as written."""
        return (HERE / f"{self.name}.sec").read_text(encoding="utf-8")

    def program(self) -> Program:
        """The program as records."""
        return parse_program(self.text, f"{self.name}.sec")


def floats(rng: np.random.Generator, *shape: int) -> Array:
    """Normally distributed float32 values."""
    return rng.standard_normal(shape).astype(np.float32)


def wide(tables: Tables) -> Tables:
    """The tables with their floats in binary64."""
    return {name: t.astype(np.float64) if t.dtype.kind == "f" else t for name, t in tables.items()}


# ---------------------------------------------------------------- the cases


def product_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {"a": floats(rng, 1, 40, 80), "b": floats(rng, 1, 80, 100)}


def product(t: Tables) -> Tables:
    return {"c": t["a"] @ t["b"]}


def softmax_inputs(seed: int) -> Tables:
    return {"x": floats(np.random.default_rng(seed), 1, 8, 80) * np.float32(4)}


def softmax_of(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax(t: Tables) -> Tables:
    return {"y": softmax_of(t["x"])}


def rmsnorm_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {"x": floats(rng, 1, 2, 80), "w": floats(rng, 1, 1, 80)}


def rmsnorm(t: Tables) -> Tables:
    x = t["x"]
    return {"y": x * t["w"] / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)}


def rotary_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    angles = np.arange(16)[:, None] * 0.8 ** np.arange(32)
    twice = np.repeat(angles, 2, axis=1)[None]
    return {
        "x": floats(rng, 1, 2, 64),
        "position": rng.integers(0, 16, (1, 1, 1), np.int32),
        "cosines": np.cos(twice).astype(np.float32),
        "sines": np.sin(twice).astype(np.float32),
    }


def rotary(t: Tables) -> Tables:
    x, p = t["x"], int(t["position"][0, 0, 0])
    cosine, sine = t["cosines"][0, p, ::2], t["sines"][0, p, ::2]
    y = np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cosine - x[..., 1::2] * sine
    y[..., 1::2] = x[..., 1::2] * cosine + x[..., 0::2] * sine
    return {"y": y}


def attention_inputs(seed: int) -> Tables:
    """Positions 0, 39, 31, 32 for the first seeds; rows beyond the position hold NaN and large numbers."""
    rng = np.random.default_rng(seed)
    position = (0, 39, 31, 32)[seed] if seed < 4 else int(rng.integers(0, 40))
    tables = {
        "q": floats(rng, 1, 4, 64),
        "k": floats(rng, 1, 1, 64),
        "v": floats(rng, 1, 1, 64),
        "position": np.full((1, 1, 1), position, np.int32),
        "keys": floats(rng, 1, 40, 64),
        "values": floats(rng, 1, 40, 64),
    }
    for name in ("keys", "values"):
        tables[name][0, position + 1 :: 2] = np.nan
        tables[name][0, position + 2 :: 2] = 1e30
    return tables


def attention(t: Tables) -> Tables:
    p = int(t["position"][0, 0, 0])
    keys, values = t["keys"].copy(), t["values"].copy()
    keys[0, p], values[0, p] = t["k"][0, 0], t["v"][0, 0]
    weights = softmax_of(t["q"][0] @ keys[0, : p + 1].T / 8)
    return {"y": (weights @ values[0, : p + 1])[None], "keys": keys, "values": values}


def quantised_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {
        "w.values": rng.integers(-127, 128, (1, 96, 80), np.int8),
        "w.scales": (rng.random((1, 3, 80)) / 64).astype(np.float16),
        "x": floats(rng, 1, 1, 96),
        "xs": floats(rng, 1, 8, 96),
    }


def quantised(t: Tables) -> Tables:
    w = t["w.values"] * np.repeat(t["w.scales"], 32, axis=1)
    return {"y": t["x"] @ w, "ys": t["xs"] @ w}


def multicast_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {"x": floats(rng, 1, 1, 96), "w": floats(rng, 1, 96, 80)}


def multicast(t: Tables) -> Tables:
    return {"y": t["x"] @ t["w"]}


def layers_inputs(seed: int) -> Tables:
    """Small integers, so that every sum is exact in float32."""
    rng = np.random.default_rng(seed)
    sparse = rng.integers(-1, 2, (4, 64, 64)) * (rng.random((4, 64, 64)) < 0.1)
    return {
        "x": rng.integers(-3, 4, (1, 64, 64)).astype(np.float32),
        "w": sparse.astype(np.float32),
        "b": rng.integers(-3, 4, (4, 1, 64)).astype(np.float32),
    }


def layers(t: Tables) -> Tables:
    x = t["x"]
    for w, b in zip(t["w"], t["b"], strict=True):
        x = np.maximum(x @ w + b, 0)
    return {"y": x}


def argmax_inputs(seed: int) -> Tables:
    """Small integers, so that the greatest occurs several times; the second seed's are all negative."""
    x = np.random.default_rng(seed).integers(-9, 10, (1, 1, 80)).astype(np.float32)
    return {"x": x - 20 if seed == 1 else x}


def argmax(t: Tables) -> Tables:
    return {"y": np.argmax(t["x"], axis=-1).astype(np.int32)[..., None]}


def gather_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {"tokens": rng.integers(0, 50, (1, 4, 1), np.int32), "table": floats(rng, 1, 50, 72)}


def gather(t: Tables) -> Tables:
    return {"rows": t["table"][:, t["tokens"][0, :, 0]]}


def chunk_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    start, count = ((0, 8), (37, 3), (20, 0))[seed] if seed < 3 else (int(rng.integers(0, 33)), int(rng.integers(0, 9)))
    return {
        "rows": floats(rng, 1, 8, 64),
        "start": np.full((1, 1, 1), start, np.int32),
        "count": np.full((1, 1, 1), count, np.int32),
        "table": floats(rng, 1, 40, 64),
    }


def chunk(t: Tables) -> Tables:
    table, start, count = t["table"].copy(), int(t["start"][0, 0, 0]), int(t["count"][0, 0, 0])
    table[0, start : start + count] = t["rows"][0, :count]
    return {"table": table}


def cells_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {"a": floats(rng, 1, 64, 96), "b": floats(rng, 1, 96, 64)}


def scatter_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {"x": floats(rng, 1, 1, 64), "w": floats(rng, 1, 64, 96)}


def integers_inputs(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    return {
        "a": rng.integers(-100, 101, (1, 32, 64), np.int8),
        "b": rng.integers(-128, 128, (1, 64, 64), np.int8),
        "bias": rng.integers(-1000, 1001, (1, 1, 64), np.int32),
    }


def integers(t: Tables) -> Tables:
    c = t["a"].astype(np.int64) @ t["b"].astype(np.int64) + t["bias"]
    return {"c": c.astype(np.int32).transpose(0, 2, 1)}


CASES = (
    Case("product", product_inputs, product, 1e-5),
    Case("softmax", softmax_inputs, softmax, 1e-6),
    Case("rmsnorm", rmsnorm_inputs, rmsnorm, 1e-6),
    Case("rotary", rotary_inputs, rotary, 1e-6),
    Case("attention", attention_inputs, attention, 1e-5),
    Case("quantised", quantised_inputs, quantised, 1e-4),
    Case("multicast", multicast_inputs, multicast, 1e-5),
    Case("layers", layers_inputs, layers, 0.0),
    Case("argmax", argmax_inputs, argmax, 0.0),
    Case("gather", gather_inputs, gather, 0.0),
    Case("chunk", chunk_inputs, chunk, 0.0),
    Case("cells", cells_inputs, product, 1e-5),
    Case("scatter", scatter_inputs, multicast, 1e-5),
    Case("integers", integers_inputs, integers, 0.0),
)
