"""The tasks of a repository: what doit may be asked for, and what each needs first.

Place: the top of `build`; `dodo.py` imports the creators. Wiring only: what a task depends on is `pipeline`'s to say,
the work is that of `steps`. Creators run on every command, so nothing heavy is imported here. Every action asks the
store first; doit's database only saves asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from spatial.build import doit_support
from spatial.build.actions import Action
from spatial.build.deploying import Publication
from spatial.build.deployment import Deployment, FileSource
from spatial.build.doit_support import UpToDate, at_end, doit_config, faults
from spatial.build.models import fetch, find, task_name
from spatial.build.pipeline import NotMade, Pipeline
from spatial.build.spec import load_deployments
from spatial.build.store import Key, key_of
from spatial.build.workshop import Folders, Workshop
from spatial.errors import SpatialError, SpecError

__all__ = [
    "config",
    "task_agree",
    "task_certify",
    "task_deploy",
    "task_fetch",
    "task_index",
    "task_lift",
    "task_link",
    "task_lower",
    "task_pack",
]
"""What a `dodo.py` imports; a repository of one's own needs nothing else."""

Task = dict[str, Any]
T = TypeVar("T")

DEFAULT = "llama"
"""The deployment that is built where none is named."""


class World:
    """The deployments of a repository, and the workshop that builds them."""

    def __init__(self, folders: Folders) -> None:
        self.shop = Workshop(folders)
        self.specs = load_deployments(folders.deployments, folders.targets)

    @property
    def deployments(self) -> Iterator[Deployment]:
        """The deployments whose spec is sound."""
        return (spec for spec in self.specs.values() if isinstance(spec, Deployment))


@lru_cache(maxsize=1)
def world() -> World:
    """The repository in the current folder, or where the environment says."""
    made = World(Folders.of(Path()))
    at_end(made.shop.close)
    return made


def config() -> dict[str, Any]:
    """What `DOIT_CONFIG` is to be."""
    here = world()
    default = [f"deploy:{DEFAULT}"] if DEFAULT in here.specs else ["deploy"]
    return doit_config(here.shop.folders.artifacts, default)


# ---------------------------------------------------------------- tasks of each kind


def task_fetch() -> Iterator[Task]:
    """Model files, found or downloaded, their digests checked."""
    yield _group("fetch", task_fetch)
    for name, source in _packaged().items():
        yield _task("fetch", name, lambda source=source: _fetch(source), _fetched(source), [])


def task_index() -> Iterator[Task]:
    """The tensors of each weight source."""
    yield _group("index", task_index)
    seen: set[str] = set()
    for d in world().deployments:
        name = _source_name(d)
        if name and name not in seen:
            seen.add(name)
            yield _step("index", name, d, lambda p: p.index(), _fetch_tasks(d))


def task_lift() -> Iterator[Task]:
    """Programs as tensor graphs."""
    yield _group("lift", task_lift)
    for d in world().deployments:
        yield _group_of("lift", d, d.programs)
        for program in d.programs:
            yield _step("lift", f"{d.name}:{program}", d, lambda p, program=program: p.lift(program), [])


def task_agree() -> Iterator[Task]:
    """How each deployment's tables and weights are laid out, for all its programs."""
    yield _group("agree", task_agree)
    for d in world().deployments:
        yield _step("agree", d.name, d, lambda p: p.agree(), [f"lift:{d.name}"])


def task_lower() -> Iterator[Task]:
    """Programs, lowered to sections on the chip's sites."""
    yield _group("lower", task_lower)
    for d in world().deployments:
        yield _group_of("lower", d, d.programs)
        for program in d.programs:
            needs = [f"agree:{d.name}", f"lift:{d.name}:{program}"]
            yield _steps("lower", f"{d.name}:{program}", d, _actions(program), needs)


def task_pack() -> Iterator[Task]:
    """Weights as raw pages in their agreed layout."""
    yield _group("pack", task_pack)
    for d in world().deployments:
        needs = [f"agree:{d.name}", *([f"index:{_source_name(d)}"] if _source_name(d) else [])]
        yield _group_of("pack", d, d.weights.names)
        for weight in d.weights.names:
            yield _step("pack", f"{d.name}:{weight}", d, lambda p, weight=weight: p.pack(weight), needs)


def task_link() -> Iterator[Task]:
    """Bundles: the memory map and the entry points of all programs of a deployment."""
    yield _group("link", task_link)
    for d in world().deployments:
        yield _step("link", d.name, d, lambda p: p.link(), [f"lower:{d.name}", f"pack:{d.name}"])


def task_certify() -> Iterator[Task]:
    """Certificates, derived by the checker."""
    yield _group("certify", task_certify)
    for d in world().deployments:
        yield _step("certify", d.name, d, lambda p: p.certify(), [f"link:{d.name}"])


