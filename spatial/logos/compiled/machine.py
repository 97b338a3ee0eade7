"""The ground of compiled code: words at an address, items of an array, Ints that do not wrap in silence.

Everything here is inlined by numba into what calls it. A run has one block of 64-bit words, handed to every function by
its address `rt`: what a fault leaves for the runner to tell, how deep calls are, and what Show is about to print. An
array item is reached without numpy's own care for bounds, which the language's rules replace (`arithmetic`,
`sequences`). No floating-point operation is ever fused, reordered or approximated: `OPTIONS` ask for none of that.

Knows no program, and of the language only that its Ints have 64 bits here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numba  # pyright: ignore[reportMissingTypeStubs]
from llvmlite import ir  # pyright: ignore[reportMissingTypeStubs]
from numba import types
from numba.extending import intrinsic

OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "boundscheck": False, "fastmath": False}

SITE, WHY, LEFT, RIGHT, DEPTH, FLUSH, USED, WHOLE, BUFFER = range(9)
"""The words of a run: where and why it stopped, on what operands; open calls; who prints; how many words are shown,
whether they end a line, and where they stand."""

SHOWN_AT_ONCE: Final = 1 << 12
"""Words of a shown value that are handed over together."""

REASONS = ("RULE", "WIDTH", "RAGGED", "NO_ITEM", "NO_VALUE", "TOO_DEEP", "LARGE", "OUTPUT")
RULE, WIDTH, RAGGED, NO_ITEM, NO_VALUE, TOO_DEEP, LARGE, OUTPUT = range(8)
"""Why a run stops: the language's own rule; or something that compiled code does not hold."""

_inline: Any = intrinsic  # what it makes is called without the first parameter
_WORD = ir.IntType(64)
_BIT = ir.IntType(1)


class Fault(Exception):
    """Compiled code stops; the words of the run say where and why."""


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function for use inside compiled code, inlined there."""
    return numba.njit(forceinline=True, **OPTIONS)(function)


def routine(function: Callable[..., Any]) -> Any:
    """Compile a function for use inside compiled code, called there."""
    return numba.njit(**OPTIONS)(function)


def function(made: Callable[..., Any], outermost: bool) -> Any:
    """Compile a function of a program; the outermost one lets other threads run."""
    return numba.njit(nogil=outermost, **OPTIONS)(made)


# Words


@_inline
def store(context: Any, rt: Any, number: Any, value: Any) -> Any:
    """Set a word of the run."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], _WORD.as_pointer())
        builder.store(args[2], builder.gep(base, [args[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@_inline
def fetch(context: Any, rt: Any, number: Any) -> Any:
    """Read a word of the run."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], _WORD.as_pointer())
        return builder.load(builder.gep(base, [args[1]]))

    return types.int64(types.int64, types.int64), generate


@_inline
def word(context: Any, value: Any) -> Any:
    """A scalar as a word: of a Float its bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if value == types.float64:
            return builder.bitcast(args[0], _WORD)
        return builder.zext(args[0], _WORD) if value == types.boolean else args[0]

    taken = value if value in (types.float64, types.boolean) else types.int64
    return types.int64(taken), generate


@_inline
def flush(context: Any, rt: Any) -> Any:
    """Hand what was shown to the runner; not 0 if the run has to end."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], _WORD.as_pointer())
        address = builder.load(builder.gep(base, [_WORD(FLUSH)]))
        return builder.call(builder.inttoptr(address, ir.FunctionType(_WORD, []).as_pointer()), [])

    return types.int64(types.int64), generate


# Items


def _data(context: Any, builder: Any, kind: Any, array: Any, position: Any) -> Any:
    pointer = context.make_array(kind)(context, builder, array).data
    return builder.gep(pointer, [position])


@_inline
def get(context: Any, array: Any, position: Any) -> Any:
    """The item of a flat array at a position that is known to be inside."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _data(context, builder, array, args[0], args[1])
        return context.unpack_value(builder, array.dtype, pointer)

    return array.dtype(array, types.int64), generate


@_inline
def put(context: Any, array: Any, position: Any, value: Any) -> Any:
    """Set the item of a flat array at a position that is known to be inside."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _data(context, builder, array, args[0], args[1])
        context.pack_value(builder, array.dtype, args[2], pointer)
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype), generate


# Ints


def _checked(name: str) -> Any:
    """The operation of LLVM's that also says whether the result is wrong for want of bits."""

    @_inline
    def operation(context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pair = ir.FunctionType(ir.LiteralStructType([_WORD, _BIT]), [_WORD, _WORD])
            found = builder.call(builder.module.declare_intrinsic(name, [_WORD], pair), args)
            parts = [builder.extract_value(found, 0), builder.extract_value(found, 1)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.Tuple((types.int64, types.boolean))(types.int64, types.int64), generate

    return operation


sum_of = _checked("llvm.sadd.with.overflow")
difference_of = _checked("llvm.ssub.with.overflow")
product_of = _checked("llvm.smul.with.overflow")


@routine
def stop(rt: int, site: int, why: int, left: int, right: int) -> None:
    """End the run, leaving word why."""
    store(rt, SITE, site)
    store(rt, WHY, why)
    store(rt, LEFT, left)
    store(rt, RIGHT, right)
    raise Fault
