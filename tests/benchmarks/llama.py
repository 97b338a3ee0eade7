"""What building and running the real model costs: `doit bench`, or `python tests/benchmarks/llama.py`.

Works on a copy of specs, sources and targets in a temporary folder, with an empty store; the model file must be at hand
(`doit fetch`). Each figure is one wall-clock measurement by one process, printed with the command it is of.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROMPT = "504,3575,282,4649,314"
TOKENS = 16
DEPLOYMENT = "llama"


def main() -> int:
    """Measure, and print a line for each figure."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("deployments", "targets"):
            shutil.copytree(ROOT / name, root / name)
        shutil.copy(ROOT / "dodo.py", root)
        for what, value, unit, command in _figures(root):
            print(f"{what:<38} {value:>12.2f} {unit:<6} {command}", flush=True)
    return 0


def _figures(root: Path) -> Iterator[tuple[str, float, str, str]]:
    build = ["-m", "doit", f"deploy:{DEPLOYMENT}"]
    told = f"doit deploy:{DEPLOYMENT}"
    yield "cold build, model at hand", *_timed(root, build), told
    yield "nothing changed", *_timed(root, build), told
    source = root / "deployments/llama/decode.lg"
    text, count = re.subn(r"(Set x to added)\(x, fed", r"\1(added(x, x), fed", source.read_text())
    if count != 1:
        raise SystemExit(f"{source} has no such statement to edit")
    source.write_text(text)
    yield "one statement of decode changed", *_timed(root, build), told
    yield "peak memory of these", _peak_megabytes(), "MB", told

    published = root / "artifacts" / DEPLOYMENT
    yield "checker", *_timed(root, ["-m", "spatial", "check", str(published)]), f"spatial check artifacts/{DEPLOYMENT}"
    one = _generate(root, published, PROMPT, 1)
    many = _generate(root, published, PROMPT, 1 + TOKENS)
    told = f"spatial generate artifacts/{DEPLOYMENT} --ids … -n {1 + TOKENS}"
    yield "a simulated token", (many - one) / TOKENS, "s", told
    long = _generate(root, published, ",".join(["504"] * 64), 1)
    yield "a simulated chunk of 32 tokens", long - one, "s", "spatial generate … --ids (64 of them) -n 1"
    yield "peak memory of all", _peak_megabytes(), "MB", told
    sizes = _sizes(published)
    yield "bundle", sum(sizes.values()) / 1e6, "MB", f"the blobs of artifacts/{DEPLOYMENT}"
    programs = sum(size for title, size in sizes.items() if title.startswith("programs/"))
    yield "programs alone", programs / 1e6, "MB", "its layers programs/…"


def _timed(root: Path, arguments: list[str]) -> tuple[float, str]:
    """Seconds that one command takes; it must succeed."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPATIAL_")}
    environ["SPATIAL_MODELS"] = os.pathsep.join(str(p) for p in (ROOT / "artifacts/models").glob("*"))
    begun = time.perf_counter()
    run = subprocess.run([sys.executable, *arguments], cwd=root, env=environ, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(run.stdout + run.stderr)
    return time.perf_counter() - begun, "s"


def _generate(root: Path, published: Path, ids: str, count: int) -> float:
    command = ["-m", "spatial", "generate", str(published), "--ids", ids, "-n", str(count), "--no-stop", "--json"]
    return _timed(root, command)[0]


def _peak_megabytes() -> float:
    """The largest resident size of any process waited for so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000


def _sizes(published: Path) -> dict[str, int]:
    """Bytes of each layer by title."""
    index = json.loads((published / "index.json").read_bytes())
    digest = index["manifests"][0]["digest"].removeprefix("sha256:")
    manifest = json.loads((published / "blobs/sha256" / digest).read_bytes())
    named = {layer["annotations"]["org.opencontainers.image.title"]: layer["size"] for layer in manifest["layers"]}
    return named | {"config": manifest["config"]["size"]}


if __name__ == "__main__":
    sys.exit(main())
