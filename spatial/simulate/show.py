"""What a program prints: values in the words of the source language's `Show`. Knows numbers and nesting only."""

from __future__ import annotations

import numpy as np

from spatial.numerics import Array


def shown(values: Array) -> str:
    """An array as `Show` prints it: numbers plainly, sequences as `[1, 2.5]`, nested likewise.

    Floats print the fewest digits that give the same value back in their own format, without exponent, and without a
    fraction where they are whole.
    """
    if values.ndim:
        return f"[{', '.join(shown(v) for v in values)}]"
    if values.dtype.kind in "iu":
        return str(int(values))
    if values.dtype.kind == "b":
        return "true" if values else "false"
    number = values.astype(np.float32).item() if values.dtype != np.float64 else values.item()
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "inf" if number > 0 else "-inf"
    own = np.float16 if values.dtype == np.float16 else np.float64 if values.dtype == np.float64 else np.float32
    return np.format_float_positional(own(number), unique=True, trim="-")
