"""One build at a time in one folder: a lock whose holder is named.

Place: taken by the reporter around a run. The lock is the kernel's (`flock`), so it goes with its process however that
ends; the text in the file is only for messages.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from spatial.errors import EnvironmentFault

POLL_SECONDS = 0.1


def _say_on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class BuildLock:
    """An exclusive lock on the file at `path`; a context manager. Not for use by two threads."""

    def __init__(
        self, path: Path, *, patience_seconds: float | None = None, say: Callable[[str], None] | None = None
    ) -> None:
        self.path, self.patience_seconds = path, patience_seconds
        self.say = say or _say_on_stderr
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock, waiting for its holder (named in one line) as long as `patience_seconds`, None without end.

        Raises EnvironmentFault when patience ends or the file cannot be opened.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise EnvironmentFault(f"the lock {self.path} cannot be opened: {error.strerror}") from error
        begun, told = time.monotonic(), False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if self.patience_seconds is not None and time.monotonic() - begun >= self.patience_seconds:
                holder = self.holder()
                os.close(handle)
                raise EnvironmentFault(f"{self.path} is held by {holder}", "one build runs at a time", "wait for it")
            if not told:
                self.say(f"waiting for {self.holder()}, which is building here")
                told = True
            time.sleep(POLL_SECONDS)
        command = shlex.join(Path(arg).name if n == 0 else arg for n, arg in enumerate(sys.argv))
        with suppress(OSError):  # on a full disk the holder goes unnamed
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} ({command[:200]})\n".encode(), 0)
        self._handle = handle

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def holder(self) -> str:
        """What is known of the process that holds the lock."""
        try:
            with self.path.open("rb") as file:
                text = file.read(1000).decode("utf-8", "replace").strip()
        except OSError:
            text = ""
        return text or "another build"

    def __enter__(self) -> BuildLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
