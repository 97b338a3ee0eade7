"""The artifact store: what was made, by content, and which action made it.

Place: under every task. Knows bytes and keys; no graph, no program, no task name.

    objects/ab/cdef…    an object, named by the SHA-256 of its bytes; read-only, never changed
    actions/ab/cdef…    the record of an action, named by the digest of its key: kind, inputs, outputs
    damaged/            what did not hold what its name says, kept for a look; nothing reads it
    tmp/                files on their way in

Everything is written under a temporary name, synced and renamed, so a reader meets whole files only, and two builds
may write at once: equal names hold equal bytes. Whatever is read is verified; an entry that fails is set aside with one
line of warning, and is a miss.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from spatial.build.canonical import decode, digest, encode
from spatial.build.stat_cache import StatCache, hash_file
from spatial.errors import Bug, Damaged, EnvironmentFault

RECORD = "spatial.action/1"
MAX_RECORD = 16 << 20


@dataclass(frozen=True)
class Key:
    """What an action depends on: its kind and every input by name, kept so that a change can be named."""

    kind: str
    parts: Mapping[str, object]

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form of kind and parts."""
        return digest(encode([self.kind, self.parts]))

    def facts(self) -> dict[str, str]:
        """Each input, maps opened one level ("rows.k_cache"), as a short text to compare and to show."""
        found: dict[str, str] = {"kind": self.kind}
        for name, value in self.parts.items():
            if isinstance(value, Mapping):
                for inner, part in cast("Mapping[str, object]", value).items():
                    found[f"{name}.{inner}"] = _short(part)
            else:
                found[name] = _short(value)
        return found


def key_of(kind: str, **parts: object) -> Key:
    """The key of an action; every part must have a canonical form (`canonical`), else Bug is raised."""
    key = Key(kind, parts)
    encode([kind, parts])
    return key


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """What differs between the `facts` of two keys, one short text each, sorted by name."""
    found: list[str] = []
    for name in sorted({*before, *now}):
        match before.get(name), now.get(name):
            case None, after:
                found.append(f"{name} is new ({after})")
            case old, None:
                found.append(f"{name} is gone (was {old})")
            case old, after if old != after:
                found.append(f"{name}: {old} -> {after}")
            case _:
                pass
    return tuple(found)


def _short(value: object) -> str:
    match value:
        case str() if len(value) == 64 and all(c in "0123456789abcdef" for c in value):
            return value[:12]
        case str() if len(value) <= 60:
            return value
        case None | bool() | int() | float():
            return str(value)
        case _:
            return digest(encode(value))[:12]


def warn_on_stderr(line: str) -> None:
    """The usual way to give a warning: one line on standard error."""
    print(f"warning: {line}", file=sys.stderr)


@contextmanager
def disk(doing: str) -> Generator[None, None, None]:
    """Turn an OSError inside into an EnvironmentFault that says what was being done, and where."""
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise EnvironmentFault(
            f"{doing}{where}: {error.strerror or error}", "", "check free space and permissions there"
        ) from error


