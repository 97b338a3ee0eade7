"""What `test_executor` has spawned processes run; a module they can import by itself."""

import os
import signal
import time
from pathlib import Path

from spatial.errors import Problem, Refused


def double(n: int) -> int:
    return 2 * n


def refuse(n: int) -> int:
    raise Refused([Problem(f"no {n}"), Problem("again")])


def die(n: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return n


def slow(seconds: float, note: str) -> int:
    Path(note).write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()


def no_result() -> object:
    return lambda: None


class Odd(Exception):
    """An error that cannot be unpickled: it is rebuilt with one argument too few."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a)


def odd() -> None:
    raise Odd(1, 2)
