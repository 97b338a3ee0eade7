# doit has no types, so what comes from it is unknown to the type checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
"""What doit needs from us: a file checker, a database that mends itself, a reporter, an `uptodate` object, settings.

Place: between doit and `tasks`. doit keeps names, order, selection, keep-going and exit codes; its database is a hint
that may vanish at any time, for every action asks the store first. Each class answers faults of doit's own, named in
its docstring. Loaded on every command, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from doit.dependency import DatabaseException, FileChangedChecker, SqliteDB
from doit.exceptions import InvalidCommand, TaskFailed
from doit.globals import Globals
from doit.reporter import ConsoleReporter

from spatial.build.lock import BuildLock
from spatial.build.stat_cache import Stamp, StatCache
from spatial.build.store import Key, changes
from spatial.errors import Bug, EnvironmentFault, SpatialError

faults: list[int] = []
"""The exit codes of what went wrong in this process: the errors tasks failed with, and what kept doit from running."""

DATABASE = ".doit.db"
LOCK_WAIT_MS = 60_000


def _beside_database(name: str) -> Path | None:
    """The file `name` in the folder of the running command's database."""
    manager: Any = Globals.dep_manager
    return Path(manager.name).with_name(name) if manager is not None else None


def _environment(what: str) -> InvalidCommand:
    """A fault of the environment, as doit ends a command without a traceback."""
    faults.append(EnvironmentFault.exit_code)
    return InvalidCommand(what)


class ContentChecker(FileChangedChecker):  # type: ignore[misc]
    """Whether a file dependency changed: by size, both times and inode, and where those differ, by content.

    doit's own takes an equal modification time for an equal file, whatever its size, and records a file edited during
    an action as built; and it hashes a shared file once a task. Here the state also has the change time and the
    inode; digests are remembered by `StatCache`; and a file that moved since a task looked at it gets a state that
    equals nothing.
    """

    def __init__(self, cache: StatCache | None = None) -> None:
        self._cache = cache
        self._seen: dict[str, tuple[Stamp, str | None]] = {}
        self._moved: set[str] = set()

    @property
    def cache(self) -> StatCache:
        """Digests remembered across runs, in a file beside the database."""
        if self._cache is None:
            self._cache = StatCache(_beside_database(".stat-cache"))
        return self._cache

    def info(self, file_path: str) -> os.stat_result:
        """`stat`, remembered so that `get_state` can tell whether the file moved meanwhile. Raises OSError."""
        stat = os.stat(file_path)
        stamp = Stamp.of(stat)
        # A file written a moment ago may change again within the same tick of the clock, so its content counts too.
        made = None if stamp.settled(time.time_ns()) else self.cache.digest(file_path)
        before = self._seen.get(file_path)
        if before is not None and (before[0] != stamp or (None not in (before[1], made) and before[1] != made)):
            # Seen twice with a change between: some task of this run may have read the earlier content.
            self._moved.add(file_path)
        self._seen[file_path] = (stamp, made)
        return stat

    def check_modified(self, file_path: str, file_stat: os.stat_result, state: object) -> bool:
        """Whether the file differs from `state`, as `get_state` made it."""
        match state:
            case [int(size), int(mtime), int(ctime), int(inode), bool(settled), str(made)]:
                stamp = Stamp.of(file_stat)
                if stamp == Stamp(size, mtime, ctime, inode) and settled:
                    return False
                return stamp.size != size or self.cache.digest(file_path) != made
            case _:
                return True

    def get_state(self, dep: str, current_state: object) -> object:
        """The state to record after a task succeeded; None if `current_state` still says it."""
        now_ns = time.time_ns()
        stamp = Stamp.of(os.stat(dep))
        made = self.cache.digest(dep)
        seen, content = self._seen.get(dep, (stamp, None))
        if dep in self._moved or not seen == stamp == Stamp.of(os.stat(dep)) or content not in (None, made):
            self._moved.add(dep)
            return ["moved while a task ran"]
        state = [stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode, stamp.settled(now_ns), made]
        return None if state == current_state else state