def task_deploy() -> Iterator[Task]:
    """Deployments, published whole under artifacts."""
    yield _group("deploy", task_deploy)
    for name, spec in world().specs.items():
        if isinstance(spec, SpecError):
            yield _task("deploy", name, lambda spec=spec: _fail(spec), None, [])
        else:
            yield _task("deploy", name, lambda d=spec: _publish(d), _published(spec), [f"certify:{name}"])


# ---------------------------------------------------------------- what they are made of


def _group(basename: str, creator: Callable[[], object]) -> Task:
    return {"basename": basename, "name": None, "doc": (creator.__doc__ or "").strip()}


def _group_of(basename: str, d: Deployment, members: Mapping[str, object]) -> Task:
    return {
        "basename": basename,
        "name": d.name,
        "doc": f"all of {d.name}",
        "actions": None,
        "task_dep": [f"{basename}:{d.name}:{member}" for member in members],
    }


def _task(
    basename: str, name: str, work: Callable[[], Mapping[str, Any] | None], fresh: UpToDate | None, needs: list[str]
) -> Task:
    return {
        "basename": basename,
        "name": name,
        "actions": [doit_support.action(_noting, work)],
        "uptodate": [False if fresh is None else fresh],
        "task_dep": needs,
        "io": {"capture": False},
    }


def _noting(work: Callable[[], Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    """`work`, its error's exit code noted."""
    try:
        return work()
    except SpatialError as error:
        faults.append(error.exit_code)
        raise


def _actions(program: str) -> Callable[[Pipeline], Iterator[Action]]:
    """Lowering a program, and the pages of its constants once they are known."""

    def actions(pipeline: Pipeline) -> Iterator[Action]:
        yield pipeline.lower(program)
        yield from pipeline.pages(program).values()

    return actions


def _step(basename: str, name: str, d: Deployment, action: Callable[[Pipeline], Action], needs: list[str]) -> Task:
    """The task of one action of the pipeline of `d`."""
    return _steps(basename, name, d, lambda pipeline: iter([action(pipeline)]), needs)


def _steps(
    basename: str, name: str, d: Deployment, actions: Callable[[Pipeline], Iterator[Action]], needs: list[str]
) -> Task:
    """The task of several actions, of which the first gives the key; each is asked for when those before are made."""

    def work() -> None:
        making = Pipeline(world().shop, d)
        for action in actions(making):
            making.get(action)

    def key(asking: Pipeline) -> Key:
        return next(actions(asking)).key

    def whole(asking: Pipeline) -> bool:
        return all(asking.get(action) for action in actions(asking))

    return _task(basename, name, work, _fresh(d, key, whole), needs)


def _fresh(d: Deployment, key: Callable[[Pipeline], Key], whole: Callable[[Pipeline], bool]) -> UpToDate:
    """Whether a task may be skipped, asked of the files as they are then; what cannot be answered yet is to be run."""

    def ask(question: Callable[[Pipeline], T], otherwise: T) -> T:
        try:
            return question(Pipeline(world().shop, d, make=False))
        except (NotMade, SpatialError):
            return otherwise  # the work will say what is wrong

    return UpToDate(lambda: ask(key, None), lambda: ask(whole, False))


def _fail(error: SpecError) -> None:
    raise error


# ---------------------------------------------------------------- model files


def _packaged() -> dict[str, FileSource]:
    """The sources that come in packages, by the name of their task."""
    found: dict[str, FileSource] = {}
    for d in world().deployments:
        source = d.weights.source
        if isinstance(source, FileSource) and source.requirement is not None:
            found[_source_name(d)] = source
    return found


def _source_name(d: Deployment) -> str:
    """What the tasks of a deployment's weight files are called, "" if it has none; unequal sources by their digest."""
    source = d.weights.source
    if not isinstance(source, FileSource):
        return ""
    name = task_name(source.files[0])
    others = [o.weights.source for o in world().deployments if isinstance(o.weights.source, FileSource)]
    alike = {o for o in others if task_name(o.files[0]) == name}
    return name if len(alike) == 1 else f"{name}-{key_of('source', files=source.files, pin=source.sha256).digest[:8]}"


def _fetch_tasks(d: Deployment) -> list[str]:
    source = d.weights.source
    return [f"fetch:{_source_name(d)}"] if isinstance(source, FileSource) and source.requirement is not None else []


def _fetch(source: FileSource) -> None:
    shop = world().shop
    fetch(source, shop.folders.models, digests=shop.digests)


def _fetched(source: FileSource) -> UpToDate:
    shop = world().shop
    return UpToDate(
        lambda: key_of("fetch", sha256=source.sha256),
        lambda: find(source, shop.folders.models, digests=shop.digests, warn=lambda _: None) is not None,
    )


# ---------------------------------------------------------------- publishing


def _publish(d: Deployment) -> Mapping[str, Any]:
    return {"digest": Publication(Pipeline(world().shop, d)).publish()}


def _published(d: Deployment) -> UpToDate:
    return _fresh(d, lambda pipeline: Publication(pipeline).key, lambda pipeline: Publication(pipeline).whole())
