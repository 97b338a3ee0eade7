"""Where work runs: in this process, or in a pool of spawned ones.

Place: tasks hand their work to an `Executor` made before any thread. Work is a function of the package with arguments
that can be pickled (digests, paths, small values); it knows nothing of tasks.

A worker that dies breaks a pool for every call in flight. Those calls are then made again, one at a time, each in a
process of its own, so that only the call that kills its worker fails. A worker lives no longer than its pool: it holds
one end of a pipe, and leaves as soon as the other end is closed, be it by `close` or by the death of the parent.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, Protocol, TypeVar

from spatial.errors import EnvironmentFault

P = ParamSpec("P")
T = TypeVar("T")


class Executor(Protocol):
    """Runs functions; safe to call from several threads at once."""

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work(*args)` returns or raises. Raises EnvironmentFault if its process dies."""
        ...

    def close(self) -> None:
        """End every process; calls in flight fail. May be called twice."""
        ...


class Inline:
    """Runs work in the calling thread."""

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work(*args)` returns or raises."""
        return work(*args, **kwargs)

    def close(self) -> None:
        """Nothing to end."""


class Pool:
    """Runs work in `workers` spawned processes, started as they are needed."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._lock = threading.Lock()
        self._alone = threading.Lock()
        self._closed = False
        self._shared = _Processes(workers)

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work(*args)` returns or raises; EnvironmentFault if it kills its process, or the pool is closed."""
        with self._lock:
            shared = self._shared
        try:
            return shared.submit(work, args, kwargs).result()
        except BrokenProcessPool:
            pass
        with self._lock:
            if self._closed:
                raise EnvironmentFault("the build is being stopped")
            if self._shared is shared:  # the first of the calls in flight makes the new pool
                shared.close()
                self._shared = _Processes(self.workers)
        return self._run_alone(work, args, kwargs)

    def _run_alone(self, work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        with self._alone:
            alone = _Processes(1)
            try:
                return alone.submit(work, args, kwargs).result()
            except BrokenProcessPool:
                name = getattr(work, "__qualname__", "work")
                raise EnvironmentFault(
                    f"the process that ran {name} died",
                    "it was killed, often for want of memory, or what it returned could not be sent back",
                    "run with fewer at once (-n), or free memory",
                ) from None
            finally:
                alone.close()

    def close(self) -> None:
        """End every worker at once; calls in flight fail with EnvironmentFault."""
        with self._lock:
            self._closed = True
            self._shared.close()


class _Processes:
    """One pool of spawned processes and the pipe that ties their lives to ours."""

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # else the first spawn starts it, and lifts the mask `submit` sets
        theirs, self._ours = context.Pipe(duplex=False)
        self._theirs = theirs
        self._pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(theirs,))
        self._lock = threading.Lock()  # submitting may start a process, which needs the pipe open
        self._closed = False

    def submit(self, work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[T]:
        with self._lock:
            if self._closed:
                raise BrokenProcessPool("closed between being handed out and being used")
            # A process inherits the mask: an interrupt before `_begin` would end it with a traceback.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                return self._pool.submit(work, *args, **kwargs)
            except OSError as error:
                raise EnvironmentFault(f"a worker process cannot be started: {error.strerror}") from error
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._ours.close()
                self._theirs.close()
                # Workers go by themselves now; to leave before the pool's own thread has seen it makes noise at exit.
                self._pool.shutdown(wait=True)


def _begin(lifeline: Connection) -> None:
    """What a worker does first: leave interrupts to the parent, and watch for the end of the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()


def _watch(lifeline: Connection) -> None:
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)


def make_executor(workers: int) -> Executor:
    """Inline for one worker or none, else a pool. To be called before any thread is started."""
    return Pool(workers) if workers > 1 else Inline()
