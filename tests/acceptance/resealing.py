"""Published bundles altered and published again, every digest recomputed, so that only their content is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from spatial.build.artifacts import Artifact
from spatial.build.image import CONFIG_TYPE, layers, split
from spatial.build.publish import Blob, publish
from spatial.build.store import Store
from spatial.check import bundles
from spatial.ir import wire
from spatial.ir.body import Body, Stage
from spatial.ir.bundle import Bundle
from spatial.ir.certificate import Certificate
from spatial.ir.program import Call, Phase, Program


def reseal(artifact: Artifact, bundle: Bundle, certificate: Certificate, folder: Path) -> Path:
    """Publish `bundle` with `certificate` and the pages of `artifact` below `folder`; where it was published."""
    store = Store(folder / "store")
    image, blobs = split(bundle)
    pages = sorted({p.data for p in bundle.memory if p.data})
    for data in (*blobs.values(), *(bytes(artifact.pages[digest]) for digest in pages)):
        store.put(data)
    listed = layers(image, store.put(wire.pack(certificate)))
    config = Blob(CONFIG_TYPE, "config", store.put(wire.pack(image)))
    publish(store, folder / "mutant", "mutant", config, [Blob(n.media_type, n.title, n.digest) for n in listed])
    return folder / "mutant"


def kept(certificate: Certificate, bundle: Bundle) -> Certificate:
    """The certificate of the bundle as it was, bound to the altered one: every other claim stands."""
    return replace(
        certificate,
        bundle=wire.digest(bundle),
        target=wire.digest(bundle.target),
        programs=tuple((e.name, wire.digest(e.program)) for e in bundle.entries),
    )


def regenerated(bundle: Bundle) -> Certificate:
    """What would be claimed of the altered bundle if nobody minded what the checker finds."""
    claims = bundles._derive(bundle, None).claims
    assert claims is not None
    return claims


# ---------------------------------------------------------------- alterations


def with_program(bundle: Bundle, name: str, change: Callable[[Program], Program]) -> Bundle:
    """The bundle with one program altered."""
    entries = tuple(replace(e, program=change(e.program)) if e.name == name else e for e in bundle.entries)
    return replace(bundle, entries=entries)


def with_body(program: Program, number: int, change: Callable[[Body], Body]) -> Program:
    """The program with one body altered."""
    bodies = tuple(change(body) if n == number else body for n, body in enumerate(program.bodies))
    return replace(program, bodies=bodies)


def with_stage(body: Body, name: str, change: Callable[[Stage], Stage]) -> Body:
    """The body with one stage altered."""
    assert any(stage.name == name for stage in body.stages)
    return replace(body, stages=tuple(change(s) if s.name == name else s for s in body.stages))


def with_phase(program: Program, number: int, change: Callable[[Phase], Phase]) -> Program:
    """The program with one phase altered."""
    phases = tuple(change(phase) if n == number else phase for n, phase in enumerate(program.phases))
    return replace(program, phases=phases)


def body_with(program: Program, holds: Callable[[Body], bool]) -> int:
    """The number of the first body of which `holds` is true."""
    return next(n for n, body in enumerate(program.bodies) if holds(body))


def calls_that(program: Program, mode: str, tensor: str) -> list[tuple[int, int, int]]:
    """(phase, call, operand) of the operands of `mode` that are bound to `tensor`."""

    def operands(call: Call) -> list[int]:
        listed = zip(program.bodies[call.body].operands, call.binds, strict=True)
        return [n for n, (operand, bind) in enumerate(listed) if operand.mode == mode and bind.tensor == tensor]

    return [(n, c, k) for n, phase in enumerate(program.phases) for c, call in enumerate(phase) for k in operands(call)]
