"""Where a command finds targets, deployments and programs that are named on its line."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from spatial.build.deployment import Deployment
from spatial.build.spec import load_deployment
from spatial.build.workshop import ARTIFACTS, DEPLOYMENTS, STORE, Folders
from spatial.errors import UsageError, nearest

if TYPE_CHECKING:
    from spatial.target import Target


def folders(options: argparse.Namespace) -> Folders:
    """The folders of the repository in the current one, but for those the line or the environment names."""
    environ = dict(os.environ)
    for variable, option in ((DEPLOYMENTS, "deployments"), (ARTIFACTS, "artifacts"), (STORE, "store")):
        given: Path | None = getattr(options, option, None)
        if given is not None:
            environ[variable] = str(given)
    return Folders.of(Path(), environ)


def target_of(options: argparse.Namespace) -> Target:
    """The chip that `--target` names: a file, or a name among the targets. Raises UsageError or SpecError."""
    from spatial.build.targets import load_target

    return load_target(target_file(options))


def target_file(options: argparse.Namespace) -> Path:
    """The file of the chip that `--target` names. Raises UsageError."""
    if options.target.endswith(".yaml"):
        return Path(options.target)
    known = sorted(path.stem for path in folders(options).targets.glob("*.yaml"))
    if options.target not in known:
        hint = nearest(options.target, known) or f"known: {', '.join(known)}"
        raise UsageError(f"no target is called {options.target}", "", hint)
    return folders(options).targets / f"{options.target}.yaml"


def named_program(options: argparse.Namespace) -> tuple[Deployment, str] | None:
    """The deployment and program that `DEPLOYMENT:PROGRAM` names; None where the line names a source file.

    Raises UsageError for a name there is none of, SpecError for a spec that does not validate.
    """
    name, colon, program = options.source.partition(":")
    if not colon or Path(options.source).exists():
        return None
    where = folders(options)
    known = sorted(path.stem for path in where.deployments.glob("*.yaml"))
    if name not in known:
        hint = nearest(name, known) or f"known: {', '.join(known)}"
        raise UsageError(f"no deployment is called {name}", f"it would be {where.deployments / name}.yaml", hint)
    deployment = load_deployment(where.deployments / f"{name}.yaml", where.targets)
    if program not in deployment.programs:
        hint = nearest(program, deployment.programs) or f"it has {', '.join(deployment.programs)}"
        raise UsageError(f"{name} has no program {program}", "", hint)
    return deployment, program


def source_text(options: argparse.Namespace) -> tuple[str, str]:
    """The name and text of the source file the line names. Raises UsageError."""
    path = Path(options.source)
    try:
        return options.source, path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"the source {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"the source {path} is no UTF-8 text") from None
