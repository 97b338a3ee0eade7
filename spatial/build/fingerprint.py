"""Which compiler a task would run: the digest, by content, of the floors of the package it may import.

Place: under the tasks; a digest from here is one part of every key. A floor is a package or a module of `spatial`,
named from there ("ir", "build/weights"). Keys use the floors of `FLOORS`, so a change of the command line or of reports
redoes nothing, and a change of the checker redoes certificates only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from spatial.build.canonical import digest, encode
from spatial.build.stat_cache import StatCache
from spatial.errors import Bug

GROUND = ("errors", "numerics", "target")
_STEP = ("build/steps/given", "build/canonical")
_TARGET = ("build/targets", "build/target_fields", "build/target_agreements")
_YAML = ("build/yaml_nodes", "build/schema")
_FILES = ("build/weight_files", "build/gguf_file", "build/array_files")
_SPEC = ("build/deployment", "build/expressions")
_SOURCES = (*GROUND, "ir", "logos", "lift", "graph", "build/steps/sources", *_STEP)
_AGREE = (*GROUND, "ir", "graph", "select", "build/steps/agree", *_STEP)
_PACK = (*GROUND, "ir", *_SPEC, *_FILES, "build/fills", "build/weights", "build/pack", *_STEP)

FLOORS: dict[str, tuple[str, ...]] = {
    "chip": (*GROUND, "ir", *_TARGET, *_YAML, "build/steps/chip", *_STEP),
    "names": (*_SOURCES, "build/steps/names"),
    "lift": (*_SOURCES, "build/steps/missing", "build/steps/lift"),
    "agree": _AGREE,
    "lower": (*_AGREE, "plan", "passes", "lowering", "build/steps/missing", "build/steps/lower"),
    "page": (*_PACK, "lift/algebra/fills", "lift/algebra/exact", "build/steps/page"),
    "index": ("errors", *_FILES, "build/steps/index", *_STEP),
    "pack": (*_PACK, "build/steps/pack"),
    "link": (*GROUND, "ir", "build/link", "build/image", "build/steps/link", *_STEP),
    "certify": (*GROUND, "ir", "check", "build/image", "build/steps/certify", *_STEP),
}  # fmt: skip
"""The floors each kind of task may import, and so is redone for. A floor that is not there yet counts as empty."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "chip": ("msgpack", "pyyaml"),
    "names": ("msgpack",),
    "lift": ("mpmath", "msgpack", "numpy"),
    "agree": ("msgpack", "numpy"),
    "lower": ("ml_dtypes", "msgpack", "numpy"),
    "page": ("ml_dtypes", "mpmath", "msgpack", "numpy"),
    "index": ("msgpack",),
    "pack": ("gguf", "ml_dtypes", "msgpack", "numpy"),
    "link": ("msgpack",),
    "certify": ("ml_dtypes", "msgpack", "numpy"),
}
"""The libraries whose version could change what each kind of task makes."""

_CACHE = StatCache()
_PACKAGE = Path(__file__).resolve().parent.parent


def compiler_digest(kind: str) -> str:
    """The digest of the floors and library versions tasks of `kind` depend on, looked up now."""
    if kind not in FLOORS:
        raise Bug(f"no floors are listed for tasks of kind {kind!r}")
    return digest(encode([floors_digest(FLOORS[kind]), library_versions(LIBRARIES[kind])]))


@lru_cache(maxsize=64)
def known_compiler(kind: str) -> str:
    """`compiler_digest` as this process first found it, for keys; whoever records what was made asks again."""
    return compiler_digest(kind)


def floors_digest(floors: Iterable[str], package: Path = _PACKAGE) -> str:
    """One digest of every `.py` file of `floors` under `package`: sorted names, each with the digest of its content."""
    files: dict[str, str] = {}
    for floor in floors:
        for path in _python_files(package / floor):
            files[path.relative_to(package).as_posix()] = _CACHE.digest(path)
    return digest(encode(files))


def _python_files(floor: Path) -> list[Path]:
    module = floor.with_name(floor.name + ".py")
    if module.is_file():
        return [module]
    found: list[Path] = []
    for folder, folders, names in os.walk(floor):
        folders.sort()
        found += [Path(folder, name) for name in sorted(names) if name.endswith(".py")]
    return found


@lru_cache(maxsize=64)
def library_versions(names: tuple[str, ...]) -> dict[str, str]:
    """The installed version of each distribution, "absent" for one that is not installed."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found
