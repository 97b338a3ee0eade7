"""What `spatial compile` compiles: a source by itself, or a program of a deployment as its spec has it.

A program of which statements are refused is a job too: what is left of it is lowered for the counts, under an agreement
over that part alone. Nothing of it is kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spatial.build.deployment import Deployment
from spatial.cli.places import folders, named_program, source_text, target_of
from spatial.errors import Refused, UsageError, nearest

if TYPE_CHECKING:
    from spatial.build.actions import Action
    from spatial.build.pipeline import Pipeline
    from spatial.ir.graph import Lifted
    from spatial.select.layouts import Request, TableLayout
    from spatial.target import Target


@dataclass(frozen=True)
class Job:
    """A lifted program, how its tables are laid out, its chip, and what is assumed of its inputs."""

    lifted: Lifted
    tables: Mapping[str, TableLayout]
    target: Target
    assume: tuple[str, ...] = ()


def job_of(options: argparse.Namespace) -> Job:
    """What the line names. Raises what reading and agreeing raise."""
    named = named_program(options)
    return _single(options) if named is None else _of_deployment(options, *named)


def _single(options: argparse.Namespace) -> Job:
    from spatial.lift import Facts, lift, used_names
    from spatial.logos.parser import parse_files
    from spatial.select.layouts import Request

    if options.target is None:
        raise UsageError("no target", "a single source names no chip", "say which with --target")
    target = target_of(options)
    source, facts = parse_files([source_text(options)]), Facts(options.size, open_inputs=True)
    if not source.main:
        raise UsageError(f"{options.source} has no statement to compile", "", "write what it computes under `## Main`")
    read = used_names(source, facts).sizes
    for name in options.size:
        if name not in read:
            raise UsageError(
                f"the source reads no size {name}", nearest(name, read), "leave it out, or spell it as there"
            )
    lifted = lift(source, facts, options.results)
    if lifted.graph is not None:
        names = {t.name for t in lifted.graph.tensors if t.name}
        for name in (*options.q8, *(options.dense or ())):
            if name not in names:
                known = f"it reads {', '.join(sorted(names)) or 'none'}"
                raise UsageError(f"the source reads no table {name}", known)
    request = Request(dict.fromkeys(options.q8, "q8_0"), None if options.dense is None else frozenset(options.dense))
    return Job(lifted, _agreed(lifted, request, target), target)


def _of_deployment(options: argparse.Namespace, deployment: Deployment, program: str) -> Job:
    from spatial.build.pipeline import Pipeline
    from spatial.build.steps.agree import table_of
    from spatial.build.workshop import Workshop
    from spatial.ir import wire
    from spatial.ir.graph import Graph, Lifted

    given = [f"--{name}" for name in ("target", "size", "results", "q8", "dense") if getattr(options, name)]
    if given:
        raise UsageError(f"{' and '.join(given)} beside a deployment", "its spec says all that", "change the spec")
    pipeline = Pipeline(Workshop(folders(options)), deployment)
    store = pipeline.shop.store
    lifting = pipeline.lift(program)
    try:
        lifted = pipeline.get(lifting)
    except Refused:
        return _refused(pipeline, lifting)
    action = pipeline.lower(program)
    graph = wire.unpack(store.get(lifted["graph"]), Graph)
    side = replace(wire.unpack(store.get(lifted["side"]), Lifted), graph=graph)
    tables = {name: table_of(name, row) for name, row in action.params["rows"].items()}  # type: ignore[attr-defined]
    return Job(_with_paths(side, lifting), tables, pipeline.target(), tuple(action.params["assume"]))  # type: ignore[arg-type]


def _refused(pipeline: Pipeline, lifting: Action) -> Job:
    """The job of a program that is lifted in part: a build keeps nothing of it, so it is lifted again here."""
    from spatial.build.actions import StoredNotes
    from spatial.build.steps.given import Given
    from spatial.build.steps.lift import lifted_program
    from spatial.select.layouts import Request

    deployment, target = pipeline.deployment, pipeline.target()
    lifted = lifted_program(Given(lifting.params, {}, lifting.aside, StoredNotes(pipeline.shop.store, lifting.kind)))
    asked = {name: t.precision for name, t in deployment.tables.items() if t.precision}
    dense = None if deployment.dense == "auto" else frozenset(deployment.dense)
    request = Request(asked | dict(deployment.weights.stored), dense)
    return Job(_with_paths(lifted, lifting), _agreed(lifted, request, target), target)


def _agreed(lifted: Lifted, request: Request, target: Target) -> Mapping[str, TableLayout]:
    """How the tables of one program are laid out, of those of what is lifted of it."""
    from spatial.select.layouts import Request, agree

    graph = lifted.graph or lifted.partial
    if graph is None:
        return {}
    if lifted.graph is not None:
        return agree({"program": graph}, request, target)
    names = {t.name for t in graph.tensors if t.name}
    stored = {name: form for name, form in request.stored.items() if name in names}
    dense = None if request.dense is None else request.dense & names
    try:
        return agree({"program": graph}, Request(stored, dense), target)
    except Refused:
        # Of a weight that only refused statements read whole, the rest does not tell the shape that its format needs.
        return agree({"program": graph}, Request(), target)


def _with_paths(lifted: Lifted, lifting: Action) -> Lifted:
    """`lifted`, its files called by their paths, as a person knows them."""
    labels = [label for label, _ in lifting.params["sources"]]  # type: ignore[attr-defined]
    paths: dict[str, str] = dict(zip(labels, lifting.aside["paths"], strict=True))  # type: ignore[arg-type]
    return replace(
        lifted,
        origins=tuple(replace(o, file=paths.get(o.file, o.file)) for o in lifted.origins),
        recorded=tuple(replace(r, file=paths.get(r.file, r.file)) for r in lifted.recorded),
        missing=tuple(replace(m, file=paths.get(m.file, m.file)) for m in lifted.missing),
        depending=tuple(replace(m, file=paths.get(m.file, m.file)) for m in lifted.depending),
    )
