"""The build lock: its holder is named, it goes with its process, waiting ends."""

import subprocess
import sys
import textwrap
import time

import pytest

from spatial.build.lock import BuildLock
from spatial.errors import EnvironmentFault

HOLD = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from spatial.build.lock import BuildLock
    with BuildLock(Path(sys.argv[1])):
        print("held", flush=True)
        time.sleep(float(sys.argv[2]))
    """)


@pytest.fixture
def holder(tmp_path):
    started = []

    def hold(seconds: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLD, str(tmp_path / "lock"), str(seconds)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_holder_is_named_and_patience_ends(tmp_path, holder):
    process = holder(60)
    with pytest.raises(EnvironmentFault, match=f"held by process {process.pid}"):
        BuildLock(tmp_path / "lock", patience_seconds=0).acquire()


def test_a_waiter_says_so_once_and_gets_its_turn(tmp_path, holder):
    process = holder(0.5)
    said: list[str] = []
    with BuildLock(tmp_path / "lock", say=said.append):
        assert process.wait(timeout=10) == 0
    assert len(said) == 1 and str(process.pid) in said[0]


def test_a_killed_holder_leaves_no_lock(tmp_path, holder):
    process = holder(60)
    process.kill()
    process.wait()
    begun = time.monotonic()
    with BuildLock(tmp_path / "lock", patience_seconds=5):
        assert time.monotonic() - begun < 3
    with BuildLock(tmp_path / "lock", patience_seconds=0):
        pass


def test_a_lock_that_cannot_be_opened(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot be opened"):
        BuildLock(tmp_path / "file" / "lock").acquire()
