"""Programs in both modes of the interpreter, and translated code run by Python itself.

`emulated` runs what the translator wrote with Python's own integers and lists in the place of machine words, so that
thousands of programs can be held to the interpreter without compiling one; `compiled` is the real thing.
"""

from __future__ import annotations

import struct
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spatial.errors import SpatialError, Unsupported
from spatial.logos.compiled import arithmetic, interpret_compiled, machine, sequences
from spatial.logos.compiled.inputs import held, mentioned, owned, results
from spatial.logos.compiled.telling import told_fault, told_line
from spatial.logos.compiled.units import translate
from spatial.logos.interpret import FRAMES, Seq, interpret
from spatial.logos.syntax import Program


@dataclass
class Outcome:
    """What a run showed, the error it ended with, and what its variables held."""

    lines: list[str]
    error: SpatialError | None = None
    variables: Mapping[str, object] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return isinstance(self.error, Unsupported)


Runner = Callable[[Program, Mapping[str, object], Callable[[str], None]], Mapping[str, object]]


def run(program: Program, inputs: Mapping[str, object], runner: Runner) -> Outcome:
    lines: list[str] = []
    try:
        return Outcome(lines, None, runner(program, inputs, lines.append))
    except SpatialError as error:
        return Outcome(lines, error)


def plainly(program: Program, inputs: Mapping[str, object], output: Callable[[str], None]) -> Mapping[str, object]:
    return interpret(program, inputs, output=output).variables


def compiled(program: Program, inputs: Mapping[str, object], output: Callable[[str], None]) -> Mapping[str, object]:
    return interpret_compiled(program, inputs, output).variables


def emulated(program: Program, inputs: Mapping[str, object], output: Callable[[str], None]) -> Mapping[str, object]:
    """The translated program, run by Python."""
    names = mentioned(program)
    taken = {name: held(name, inputs[name]) for name in sorted(inputs) if name in names}
    translation = translate(program, {name: kind for name, (kind, _) in taken.items()})
    known = translation.known
    words = [0] * machine.BUFFER
    shown: list[int] = []

    def said() -> None:
        line = iter(shown)
        output(told_line(known.lines[next(line)], line))
        shown.clear()

    namespace = _ground(words, shown, said)
    exec(compile(translation.module, "<emulated>", "exec"), namespace)
    parts = [p for name, (_, parts) in taken.items() for p in (owned(parts) if name in known.written else parts)]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(8 * FRAMES)
    try:
        number, *left = namespace["main"](1, *parts)
    except machine.Fault:
        site, why, a, b = (words[n] for n in (machine.SITE, machine.WHY, machine.LEFT, machine.RIGHT))
        raise told_fault(known.sites[site - 1], machine.REASONS[why], a, b) from None
    finally:
        sys.setrecursionlimit(limit)
    found = results({name: known.kind("", name) for name in known.globals}, left)
    return {**inputs, **{name: found[name] for name in translation.exits[number]}}


def _ground(words: list[int], shown: list[int], said: Callable[[], None]) -> dict[str, Any]:
    """The names that translated code uses, each of `machine`'s replaced by a few lines of Python."""

    def wrapped(value: int) -> tuple[int, bool]:
        low = (value + (1 << 63)) % (1 << 64) - (1 << 63)
        return low, low != value

    def word(value: Any) -> int:
        return struct.unpack("<q", struct.pack("<d", value))[0] if isinstance(value, float) else int(value)

    def get(array: Any, position: int) -> Any:
        assert 0 <= position < len(array), "out of the array"
        return array[position].item()

    def put(array: Any, position: int, value: Any) -> None:
        assert 0 <= position < len(array), "out of the array"
        value = value.item() if isinstance(value, np.generic) else value
        assert array.dtype.kind == {bool: "b", int: "i", float: "f"}[type(value)], "another kind"
        array[position] = value

    def store(_rt: int, number: int, value: int) -> None:
        words[number] = value

    namespace: dict[str, Any] = {}
    for module in (machine, arithmetic, sequences):
        for name, value in vars(module).items():
            python = getattr(value, "py_func", None)
            namespace[name] = types.FunctionType(python.__code__, namespace) if python else value
    namespace |= {
        "np": _Numpy(),
        "store": store,
        "fetch": lambda _rt, number: words[number],
        "word": word,
        "get": get,
        "put": put,
        "sum_of": lambda a, b: wrapped(a + b),
        "difference_of": lambda a, b: wrapped(a - b),
        "product_of": lambda a, b: wrapped(a * b),
        "shift_left_int": lambda a, b: wrapped(a << (b & 63))[0],
        "say": lambda _rt, value: shown.append(int(value)),
        "said": lambda _rt: said(),
    }
    return namespace


class _Numpy:
    """numpy, but that its Ints are Python's."""

    int64 = int

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def as_array(value: object) -> Any:
    """A value of either mode, for comparison."""
    return value.to_array() if isinstance(value, Seq) else np.asarray(value)


def held_equal(a: Outcome, b: Outcome) -> None:
    """Two runs showed the same, ended the same way and left the same to the last bit."""
    assert b.lines == a.lines
    assert (str(b.error), type(b.error)) == (str(a.error), type(a.error))
    if a.error is not None:
        return
    assert a.variables.keys() == b.variables.keys()
    for name, value in a.variables.items():
        x, y = as_array(value), as_array(b.variables[name])
        assert x.dtype == y.dtype and x.shape == y.shape, (name, x.dtype, y.dtype, x.shape, y.shape)
        assert np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), (name, x, y)
        if x.dtype.kind == "f":
            assert np.array_equal(np.signbit(x[~np.isnan(x)]), np.signbit(y[~np.isnan(y)])), name
