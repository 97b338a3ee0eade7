"""The session that the README shows happens so; figures of the compiler's work may be others, chosen tokens may not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def session() -> list[tuple[str, list[str]]]:
    """The commands of the session, each with the lines it prints."""
    found = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert found
    parts = re.split(r"^\$ ", found[1], flags=re.MULTILINE)[1:]
    return [(part.splitlines()[0], part.splitlines()[1:]) for part in parts]


def pattern(command: str, lines: list[str]) -> str:
    """What the output of `command` must match: `…` stands for lines left out, a number for some number."""
    text = "\n".join(lines)
    made = re.escape(text).replace("…\\\n", r"(?:.*\n)*?")
    return made if "generate" in command else re.sub(r"\d+", r"\\d+", made)


def test_the_session_happens(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deployments", tmp_path / "deployments")
    shutil.copytree(ROOT / "targets", tmp_path / "targets")
    shutil.copy(ROOT / "dodo.py", tmp_path)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPATIAL_")}
    commands = session()
    assert {command.split()[0] for command, _ in commands} == {"doit", "spatial"}
    for command, lines in commands:
        tool, *arguments = command.split()
        run = subprocess.run(
            [sys.executable, "-m", tool, *arguments],
            cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr
        assert re.fullmatch(pattern(command, lines), run.stdout.rstrip("\n")), f"{command} printed\n{run.stdout}"


def test_every_page_of_documentation_is_listed() -> None:
    listed = re.findall(r"`(docs/\w+\.md)`", README[README.index("## Documentation") :])
    assert set(listed) == {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}


def test_paths_that_pages_name_are_there() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for name in re.findall(r"`((?:spatial|tests|docs|targets|deployments)/[\w./-]*)`", text):
            if not re.search("[A-Z]{2}|mine", name):  # NAME and its like stand for names of the reader's own
                assert (ROOT / name).exists() or (ROOT / f"{name}.py").exists(), f"{page.name} names {name}"
