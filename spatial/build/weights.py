"""The values of a weight as a program sees it, and its Q8_0 form.

Place: between sources of tensors (`weight_files`, `fills`) and packing, which lays values out in pages. Knows which
tensors of a file make a table, stacks layers, and checks shapes; it knows no layout and no chip.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spatial.build.deployment import Deployment, FillSource, WeightName
from spatial.build.fills import fill
from spatial.build.weight_files import WeightFiles
from spatial.errors import Problem, Refused, Unsupported, nearest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Float32 = npt.NDArray[np.float32]

BLOCK = 32
"""Values per Q8_0 block."""


def tensor_names(deployment: Deployment, table: str, files: WeightFiles) -> tuple[str, ...]:
    """The tensors of `files` that make weight `table`, outermost first: one, or layers 0, 1, … of a stacked one.

    Raises Refused for a tensor that is not there, and for a gap in the layers, naming it.
    """
    name = deployment.weights.names[table]
    if not name.stacked:
        files.entry(name.tensor)
        return (name.tensor,)
    before, after = name.tensor.split("{layer}")
    numbered = re.compile(re.escape(before) + r"(0|[1-9][0-9]{0,6})" + re.escape(after))
    layers = sorted(int(found[1]) for tensor in files.entries if (found := numbered.fullmatch(tensor)))
    if not layers:
        hint = nearest(name.tensor.replace("{layer}", "0"), files.entries)
        raise _refused(deployment, name, f"no tensor of {files.paths[0].name} is called {name.tensor}", mend=hint)
    for expected, layer in enumerate(layers):
        if expected != layer:
            missing = name.tensor.replace("{layer}", str(expected))
            raise _refused(deployment, name, f"layer {expected} is missing: there is no tensor {missing}",
                           f"the file goes on to layer {layers[-1]}")  # fmt: skip
    return tuple(name.tensor.replace("{layer}", str(layer)) for layer in layers)


def weight_values(
    deployment: Deployment, table: str, files: WeightFiles | None = None, shape: tuple[int, ...] | None = None
) -> Float32:
    """Weight `table` of `deployment` in float32, layers stacked outermost.

    `files` is the opened source, None for a seeded fill. `shape` is what programs take it for: needed for a fill, and
    otherwise checked, axes that programs read as one being merged. Raises Refused where they differ or a value is not
    finite, Unsupported for a slice.
    """
    import numpy as np

    name = deployment.weights.names[table]
    if name.slice is not None:
        raise Unsupported(Problem(
            f"weight {table} is a slice of {name.tensor}", "tensor parallelism is not supported by this version",
            "name the whole tensor", deployment.place(f"weights.names.{table}"),
        ))  # fmt: skip
    source = deployment.weights.source
    if isinstance(source, FillSource):
        if shape is None:
            raise _refused(deployment, name, f"weight {table} has no shape", "no program reads it", "remove it")
        return _filled(source, name, shape)
    if files is None:
        raise _refused(deployment, name, f"weight {table} has no source", "", "add weights.source")
    tensors = tensor_names(deployment, table, files)
    shapes = {files.entry(tensor).shape for tensor in tensors}
    if len(shapes) > 1:
        raise _refused(deployment, name, f"the layers of {name.tensor} have unequal shapes", _lists(shapes))
    found = (len(tensors), *shapes.pop()) if name.stacked else shapes.pop()
    if shape is not None and not merges(found, shape):
        raise _refused(
            deployment, name, f"weight {table} has shape {list(found)} in {files.paths[0].name}",
            f"programs take it for {list(shape)}", "correct the sizes, or how the sources index it",
        )  # fmt: skip
    parts = [files.read(tensor) for tensor in tensors]
    for tensor, part in zip(tensors, parts, strict=True):
        if not np.isfinite(part).all():
            raise _refused(deployment, name, f"tensor {tensor} holds values that are not finite")
    values = np.stack(parts) if name.stacked else parts[0]
    return values if shape is None else values.reshape(shape)


def merges(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether `wanted` is `found` with neighbouring axes read as one (row-major), or `found` itself."""
    axes = iter(found)
    for extent in wanted:
        have = 1
        for axis in axes:
            have *= axis
            if have >= extent:
                break
        if have != extent:
            return False
    return all(axis == 1 for axis in axes)


def quantise_q8_0(values: Float32) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float16]]:
    """Q8_0 of `values` [..., K], 32 | K, finite: int8 values [..., K] and float16 scales [..., K/32].

    ggml's `quantize_row_q8_0_ref`, in float32: d = max |x| / 127 of a block; q = x * (1 / d) rounded, halves away from
    zero; d is then rounded to float16. Where 1 / d is not finite (d zero or below 2^-128) every q is 0.
    Raises Refused where K is no multiple of 32 or a scale does not fit float16.
    """
    import numpy as np

    if values.ndim == 0 or values.shape[-1] % BLOCK:
        raise Refused(f"a weight of shape {list(values.shape)} cannot be stored q8_0", "rows are cut in blocks of 32")
    blocks = np.ascontiguousarray(values, dtype=np.float32).reshape(*values.shape[:-1], -1, BLOCK)
    steps = np.abs(blocks).max(axis=-1) / np.float32(127)
    if not (steps < np.float32(65520)).all():  # from here float16 rounds to infinity; NaN fails too
        raise Refused("a weight cannot be stored q8_0", "a block's scale does not fit float16", "store it as f32")
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.float32(1) / steps
    inverse = np.where(np.isfinite(inverse), inverse, np.float32(0))
    scaled = blocks * inverse[..., None]
    size = np.abs(scaled)
    floor = np.floor(size)
    rounded = np.copysign(floor + (size - floor >= np.float32(0.5)), scaled)
    return rounded.astype(np.int8).reshape(values.shape), steps.astype(np.float16)


def dequantise_q8_0(values: npt.NDArray[np.int8], scales: npt.NDArray[np.float16]) -> Float32:
    """The float32 numbers that int8 `values` [..., K] and float16 `scales` [..., K/32] stand for; exact."""
    import numpy as np

    blocks = values.reshape(*values.shape[:-1], -1, BLOCK).astype(np.float32) * scales.astype(np.float32)[..., None]
    return blocks.reshape(values.shape)


def _filled(source: FillSource, name: WeightName, shape: tuple[int, ...]) -> Float32:
    import numpy as np

    centre = source.around.get(name.table, 0.0)
    if not name.stacked:
        return fill(source.seed, source.scale, centre, name.tensor, shape)
    layers = [name.tensor.replace("{layer}", str(layer)) for layer in range(shape[0])]
    return np.stack([fill(source.seed, source.scale, centre, tensor, shape[1:]) for tensor in layers])


def _refused(deployment: Deployment, name: WeightName, what: str, why: str = "", mend: str = "") -> Refused:
    return Refused(Problem(what, why, mend, deployment.place(f"weights.names.{name.table}")))


def _lists(shapes: set[tuple[int, ...]]) -> str:
    return ", ".join(str(list(shape)) for shape in sorted(shapes))
