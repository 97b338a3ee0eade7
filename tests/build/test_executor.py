"""Executors: results and errors come back whole; a dying worker fails its own call only; nothing is left running."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spatial.build.executor import Inline, Pool, make_executor
from spatial.errors import EnvironmentFault, Refused

sys.path.insert(0, str(Path(__file__).parent))  # spawned processes get this path too
from executor_work import die, double, no_result, odd, refuse, slow


@pytest.fixture(scope="module")
def pool():
    made = Pool(2)
    yield made
    made.close()


def test_inline():
    assert make_executor(1).run(double, 4) == 8
    assert isinstance(make_executor(0), Inline)


def test_results_and_errors_come_back_whole(pool):
    assert pool.run(double, 4) == 8
    with pytest.raises(Refused) as caught:
        pool.run(refuse, 3)
    assert [p.what for p in caught.value.problems] == ["no 3", "again"]


def test_a_result_that_cannot_be_sent_back_is_an_error_not_a_hang(pool):
    with pytest.raises(Exception, match="pickle"):
        pool.run(no_result)
    with pytest.raises(EnvironmentFault, match="could not be sent back"):
        pool.run(odd)
    assert pool.run(double, 1) == 2


def test_only_the_guilty_call_fails(pool):
    with ThreadPoolExecutor(5) as threads:
        good = [threads.submit(pool.run, double, n) for n in range(3)]
        bad = threads.submit(pool.run, die, 1)
        good += [threads.submit(pool.run, double, n) for n in range(3, 6)]
        assert [g.result(timeout=60) for g in good] == [0, 2, 4, 6, 8, 10]
        with pytest.raises(EnvironmentFault, match="the process that ran die died"):
            bad.result(timeout=60)
    assert pool.run(double, 7) == 14


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # A killed child of ours stays as a zombie until it is waited for.
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def wait_for(path: Path) -> int:
    for _ in range(400):
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.05)
    raise AssertionError(f"{path} never came")


def test_closing_ends_work_in_flight(tmp_path):
    pool = Pool(2)
    errors: list[BaseException] = []

    def call():
        try:
            pool.run(slow, 60, str(tmp_path / "pid"))
        except EnvironmentFault as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    pid = wait_for(tmp_path / "pid")
    pool.close()
    pool.close()
    thread.join(timeout=20)
    assert not thread.is_alive() and gone(pid)
    assert "being stopped" in str(errors[0])
    with pytest.raises(EnvironmentFault, match="being stopped"):
        pool.run(double, 1)


def test_an_interrupt_while_a_worker_starts_is_the_parents_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os, signal, sys, time
        from pathlib import Path
        from spatial.build.executor import Pool
        if __name__ == "__main__":
            signal.signal(signal.SIGINT, lambda *_: None)
            pool = Pool(1)
            print(pool.run(os.path.basename, "a/b"))
            pool.close()
        else:
            Path("starting").write_text("x")
            time.sleep(1)
        """)
    )
    process = subprocess.Popen([sys.executable, script.name], cwd=tmp_path, text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    for _ in range(400):
        if (tmp_path / "starting").exists():
            break
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("b\n", "")


def test_workers_go_when_their_parent_is_killed(tmp_path):
    (tmp_path / "job.py").write_text(
        textwrap.dedent("""
        import os, sys, time
        from pathlib import Path
        from spatial.build.executor import Pool

        def wait(note):
            Path(note).write_text(str(os.getpid()))
            time.sleep(60)

        if __name__ == "__main__":
            Pool(1).run(wait, sys.argv[1])
        """)
    )
    parent = subprocess.Popen([sys.executable, str(tmp_path / "job.py"), str(tmp_path / "pid")])
    pid = wait_for(tmp_path / "pid")
    parent.kill()
    parent.wait()
    assert gone(pid)
