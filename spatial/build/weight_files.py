"""The tensors of a weight source: an index of what there is, and each tensor as float32.

Place: between the file formats (`gguf_file`, `array_files`) and `weights`, which knows what programs call them. Tensor
bytes are memory-mapped; an index carries the digest of each, so that one changed tensor redoes one weight.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatial.build.array_files import npz_bytes, npz_entries, safetensors_entries
from spatial.build.canonical import encode
from spatial.build.gguf_file import TensorEntry, gguf_entries
from spatial.errors import Damaged, EnvironmentFault, Refused, Unsupported, nearest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Float32 = npt.NDArray[np.float32]

READERS = {"gguf": gguf_entries, "safetensors": safetensors_entries, "npz": npz_entries}


@dataclass(frozen=True)
class WeightFiles:
    """The files of one source, opened: their paths in the order of the spec, and their tensors by name."""

    format: str
    paths: tuple[Path, ...]
    entries: Mapping[str, TensorEntry]

    def entry(self, name: str) -> TensorEntry:
        """The tensor called `name`. Raises Refused, with the nearest name, if there is none."""
        if name not in self.entries:
            raise Refused(f"no tensor of {self.paths[0].name} is called {name}", "", nearest(name, self.entries))
        return self.entries[name]

    def read(self, name: str) -> Float32:
        """Tensor `name` in float32, dequantised where it is quantised, `entry(name).shape`. Not to be written to.

        Raises Refused, Unsupported or Damaged.
        """
        import numpy as np

        entry = self.entry(name)
        match entry.type:
            case "F32" | "F16" | "<f4" | "<f2":
                stored = "<f4" if entry.type in ("F32", "<f4") else "<f2"
                flat = self._array(entry, stored).astype(np.float32, copy=False)
            case "BF16":
                # A bfloat16 is the upper half of the float32 of the same value.
                flat = (self._array(entry, "<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
            case _:
                flat = self._dequantised(entry)
        return flat.reshape(entry.shape, order="F" if entry.columns_first else "C")

    def digest(self, name: str) -> str:
        """SHA-256 of the stored bytes of tensor `name`."""
        return hashlib.sha256(self._array(self.entry(name), "u1").data).hexdigest()

    def _array(self, entry: TensorEntry, dtype: str) -> npt.NDArray[Any]:
        import numpy as np

        path = self.paths[entry.file]
        if self.format == "npz":
            return np.frombuffer(npz_bytes(path, entry), dtype=dtype)
        with path.open("rb") as file:
            # The array keeps the mapping alive; the file may be closed.
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(data) < entry.offset + entry.size:
            raise Damaged(f"{path} has become shorter since it was indexed", "", "build again")
        return np.frombuffer(data, dtype=dtype, count=entry.size // np.dtype(dtype).itemsize, offset=entry.offset)

    def _dequantised(self, entry: TensorEntry) -> Float32:
        import gguf
        import numpy as np

        kind = gguf.GGMLQuantizationType[entry.type]
        rows = self._array(entry, "u1").reshape(-1, entry.size // max(1, _product(entry.shape[:-1])))
        try:
            return np.asarray(gguf.quants.dequantize(rows, kind), dtype=np.float32).reshape(-1)
        except NotImplementedError:
            raise Unsupported(f"tensor {entry.name} has type {entry.type}", "it cannot be dequantised") from None


def open_weights(format: str, paths: Sequence[Path]) -> WeightFiles:
    """Read the headers of the files of a source, all of one `format` of `READERS`.

    Raises EnvironmentFault for a file that cannot be read, Damaged or Unsupported for one that is not sound.
    """
    found: dict[str, TensorEntry] = {}
    for number, path in enumerate(paths):
        try:
            entries = READERS[format](path, number)
        except OSError as error:
            raise EnvironmentFault(
                f"the weight file {path} cannot be read: {error.strerror}", "", "paths count from the spec's folder"
            ) from None
        for entry in entries:
            if entry.name in found:
                raise Refused(f"{path} and {paths[found[entry.name].file]} both hold the tensor {entry.name}")
            found[entry.name] = entry
    return WeightFiles(format, tuple(paths), found)


def index_of(files: WeightFiles) -> dict[str, dict[str, object]]:
    """What there is, for a later task to depend on piece by piece: per tensor its type, shape, place and digest."""
    return {
        name: {
            "type": entry.type,
            "shape": list(entry.shape),
            "file": entry.file,
            "offset": entry.offset,
            "size": entry.size,
            "columns_first": entry.columns_first,
            "sha256": files.digest(name),
        }
        for name, entry in sorted(files.entries.items())
    }


def files_of(index: Mapping[str, Any], paths: Sequence[Path]) -> WeightFiles:
    """The files that `index_bytes` made `index` of, lying at `paths`; nothing is opened."""
    entries = {
        name: TensorEntry(name, t["type"], tuple(t["shape"]), t["file"], t["offset"], t["size"], t["columns_first"])
        for name, t in index["tensors"].items()
    }
    return WeightFiles(index["format"], tuple(paths), entries)


def index_bytes(files: WeightFiles) -> bytes:
    """The index in canonical form; it names no path."""
    return encode({"schema": "spatial.index/1", "format": files.format, "tensors": index_of(files)})


def _product(extents: Sequence[int]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total
