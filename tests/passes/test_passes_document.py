"""What `docs/passes.md` says of each pass is what its docstring says, and the trace it shows is printed so."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from passes.promises import PHASES_AROUND

from spatial.passes import PASS_ORDER

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/passes.md").read_text(encoding="utf-8")


def test_the_table_has_every_pass_in_order_with_its_phases() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\w+) \|", DOCUMENT, re.MULTILINE)
    assert rows == [(name, *PHASES_AROUND[name]) for name, _ in PASS_ORDER]
    for name, run in PASS_ORDER:
        assert inspect.getmodule(run).__file__ == str(ROOT / f"spatial/passes/{name}.py")


def test_the_trace_is_printed_so(tmp_path: Path) -> None:
    source = re.search(r"`norms.lg`:\n\n```\n(.*?)```", DOCUMENT, re.DOTALL)
    session = re.search(r"```console\n\$ spatial (.*?)\n…\n(.*?)```", DOCUMENT, re.DOTALL)
    assert source and session
    (tmp_path / "norms.lg").write_text(source[1])
    shutil.copytree(ROOT / "targets", tmp_path / "targets")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPATIAL_")}
    run = subprocess.run(
        [sys.executable, "-m", "spatial", *session[1].split()],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    printed = run.stdout[run.stdout.index("section 0: ") :]
    # What the search prefers, and how deep buffers are, may be otherwise on another day; what passes do may not.
    assert re.fullmatch(re.sub(r"\d+", r"\\d+", re.escape(session[2])), printed), printed
