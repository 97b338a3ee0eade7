"""Digests of files, remembered by what `stat` says, in memory and across runs.

Place: under `store` and `doit_support`. A remembered digest is used only while size, both times, device-independent
inode number and path are the same, and only if the file had been still for a moment when it was hashed: a change
within one tick of the file system's clock would otherwise go unseen. The file on disk is a hint; if it cannot be read
or written, files are hashed again.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from spatial.build.canonical import decode, encode
from spatial.errors import Damaged

SETTLED_NS = 100_000_000
"""A file must have been unchanged for this long when hashed; file systems in use tick every 10 ms or faster."""
MAX_ENTRIES = 200_000
MAX_FILE = 64 << 20
CHUNK = 1 << 20


@dataclass(frozen=True)
class Stamp:
    """What `stat` says of a file, as far as a change of content must change it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @staticmethod
    def of(stat: os.stat_result) -> Stamp:
        """The stamp in a `stat` result."""
        return Stamp(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)

    def settled(self, now_ns: int) -> bool:
        """Whether the file had been still for `SETTLED_NS` at `now_ns`."""
        return now_ns - max(self.mtime_ns, self.ctime_ns) > SETTLED_NS


def hash_file(path: str | os.PathLike[str]) -> tuple[str, os.stat_result]:
    """SHA-256 of a file in hexadecimal, and its `stat` from before the first byte was read. Raises OSError."""
    with open(path, "rb") as file:
        stat = os.fstat(file.fileno())
        made = hashlib.sha256()
        while chunk := file.read(CHUNK):
            made.update(chunk)
    return made.hexdigest(), stat


def _is_text(path: str) -> bool:
    """Whether a path can be kept in the file: one whose bytes are no text of the locale cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


class StatCache:
    """Remembered digests. `file`, if given, keeps them across runs. Safe to share between threads."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Stamp, str]] | None = None
        self._fresh: dict[str, tuple[Stamp, str]] = {}

    def digest(self, path: str | os.PathLike[str]) -> str:
        """SHA-256 of the file's content, in hexadecimal. Raises OSError where the file cannot be read."""
        name = os.path.abspath(path)
        stamp = Stamp.of(os.stat(name))
        with self._lock:
            if self._known is None:
                self._known = self._load()
            known = self._fresh.get(name) or self._known.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        now = time.time_ns()
        made, stat = hash_file(name)
        if Stamp.of(stat) == Stamp.of(os.stat(name)) and Stamp.of(stat).settled(now):
            with self._lock:
                self._fresh[name] = (Stamp.of(stat), made)
        return made

    def save(self) -> None:
        """Write what was learnt to the file, beside what others wrote meanwhile; entries of vanished files go."""
        with self._lock:
            if self.file is None or not self._fresh:
                return
            merged = self._load() | self._fresh
            self._known, self._fresh = merged, {}
        kept = {name: [s.size, s.mtime_ns, s.ctime_ns, s.inode, made] for name, (s, made) in merged.items()
                if os.path.exists(name) and _is_text(name)}  # fmt: skip
        temporary = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        try:
            temporary.write_bytes(encode(dict(list(kept.items())[-MAX_ENTRIES:])))
            os.replace(temporary, self.file)
        except OSError:
            temporary.unlink(missing_ok=True)

    def _load(self) -> dict[str, tuple[Stamp, str]]:
        """What the file holds; nothing if it is not there or not ours."""
        try:
            if self.file is None or self.file.stat().st_size > MAX_FILE:
                return {}
            raw = cast("dict[str, Any]", decode(self.file.read_bytes(), "the stat cache"))
            return {name: (Stamp(*map(int, entry[:4])), str(entry[4])) for name, entry in raw.items()}
        except (OSError, Damaged, TypeError, ValueError, IndexError, AttributeError, KeyError):
            return {}
