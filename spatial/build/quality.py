"""The tasks of people who work on this repository: tests, benchmarks, golden figures.

Place: beside `tasks`; a user's own repository does without. Each runs tools of the environment that doit runs in, with
their output on standard output as it comes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doit.exceptions import TaskFailed  # pyright: ignore[reportMissingTypeStubs]

GOLDEN = Path("tests/data/smollm2/golden.json")
GOLDEN_DEPLOYMENT = "llama-reference"
SOURCE_TEST = "tests/golden/test_source.py"
SPEC = Path(f"deployments/{GOLDEN_DEPLOYMENT}.yaml")


def task_test() -> dict[str, Any]:
    """Ruff, pyright and the tests."""
    return _tools(["-m", "ruff", "check", "."], ["-m", "pyright"], ["-m", "pytest", "-n", "auto", "tests"])


def task_test_nightly() -> dict[str, Any]:
    """The long suites: what a hundred thousand drawn programs lift to, and the like. Some two hours on two cores."""
    return _tools(["-m", "pytest", "-n", "auto", "-m", "nightly", "tests"])


def task_bench() -> dict[str, Any]:
    """What lifting long programs, building and simulating the real model, and searching plans cost; prices against
    times: measured and printed."""
    names = ("lifting_cost", "llama", "priced_and_timed", "plan_search", "sweep_cost")
    return _tools(*(["tests/benchmarks/" + name + ".py"] for name in names))


def task_sweep() -> dict[str, Any]:
    """Plans of the published sweep, chosen anew and written to docs/sweep: some minutes on two cores."""
    return _tools(["tests/plan/sweep/publish.py"])


def task_golden() -> Iterator[dict[str, Any]]:
    """The real model as built, held to golden figures: a task a prompt, `source`, and `model` for the rest."""
    yield {"basename": "golden", "name": None, "doc": (task_golden.__doc__ or "").strip()}
    for prompt in json.loads(GOLDEN.read_bytes())["prompts"] if GOLDEN.is_file() and SPEC.is_file() else ():
        name = prompt["name"]
        task = _tools(["-m", "pytest", "-m", "model", "-rA", f"tests/golden/test_golden.py::test_tokens[{name}]"])
        yield {**task, "basename": "golden", "name": name, "task_dep": [f"deploy:{GOLDEN_DEPLOYMENT}"]}
    if SPEC.is_file():
        # The sources at full size beside the artifact: what was built computes what the sources say.
        task = _tools(["-m", "pytest", "-m", "model", "-rA", SOURCE_TEST])
        yield {**task, "basename": "golden", "name": "source", "task_dep": [f"deploy:{GOLDEN_DEPLOYMENT}"]}
        # Everything else the real model is held to: the other chip, the stream and cache, stages broken one by one.
        rest = ["-k", "not test_tokens", f"--ignore={SOURCE_TEST}"]
        task = _tools(["-m", "pytest", "-m", "model", "-rA", *rest, "tests"])
        needs = [f"deploy:{GOLDEN_DEPLOYMENT}", "deploy:llama"]
        yield {**task, "basename": "golden", "name": "model", "task_dep": needs}


def _tools(*commands: list[str]) -> dict[str, Any]:
    """A task that runs each of `commands` with this Python, always."""
    return {"actions": [(_run, [list(commands)])], "verbosity": 2, "io": {"capture": False}, "uptodate": [False]}


def _run(commands: list[list[str]]) -> TaskFailed | None:
    """Run every command, whatever became of those before."""
    failed = [
        " ".join(command) for command in commands if subprocess.run([sys.executable, *command], check=False).returncode
    ]
    return TaskFailed(f"failed: {'; '.join(failed)}") if failed else None