class MendingDB(SqliteDB):  # type: ignore[misc]
    """doit's sqlite database, moved aside and begun anew when it is damaged.

    doit's own stops every command on a file cut short, is locked out by another process after five seconds, and
    loses the records of a whole run for one value that JSON cannot hold.
    """

    desc = "sqlite3, set aside when damaged"

    def _sqlite3(self, name: str) -> sqlite3.Connection:
        try:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            return self._opened(name)
        except (sqlite3.OperationalError, OSError) as error:
            raise _environment(f"the database {name} cannot be used: {error}; check permissions there") from error
        except (sqlite3.DatabaseError, DatabaseException, _Unsound) as error:
            if isinstance(error.__context__, sqlite3.OperationalError):
                raise _environment(f"the database {name} cannot be used: {error.__context__}") from error
        self._set_aside(name)
        return self._opened(name)

    def _opened(self, name: str) -> sqlite3.Connection:
        connection: sqlite3.Connection = super()._sqlite3(name)
        connection.execute(f"pragma busy_timeout = {LOCK_WAIT_MS}")
        columns = [row["name"] for row in connection.execute("pragma table_info(doit)")]
        whole = [list(row.values()) for row in connection.execute("pragma quick_check(1)")]
        if columns != ["task_id", "task_data"] or whole != [["ok"]]:
            connection.close()
            raise _Unsound
        return connection

    def _set_aside(self, name: str) -> None:
        aside = f"{name}.damaged"
        print(f"warning: the database {name} is damaged; moved to {aside}, a new one is begun", file=sys.stderr)
        os.replace(name, aside)
        for rest in (f"{name}-journal", f"{name}-wal", f"{name}-shm"):
            Path(rest).unlink(missing_ok=True)

    def _get_task_data(self, task_id: str) -> dict[str, Any]:
        try:
            found: object = super()._get_task_data(task_id)
        except (sqlite3.DatabaseError, ValueError):
            # A record that does not read is no record; the task asks the store.
            return {}
        return found if isinstance(found, dict) else {}

    def remove(self, task_id: str) -> None:
        """Forget a task that failed; on a full disk its old record stays, which its key and the store outweigh."""
        with suppress(sqlite3.OperationalError):
            super().remove(task_id)

    def dump(self) -> None:
        """Write what changed, and close; a record that JSON cannot hold is left out alone, all on a full disk."""
        rows: list[tuple[str, str]] = []
        unwritable: list[tuple[str]] = []
        for task_id in sorted(self._dirty):
            try:
                data = self.codec.encode(self._cache[task_id])
            except (TypeError, ValueError) as error:
                print(f"warning: no record is kept of task {task_id}: {error}", file=sys.stderr)
                unwritable.append((task_id,))
                continue
            rows.append((task_id, data))
        try:
            self._conn.executemany("delete from doit where task_id = ?", unwritable)
            self._conn.executemany("insert or replace into doit values (?, ?)", rows)
            self._conn.commit()
        except sqlite3.OperationalError as error:
            # The store has what was made; without records the next run asks it.
            print(f"warning: what this run did is not recorded: {error}", file=sys.stderr)
        self._conn.close()
        self._dirty = set()


class _Unsound(Exception):
    """The file is a database, but not a whole one of ours."""


class BuildReporter(ConsoleReporter):  # type: ignore[misc]
    """Plain lines: a task when it begins, a failure once, and one line at the end. Holds the build lock meanwhile.

    doit's own runs two builds at once, of which one loses its records, and prints a failure twice.
    """

    desc = "plain lines, one build at a time"

    def __init__(self, outstream: Any, options: Mapping[str, Any]) -> None:
        super().__init__(outstream, options)
        self.done = 0
        self.current = 0
        self._lock: BuildLock | None = None

    def initialize(self, tasks: Mapping[str, Any], selected_tasks: object) -> None:
        """Before the first task: have signals save the records, and take the lock."""
        stop_on_signals()
        path = _beside_database(".build.lock")
        if path is not None:
            self._lock = BuildLock(path)
            try:
                self._lock.acquire()
            except EnvironmentFault as fault:
                raise _environment(str(fault).removeprefix("error: ")) from fault

    def get_status(self, task: Any) -> None:
        """A task is looked at: note what its files are now, for doit skips that when it already knows it must run."""
        checker = getattr(Globals.dep_manager, "checker", None)
        if isinstance(checker, ContentChecker):
            for path in task.file_dep:
                with suppress(OSError):  # doit tells of a missing file itself
                    checker.info(path)

    def execute_task(self, task: Any) -> None:
        """A task begins."""
        if task.actions and not task.name.startswith("_"):
            self.done += 1
            self.write(f".  {task.title()}\n")
            self.outstream.flush()

    def skip_uptodate(self, task: Any) -> None:
        """A task is up to date; groups, which have no actions, are not counted."""
        if task.actions:
            self.current += 1

    def add_failure(self, task: Any, fail: Any) -> None:
        """A task failed: its own words, without a traceback where the fault is the user's."""
        if fail.report:
            self.failures.append({"task": task, "exception": fail})
            text = fail.message if isinstance(fail, TaskFailed) else fail.get_msg()
            self.write(f"{task.name} failed:\n{text.strip()}\n")

    def complete_run(self) -> None:
        """After the last task: what was done, in one line; the lock is given back."""
        failed = [failure["task"].name for failure in self.failures]
        for text in self.runtime_errors:
            self.write(f"{text}\n")
        told = [f"{max(0, self.done - len(failed))} done", f"{self.current} up to date"]
        if failed:
            told.append(f"{len(failed)} failed: {', '.join(failed)}")
        self.write(", ".join(told) + "\n")
        while _at_end:
            _at_end.pop()()
        checker = getattr(Globals.dep_manager, "checker", None)
        if isinstance(checker, ContentChecker):
            checker.cache.save()
        if self._lock is not None:
            self._lock.release()