class Store:
    """A store under `root`, made when first written to. Safe to share between threads and between processes."""

    def __init__(
        self, root: Path, cache: StatCache | None = None, warn: Callable[[str], None] = warn_on_stderr
    ) -> None:
        self.root = root
        self.cache = cache or StatCache()
        self.warn = warn

    # ---------------------------------------------------------------------------------------------- objects

    def put(self, data: bytes) -> str:
        """Keep `data`; its digest."""
        name = digest(data)
        if self.locate(name) is None:
            with self.incoming() as file:
                with disk("writing to the store"):
                    file.write(data)
                self._place(file, self.object_path(name))
        return name

    def put_file(self, path: Path) -> str:
        """Keep a copy of the file at `path`; its digest. Raises EnvironmentFault if it cannot be read or copied."""
        with self.incoming() as file:
            with disk(f"copying {path} to the store"), path.open("rb") as source:
                while chunk := source.read(1 << 20):
                    file.write(chunk)
                file.flush()
                name, _ = hash_file(file.name)
            if self.locate(name) is None:
                self._place(file, self.object_path(name))
        return name

    def locate(self, name: str) -> Path | None:
        """The path of object `name`, its bytes verified; None if it is not there, or was damaged and set aside."""
        path = self.object_path(name)
        try:
            found = self.cache.digest(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise EnvironmentFault(f"reading the store: {path}: {error.strerror}") from error
        if found == name:
            return path
        self._set_aside(path, f"object {name[:12]} has other bytes")
        return None

    def get(self, name: str) -> bytes:
        """The bytes of object `name`, verified. Raises Damaged if it is not there whole."""
        try:
            data = self.object_path(name).read_bytes()
        except FileNotFoundError:
            raise Damaged(f"the store has no object {name[:12]}", "", "build again") from None
        except OSError as error:
            raise EnvironmentFault(f"reading the store: {error.filename}: {error.strerror}") from error
        if digest(data) != name:
            self._set_aside(self.object_path(name), f"object {name[:12]} has other bytes")
            raise Damaged(f"object {name[:12]} of the store was damaged", "it was set aside", "build again")
        return data

    def object_path(self, name: str) -> Path:
        """Where object `name` lies, or would."""
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            raise Bug(f"{name!r} is no digest")
        return self.root / "objects" / name[:2] / name[2:]

    # ---------------------------------------------------------------------------------------------- actions

    def record(self, key: Key, outputs: Mapping[str, str]) -> None:
        """Note that the action with `key` made `outputs`, objects of the store by name."""
        with self.incoming() as file:
            with disk("writing to the store"):
                file.write(_record(key, outputs))
            self._place(file, self._action_path(key))

    def lookup(self, key: Key) -> dict[str, str] | None:
        """The outputs of the action with `key`, every one there and verified; else None."""
        path = self._action_path(key)
        try:
            if path.stat().st_size > MAX_RECORD:
                raise Damaged("an action record is too large")
            outputs = _outputs(path.read_bytes(), key)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise EnvironmentFault(f"reading the store: {path}: {error.strerror}") from error
        except Damaged as error:
            self._set_aside(path, error.problems[0].what)
            return None
        return outputs if all(self.locate(name) for name in outputs.values()) else None

    def _action_path(self, key: Key) -> Path:
        name = key.digest
        return self.root / "actions" / name[:2] / name[2:]

    # ---------------------------------------------------------------------------------------------- writing

    @contextmanager
    def incoming(self) -> Generator[Any, None, None]:
        """A new file of the store's file system, open for writing; gone afterwards unless it was placed."""
        with disk("writing to the store"):
            (self.root / "tmp").mkdir(parents=True, exist_ok=True)
            file = tempfile.NamedTemporaryFile(dir=self.root / "tmp", delete=False)  # noqa: SIM115
        try:
            yield file
        finally:
            with suppress(OSError):  # a full disk was told of by the write; what was placed is flushed
                file.close()
            Path(file.name).unlink(missing_ok=True)

    def _place(self, file: Any, path: Path) -> None:
        """Sync `file` and rename it to `path`, read-only."""
        with disk("writing to the store"):
            place_file(file, path)

    def _set_aside(self, path: Path, what: str) -> None:
        self.warn(f"{what}; set aside, and made again when needed")
        with disk("setting aside a damaged entry of the store"):
            (self.root / "damaged").mkdir(parents=True, exist_ok=True)
            name = f"{path.parent.parent.name}-{path.parent.name}{path.name}"
            try:
                os.replace(path, self.root / "damaged" / name)
            except FileNotFoundError:
                return  # another build set it aside first


def place_file(file: Any, path: Path) -> None:
    """Flush and sync the open temporary `file`, make it read-only, rename it to `path`, sync the folder."""
    file.flush()
    os.fchmod(file.fileno(), 0o444)
    os.fsync(file.fileno())
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(file.name, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in `folder` reach the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def memo(store: Store, key: Key, make: Callable[[], Mapping[str, bytes]]) -> dict[str, str]:
    """The outputs of the action with `key`, as digests by name: looked up, or made by `make`, kept and recorded."""
    found = store.lookup(key)
    if found is None:
        found = {name: store.put(data) for name, data in make().items()}
        store.record(key, found)
    return found


def _record(key: Key, outputs: Mapping[str, object]) -> bytes:
    body = {"schema": RECORD, "kind": key.kind, "parts": key.parts, "outputs": outputs}
    return encode({"record": body, "sum": digest(encode(body))})


def _outputs(data: bytes, key: Key) -> dict[str, str]:
    """The outputs in an action record that must be that of `key`. Raises Damaged."""
    found: object = decode(data, "an action record")
    body: object = cast("dict[str, object]", found).get("record") if isinstance(found, dict) else None
    if isinstance(body, dict):
        outputs = cast("dict[str, object]", body).get("outputs")
        if isinstance(outputs, dict) and data == _record(key, cast("dict[str, object]", outputs)):
            return {name: str(value) for name, value in cast("dict[str, object]", outputs).items()}
    raise Damaged("an action record is not what its name says")
