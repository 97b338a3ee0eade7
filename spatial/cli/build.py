# doit has no types, so what comes from it is unknown to the type checker.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false
"""`spatial build NAME…`: build deployments by running doit, and translate how that ended.

`--deployments`, `--artifacts` and `--store` put those folders elsewhere, so that a repository of one's own needs no
copy of this one. JSON: `code`, and under `deployments` the digest of each, null where there is none.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import Any

from spatial.build.workshop import ARTIFACTS, DEPLOYMENTS, STORE
from spatial.cli.output import print_json
from spatial.cli.places import folders
from spatial.errors import Bug, UsageError, nearest


def run(options: argparse.Namespace) -> int:
    """Build."""
    for variable, folder in (
        (DEPLOYMENTS, options.deployments),
        (ARTIFACTS, options.artifacts),
        (STORE, options.store),
    ):
        if folder is not None:
            os.environ[variable] = str(folder)
    from spatial.build import tasks

    names = [_task(name, list(tasks.world().specs)) for name in options.names]
    arguments = ["run", "-n", str(options.jobs), *(["--continue"] if options.onward else []), *names]
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        code = translated(_doit(arguments, tasks), tasks.faults)
    if options.json:
        from spatial.build.layout import deployment_digest

        built = [name for name in options.names if name in tasks.world().specs]
        digests = {name: deployment_digest(folders(options).artifacts / name) for name in built}
        print_json("build", {"code": code, "deployments": digests})
    return code


def _task(name: str, deployments: list[str]) -> str:
    """The task that a name on the line stands for. Raises UsageError for a deployment there is none of."""
    if ":" in name or name in ("deploy", "lift", "agree", "lower", "pack", "link", "certify", "fetch", "index"):
        return name
    if name not in deployments:
        hint = nearest(name, deployments) or f"there are {', '.join(deployments) or 'none'}"
        raise UsageError(f"no deployment is called {name}", "", hint)
    return f"deploy:{name}"


def _doit(arguments: list[str], tasks: Any) -> int:
    """doit's exit code for `arguments`."""
    from doit.cmd_base import ModuleTaskLoader
    from doit.doit_cmd import DoitMain

    found = {name: getattr(tasks, name) for name in dir(tasks) if name.startswith("task_")}
    creators = {name: creator for name, creator in found.items() if creator.__module__ == tasks.__name__}
    # doit keeps the standard output it was imported with, which may not be the present one.
    settings = {**tasks.config(), "outfile": sys.stdout}
    return int(DoitMain(ModuleTaskLoader({**creators, "DOIT_CONFIG": settings})).run(arguments) or 0)


def translated(code: int, faults: list[int]) -> int:
    """Our exit code for doit's: 0; the gravest of the tasks' own faults; else doit's own error, a fault or a usage."""
    if code == 0:
        return 0
    if code == 2 and not faults:
        return Bug.exit_code
    for grave in (3, 4, 2, 1):
        if grave in faults:
            return grave
    return UsageError.exit_code if code == 3 else 1