class UpToDate:
    """The `uptodate` of one task: its key is the one its last success had, and what it made is there whole.

    `key` gives the task's key now, or None if what it depends on is not there yet; `whole` says whether the outputs
    are there and verified. doit prints the repr as the reason to run, so it names what changed.
    """

    def __init__(self, key: Callable[[], Key | None], whole: Callable[[], bool] = lambda: True) -> None:
        self._key, self._whole = key, whole
        self._now: Key | None = None
        self.reasons: tuple[str, ...] = ("not looked at yet",)

    def configure_task(self, task: Any) -> None:
        """doit calls this when it takes the object in: the key is saved with every success."""
        task.value_savers.append(self.saved)

    def saved(self) -> dict[str, Any]:
        """What is recorded: the digest and facts of the key the task was looked at with, not of a later one."""
        if self._now is None:
            self._now = self._key()
        return {"key": self._now.digest, "facts": self._now.facts()} if self._now else {}

    def __call__(self, task: Any, values: Mapping[str, Any]) -> bool:
        """Whether the task may be skipped, given the values of its last success."""
        self._now = self._key()
        before, facts = values.get("key"), values.get("facts")
        if self._now is None:
            self.reasons = ("what it depends on is not made yet",)
        elif not isinstance(before, str) or not isinstance(facts, dict):
            self.reasons = ("no record of a success",)
        elif before != self._now.digest:
            self.reasons = changes(facts, self._now.facts()) or ("an input changed",)
        elif not self._whole():
            self.reasons = ("what it made is gone or damaged",)
        else:
            self.reasons = ()
        return not self.reasons

    def __repr__(self) -> str:
        return "; ".join(self.reasons) or "nothing changed"


def action(work: Callable[..., Mapping[str, Any] | None], *args: Any, **kwargs: Any) -> Callable[[list[str]], Any]:
    """A doit action for `work`: a user's error becomes a failed task without a traceback; a bug of ours is raised.

    `work` returns the task's values, a small map that JSON can hold, or None. A target that is not there afterwards
    fails the task: doit would count it as made.
    """

    def run(targets: list[str]) -> Any:
        try:
            made = work(*args, **kwargs)
        except Bug:
            raise
        except SpatialError as error:
            return TaskFailed(str(error))
        missing = [target for target in targets if not os.path.exists(target)]
        if missing:
            return TaskFailed(f"error: the task ended without making {', '.join(missing)}")
        if made is None:
            return True
        json.dumps(made)  # a value that JSON cannot hold is a bug of ours: found here, at its task
        return dict(made)

    return run


_at_end: list[Callable[[], None]] = []


def at_end(close: Callable[[], None]) -> None:
    """Have `close` called when the run ends, however it ends: an executor's `close`, so that no process is left."""
    _at_end.append(close)


def stop_on_signals() -> None:
    """Have SIGTERM and an interrupt end the run as an exit: doit saves its records, the pool is closed, and nothing is
    told with a traceback. Main thread only."""

    def leave(number: int, frame: object) -> NoReturn:
        if number == signal.SIGINT:
            print("interrupted", file=sys.stderr)
        sys.exit(128 + number)

    try:
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, leave)
    except ValueError:
        return  # not the main thread: whoever runs us there has the signals


def doit_config(artifacts: Path, default_tasks: list[str]) -> dict[str, Any]:
    """`DOIT_CONFIG` for builds into `artifacts`. The backend is the entry point `doit.BACKEND` of this package."""
    return {
        "backend": "spatial",
        "dep_file": str(artifacts / DATABASE),
        "check_file_uptodate": ContentChecker,
        "reporter": BuildReporter,
        "verbosity": 0,
        "par_type": "thread",
        "default_tasks": default_tasks,
        "minversion": "0.37.0",
    }
