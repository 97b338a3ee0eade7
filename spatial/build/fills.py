"""Weights made from a seed, defined here and by no library's generator, so that they are the same for ever.

Place: under `weights`. Value number i (row-major, from 0) of a tensor comes from block i // 16 of a stream of SHA-256
digests:

    block b     = SHA-256( "spatial.fill/1\\n" seed "\\n" name "\\n" b )    seed and b in decimal, text as UTF-8
    k of value  = the (i mod 16)-th 16-bit little-endian integer of the block, two's complement
    value       = float32( centre + scale * k / 2^15 )                      in binary64, rounded once at the end

So values are uniform on the 65,536 multiples of scale / 2^15 from -scale up to, not including, scale, around `centre`,
and neither the shape nor other tensors change them.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VALUES_PER_BLOCK = 16


def fill(seed: int, scale: float, centre: float, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """The tensor called `name` of `shape`, in float32."""
    import numpy as np

    count = math.prod(shape)
    start = hashlib.sha256(f"spatial.fill/1\n{seed}\n{name}\n".encode())
    blocks = bytearray()
    for block in range(-(-count // VALUES_PER_BLOCK)):
        stream = start.copy()
        stream.update(b"%d" % block)
        blocks += stream.digest()
    steps = np.frombuffer(bytes(blocks), dtype="<i2")[:count].astype(np.float64)
    return (centre + scale * steps / 32768.0).astype(np.float32).reshape(shape)
