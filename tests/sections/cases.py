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


CASES = (
    Case("product", product_inputs, product, 1e-5),
    Case("softmax", softmax_inputs, softmax, 1e-6),
    Case("rmsnorm", rmsnorm_inputs, rmsnorm, 1e-6),
)
