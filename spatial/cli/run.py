"""`spatial run ARTIFACT [PROGRAM] --in FILE.npz [--out FILE.npz]`: one simulated call of a program.

Arrays go by table name, in the shapes the deployment declares: inputs, and any state to begin with (else zeros).
`--out` gets the results and all state afterwards. What the program Shows is printed. JSON: `program`, `lines`,
`results` and `state` (name to shape and format).
"""

from __future__ import annotations

import argparse

from spatial.build.artifacts import Artifact, open_artifact
from spatial.cli.output import Array, print_json, read_npz, write_npz
from spatial.errors import UsageError, nearest


def run(options: argparse.Namespace) -> int:
    """Simulate the call."""
    from spatial.simulate.host import Host

    artifact = open_artifact(options.artifact)
    bundle = artifact.whole()
    name = _program(artifact, options.program)
    entry = bundle.entry(name)
    host = Host(bundle, artifact.pages)
    given = read_npz(options.given)
    for table in sorted(set(given) & set(entry.state)):
        host.set_state(table, given.pop(table))
    outcome = host.run(name, given)
    state = {table: host.state(table) for table in entry.state}
    if options.out is not None:
        write_npz(options.out, outcome.results | state)
    if options.json:
        shapes = {"results": _shapes(outcome.results), "state": _shapes(state)}
        print_json("run", {"program": name, "lines": list(outcome.lines), **shapes})
    else:
        for line in outcome.lines:
            print(line)
    return 0


def _program(artifact: Artifact, asked: str | None) -> str:
    """The program to run. Raises UsageError where there is none of that name, or a choice."""
    names = [entry.name for entry in artifact.whole().entries]
    if asked is None and len(names) == 1:
        return names[0]
    if asked in names:
        return str(asked)
    what = "which program?" if asked is None else f"no program is called {asked}"
    raise UsageError(what, f"there are {', '.join(names)}", nearest(asked or "", names))


def _shapes(arrays: dict[str, Array]) -> dict[str, object]:
    return {name: {"shape": list(array.shape), "type": str(array.dtype)} for name, array in sorted(arrays.items())}
