"""doit with our parts: each trap that made them necessary, run through doit itself."""

import io
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from doit.cmd_base import ModuleTaskLoader
from doit.doit_cmd import DoitMain

from spatial.build import doit_support
from spatial.build.doit_support import DATABASE, ContentChecker, UpToDate, action, doit_config
from spatial.build.store import key_of
from spatial.errors import Bug, EnvironmentFault, Refused


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Run doit in this process on tasks given as dicts; gives (exit code, all output)."""
    monkeypatch.setattr("spatial.build.doit_support.stop_on_signals", lambda: None)
    (tmp_path / "out").mkdir()

    def run(*tasks: dict, argv: tuple[str, ...] = ()) -> tuple[int, str]:
        said = io.StringIO()

        def task_all():
            for task in tasks:
                more = {k: v for k, v in task.items() if k != "name"}
                yield {"basename": task["name"], "io": {"capture": False}} | more

        names = {"DOIT_CONFIG": doit_config(tmp_path / "out", [t["name"] for t in tasks]), "task_all": task_all}
        with redirect_stdout(said), redirect_stderr(said):
            # doit binds standard output when it is imported; a run writes to a file instead.
            argv = argv or ("-o", str(tmp_path / "said"))
            code = DoitMain(ModuleTaskLoader(names), config_filenames=()).run(list(argv))
        written = (tmp_path / "said").read_text() if argv[0] == "-o" and (tmp_path / "said").exists() else ""
        return code, said.getvalue() + written

    return run


def copying(source: Path, target: Path, runs: list[str], **more) -> dict:
    def work() -> None:
        runs.append(target.name)
        target.write_bytes(source.read_bytes())

    return {"name": target.name, "actions": [action(work)], "file_dep": [str(source)], "targets": [str(target)]} | more


def test_nothing_runs_twice_and_content_decides(build, tmp_path):
    source, runs = tmp_path / "in", []
    source.write_bytes(b"one")
    task = copying(source, tmp_path / "t", runs)
    assert build(task) == (0, ".  t\n1 done, 0 up to date\n")
    assert build(task) == (0, "0 done, 1 up to date\n")
    os.utime(source, (1, 1))
    assert build(task)[0] == 0 and runs == ["t"], "touched"
    source.write_bytes(b"two")
    os.utime(source, (1, 1))
    assert build(task)[0] == 0 and runs == ["t", "t"], "same times and size, other bytes"


def test_an_input_edited_during_its_action_is_not_recorded_as_built(build, tmp_path):
    source, target, runs = tmp_path / "in", tmp_path / "t", []
    source.write_bytes(b"one")

    def work() -> None:
        runs.append("t")
        target.write_bytes(source.read_bytes())
        if len(runs) == 1:
            source.write_bytes(b"two")

    task = {"name": "t", "actions": [action(work)], "file_dep": [str(source)], "targets": [str(target)]}
    build(task)
    assert target.read_bytes() == b"one"
    build(task)
    assert target.read_bytes() == b"two"
    build(task)
    assert runs == ["t", "t"]


def test_an_input_edited_between_two_tasks_that_read_it(build, tmp_path):
    source, runs = tmp_path / "in", []
    source.write_bytes(b"one")
    first, second = tmp_path / "a", tmp_path / "b"

    def write() -> None:
        source.write_bytes(b"two")

    same = source.read_bytes() == b"two"
    edit = {"name": "edit", "actions": [action(write)], "uptodate": [same], "task_dep": ["a"]}
    tasks = (copying(source, first, runs), edit, copying(source, second, runs, task_dep=["edit"]))
    build(*tasks)
    build(*tasks)
    assert first.read_bytes() == second.read_bytes() == b"two"


def test_a_shared_file_is_hashed_once(tmp_path, monkeypatch):
    source = tmp_path / "in"
    source.write_bytes(b"x")
    os.utime(source, (1, 1))
    time.sleep(0.15)  # until its change time has settled
    hashed: list[str] = []
    from spatial.build import stat_cache

    real = stat_cache.hash_file
    monkeypatch.setattr(stat_cache, "hash_file", lambda path: (hashed.append(str(path)), real(path))[1])
    checker = ContentChecker(stat_cache.StatCache(tmp_path / "cache"))
    state = checker.get_state(str(source), None)
    for _ in range(10):
        assert checker.get_state(str(source), state) is None
        assert not checker.check_modified(str(source), checker.info(str(source)), state)
    assert len(hashed) == 1
    os.utime(source, (2, 2))
    time.sleep(0.15)
    checker.cache.save()
    for _ in range(3):  # builds after a touch
        later = ContentChecker(stat_cache.StatCache(tmp_path / "cache"))
        assert not later.check_modified(str(source), os.stat(source), state)
        later.cache.save()
    assert len(hashed) == 2


@pytest.mark.parametrize("state", [None, [], ["moved while a task ran"], [1, 2], {"size": 1}, 7])
def test_states_of_another_form_mean_modified(tmp_path, state):
    (tmp_path / "f").write_text("x")
    assert ContentChecker().check_modified(str(tmp_path / "f"), os.stat(tmp_path / "f"), state)


@pytest.mark.parametrize("damage", ["truncate", "garbage", "empty", "other table", "scrambled"])
def test_a_damaged_database_is_set_aside(build, tmp_path, damage):
    source, runs = tmp_path / "in", []
    source.write_bytes(b"one")
    task = copying(source, tmp_path / "t", runs)
    build(task)
    database = tmp_path / "out" / DATABASE
    match damage:
        case "truncate":
            os.truncate(database, database.stat().st_size // 2)
        case "garbage":
            database.write_bytes(b"a dbm of another Python" * 100)
        case "empty":
            database.write_bytes(b"")
        case "other table":
            database.unlink()
            with sqlite3.connect(database) as connection:
                connection.execute("create table doit (x)")
            connection.close()
        case _:
            data = bytearray(database.read_bytes())
            data[4096:4400] = os.urandom(304)
            database.write_bytes(data)
    code, said = build(task)
    assert code == 0 and runs == ["t", "t"]
    assert said.count("damaged; moved") == (0 if damage == "empty" else 1)
    assert build(task) == (0, "0 done, 1 up to date\n")


def test_a_database_that_cannot_be_written_is_told_plainly(build, tmp_path):
    (tmp_path / "out" / DATABASE).mkdir()
    doit_support.faults.clear()
    code, said = build({"name": "t", "actions": [action(lambda: None)]})
    assert code == 3 and "cannot be used" in said and "Traceback" not in said
    assert doit_support.faults == [EnvironmentFault.exit_code]


def test_a_full_disk_costs_the_records_and_no_more(build, tmp_path, monkeypatch):
    def full(*args: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    class Full(sqlite3.Connection):
        executemany = commit = full  # type: ignore[assignment]

    runs: list[str] = []
    source = tmp_path / "in"
    source.write_bytes(b"one")
    task = copying(source, tmp_path / "t", runs)
    opened = sqlite3.connect
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", lambda *a, **k: opened(*a, **k | {"factory": Full}))
        code, said = build(task)
    assert code == 0 and "not recorded: database or disk is full" in said and "Traceback" not in said
    assert build(task) == (0, ".  t\n1 done, 0 up to date\n")


def test_a_lock_that_cannot_be_taken_is_the_environments_fault(build, tmp_path):
    (tmp_path / "out" / ".build.lock").mkdir()
    doit_support.faults.clear()
    code, said = build({"name": "t", "actions": [action(lambda: None)]})
    assert code == 3 and "cannot be opened" in said and "Traceback" not in said and "error: error" not in said
    assert doit_support.faults == [EnvironmentFault.exit_code]


def test_one_value_json_cannot_hold_fails_its_own_task(build, tmp_path):
    source, runs = tmp_path / "in", []
    source.write_bytes(b"one")
    good = copying(source, tmp_path / "t", runs)
    bad = {"name": "bad", "actions": [action(lambda: {"x": {1}})], "task_dep": ["t"]}
    code, said = build(good, bad)
    assert code == 2 and "bad" in said and "not JSON serializable" in said
    saver = {"name": "saver", "actions": [action(lambda: None)], "uptodate": [Unsavable()], "task_dep": ["t"]}
    code, said = build(good, saver)
    assert "no record is kept of task saver" in said
    build(good)
    assert runs == ["t"], "the other records were kept"


class Unsavable:
    """An `uptodate` that saves what JSON cannot hold."""

    def configure_task(self, task) -> None:
        task.value_savers.append(lambda: {"x": {1}})

    def __call__(self) -> bool:
        return False


def test_whose_fault_a_failure_is(build, tmp_path):
    def refuse() -> None:
        raise Refused("too big", "it has 3", "use 2")

    def break_down() -> None:
        raise Bug("an invariant")

    code, said = build({"name": "t", "actions": [action(refuse)]})
    assert code == 1 and "t failed:\nerror: too big; it has 3; use 2\n" in said and "Traceback" not in said
    code, said = build({"name": "t", "actions": [action(break_down)]})
    assert code == 2 and "Traceback" in said
    code, said = build({"name": "t", "actions": [action(lambda: None)], "targets": [str(tmp_path / "never")]})
    assert code == 1 and "without making" in said


def test_the_reason_to_run_names_what_changed(build):
    parts = {"source": "a", "sizes": {"rows": 2}}
    whole = [True]

    def task() -> dict:
        fresh = UpToDate(lambda: key_of("lift", **parts), lambda: whole[0])
        return {"name": "t", "actions": [action(lambda: None)], "uptodate": [fresh]}

    assert "no record of a success" in build(task(), argv=("info", "t"))[1]
    assert build(task())[1] == ".  t\n1 done, 0 up to date\n"
    assert build(task())[1] == "0 done, 1 up to date\n"
    parts["sizes"] = {"rows": 4}
    assert "sizes.rows: 2 -> 4" in build(task(), argv=("info", "t"))[1]
    assert build(task())[1] == ".  t\n1 done, 0 up to date\n"
    whole[0] = False
    assert "gone or damaged" in build(task(), argv=("info", "t"))[1]


def test_the_key_recorded_is_the_one_the_task_began_with(build):
    parts = {"source": "a"}
    fresh = UpToDate(lambda: key_of("lift", **parts))
    build({"name": "t", "actions": [action(lambda: parts.update(source="b"))], "uptodate": [fresh]})
    assert "source: a -> b" in build(
        {"name": "t", "actions": [], "uptodate": [UpToDate(lambda: key_of("lift", **parts))]}, argv=("info", "t")
    )[1]  # fmt: skip


def test_a_key_that_cannot_be_made_yet_means_run(build):
    task = {"name": "t", "actions": [action(lambda: None)], "uptodate": [UpToDate(lambda: None)]}
    assert build(task)[1] == ".  t\n1 done, 0 up to date\n"
    assert "not made yet" in build(task, argv=("info", "t"))[1]


DODO = textwrap.dedent("""
    import os, sys, time
    from pathlib import Path
    from doit.tools import run_once
    from spatial.build.doit_support import action, at_end, doit_config
    from spatial.build.executor import Pool

    DOIT_CONFIG = doit_config(Path("out"), ["first", "second"])
    pool = None

    def note(name, seconds, result):
        Path(f"{name}.pid").write_text(str(os.getpid()))
        time.sleep(seconds)
        with open(f"{name}.runs", "a") as file:
            file.write("x")
        if result == "die":
            os.kill(os.getpid(), 9)

    def work(name, seconds, result=""):
        global pool
        if pool is None:
            pool = Pool(2)
            at_end(pool.close)
        from dodo import note
        pool.run(note, name, seconds, result)

    def task_first():
        return {"actions": [action(work, "first", 0)], "uptodate": [run_once], "io": {"capture": False}}

    def task_second():
        seconds, result = float(os.environ.get("SECONDS_", "0")), os.environ.get("RESULT_", "")
        return {"actions": [action(work, "second", seconds, result)], "uptodate": [run_once], "task_dep": ["first"],
                "io": {"capture": False}}
    """)


@pytest.fixture
def doit(tmp_path):
    (tmp_path / "dodo.py").write_text(DODO)

    def start(*argv: str, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "doit", *argv], cwd=tmp_path, env=os.environ | {"PYTHONPATH": "."} | environ,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    return start


def wait_for(path: Path) -> str:
    for _ in range(400):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} never came")


@pytest.mark.parametrize(
    ("sent", "argv"), [(signal.SIGTERM, ()), (signal.SIGTERM, ("-n", "2")), (signal.SIGINT, ("-n", "2"))]
)
def test_a_signal_keeps_records_and_leaves_no_process(doit, tmp_path, sent, argv):
    process = doit(*argv, SECONDS_="60")
    worker = int(wait_for(tmp_path / "second.pid"))
    process.send_signal(sent)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + sent and "Traceback" not in said, said
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            break
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()
    said, _ = doit().communicate(timeout=60)
    assert ((tmp_path / "first.runs").read_text(), (tmp_path / "second.runs").read_text()) == ("x", "x"), said


def test_a_killed_worker_ends_with_a_message(doit):
    process = doit("-n", "2", RESULT_="die")
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "the process that ran note died" in said


def test_two_builds_at_once_both_end_well(doit, tmp_path):
    one = doit(SECONDS_="1")
    wait_for(tmp_path / "second.pid")
    two = doit(SECONDS_="1")
    first, _ = one.communicate(timeout=60)
    second, _ = two.communicate(timeout=60)
    assert (one.returncode, two.returncode) == (0, 0)
    assert f"waiting for process {one.pid}" in second
    assert "0 done, 2 up to date" in second and "2 done" in first
