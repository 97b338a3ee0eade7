"""What commands print and write: one JSON object with a schema, arrays read from and written to npz files, and how a
file that a person named is written.

JSON goes to standard output, one object a run, `schema: "spatial.COMMAND/1"` first; keys keep the order they are given
in. Nothing else is printed there then.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spatial.errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"


def print_json(command: str, found: Mapping[str, object]) -> None:
    """Print the answer of `command` as one object."""
    json.dump({"schema": f"spatial.{command}/1", **found}, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def read_npz(path: Path | None) -> dict[str, Array]:
    """The arrays of an npz file by name; none without a path. Raises EnvironmentFault or UsageError."""
    import numpy as np

    if path is None:
        return {}
    try:
        found: Any = np.load(path, allow_pickle=False)
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise UsageError(f"{path} is one array, not an npz of named ones", "", "write it with numpy.savez")
        with found:
            arrays: dict[str, Any] = {name: found[name] for name in found.files}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray):
                raise UsageError(f"{name} in {path} is no array", "", "write the file with numpy.savez")
        return arrays
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile):
        raise UsageError(f"{path} is no npz of plain arrays", "", "write it with numpy.savez") from None


def write_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write `arrays` to an npz file; equal arrays, equal bytes. Raises EnvironmentFault."""
    write_whole(path, lambda at: _write_arrays(at, arrays))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` make the file a person named, whole or not at all. Raises EnvironmentFault.

    What a link leads to is made, and the link stays. A device or a pipe is written to: a rename would put a file in its
    place.
    """
    temporary = None
    try:
        if path.exists() and not path.is_file():
            write(path)
            return
        at = path.resolve()
        temporary = at.with_name(f".{at.name}.{os.getpid()}")
        write(temporary)
        os.replace(temporary, at)
    except (OSError, RuntimeError) as error:
        # A circle of links is a RuntimeError to `resolve`.
        reason = getattr(error, "strerror", None) or error
        raise EnvironmentFault(f"{path} cannot be written: {reason}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    from numpy.lib.format import write_array

    with path.open("wb") as opened, zipfile.ZipFile(opened, "w") as file:
        for name, array in sorted(arrays.items()):
            # An entry of our own making has no time of writing.
            with file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                write_array(member, array, allow_pickle=False)
