"""A whole deployment: every program, what they share, and the claims made of them.

Obligation 16, claims: a certificate says of the bundle what is derived here, no more and no less, and binds these very
bytes. The door of the checker for bundles. Knows no file: a bundle comes as records, big data as digests and, where
the caller has them, as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import cast

import numpy as np

from spatial.check.bindings import check_tensors, contains, range_of
from spatial.check.deployment import check_deployment
from spatial.check.granules import offsets_of
from spatial.check.graphs import check_graph
from spatial.check.programs import Judged, conforms, judge_program
from spatial.check.spans import is_int
from spatial.check.targets import check_target
from spatial.check.verdict import Log, Verdict
from spatial.errors import Bug, Problem, Refused
from spatial.ir.bundle import Bundle
from spatial.ir.certificate import BodyClaim, Certificate
from spatial.ir.layout import layout_of
from spatial.ir.program import Tensor
from spatial.ir.wire import digest
from spatial.numerics import PRECISIONS, Array, precision

Contents = Callable[[str], "bytes | memoryview | None"]
"""Bytes of a weight or fill by digest; None where they are not at hand."""


@dataclass(frozen=True)
class _Derived:
    """What one look at a bundle found."""

    log: Log
    claims: Certificate | None


def check_bundle(bundle: Bundle, claims: Certificate | None = None, contents: Contents | None = None) -> Verdict:
    """Judge a deployment and, if given, the claims made of it.

    `contents`: gives the bytes of stored data, so that digests and what is said of integer weights are checked too;
    without it, the ranges of integer weights are assumptions, and listed as such. Raises nothing, whatever the records
    hold.
    """
    derived = _derive(bundle, contents)
    log = derived.log
    if claims is not None and conforms(claims, Certificate, "certificate", log) and derived.claims is not None:
        _compare(claims, derived.claims, log)
    return log.verdict()


def claims_of(bundle: Bundle) -> Certificate:
    """The certificate of an accepted bundle; raises `Refused` with every finding where it is not accepted."""
    derived = _derive(bundle, None)
    if derived.claims is None or derived.log.findings:
        found = (*derived.log.failures, *derived.log.unsupported)
        raise Refused([Problem(f"{f.obligation}: {f.place}", f.witness, f.mend) for f in found])
    return derived.claims


def _derive(bundle: Bundle, contents: Contents | None) -> _Derived:
    log = Log()
    if not conforms(bundle, Bundle, "bundle", log):
        return _Derived(log, None)
    if not check_target(bundle.target, log):
        return _Derived(log, None)
    judged = Judged()
    declared = {t.name: t.range for t in bundle.tables if t.role == "input" and t.range is not None}
    known: dict[str, Mapping[str, Tensor]] = {}
    for entry in bundle.entries:
        judge_program(entry.program, bundle.target, declared, f"program {entry.name}", judged, log)
        if entry.graph is not None:
            check_graph(entry.graph, f"program {entry.name}, graph", log)
        known[entry.name] = check_tensors(entry.program, declared, bundle.target, f"program {entry.name}", Log())
    check_deployment(bundle, known, log)
    # Before the data: what is claimed does not depend on who has it at hand.
    claims = _certificate(bundle, known, judged, log)
    if contents is not None:
        _data(bundle, known, contents, log)
    return _Derived(log, claims)


def _certificate(
    bundle: Bundle, known: Mapping[str, Mapping[str, Tensor]], judged: Judged, log: Log
) -> Certificate | None:
    try:
        bodies = {digest(body): facts.needs for body, facts in judged.facts.items() if facts is not None}
        programs = tuple((e.name, digest(e.program)) for e in bundle.entries)
        graphs = tuple((e.name, digest(e.graph)) for e in bundle.entries if e.graph is not None)
        whole, chip = digest(bundle), digest(bundle.target)
    except Bug as e:
        log.at("claims", "bundle").require(False, f"it has no wire form, so nothing binds it: {e}")
        return None
    totals = tuple((name, n) for name, n in log.counts.items() if name != "claims")
    return Certificate(
        whole,
        chip,
        programs,
        graphs,
        tuple(sorted({p.data for p in bundle.memory if p.data})),
        _assumed(bundle, known),
        bundle.assume,
        tuple(BodyClaim(d, n.scratch, n.registers, n.pushes) for d, n in sorted(bodies.items())),
        totals,
    )


def _assumed(bundle: Bundle, known: Mapping[str, Mapping[str, Tensor]]) -> tuple[tuple[str, int, int], ...]:
    """What is taken on trust of integers that come from outside: the narrowest range any program relies on."""
    out: dict[str, tuple[int, int]] = {}
    declared = {t.name: t.range for t in bundle.tables if t.role == "input" and t.range is not None}
    for entry in bundle.entries:
        for tensor in known[entry.name].values():
            if tensor.role in ("input", "weight") and tensor.prec in PRECISIONS and is_int(tensor.prec):
                shared = any(t.name == tensor.name for t in bundle.tables)
                name = tensor.name if shared else f"{entry.name}.{tensor.name}"
                low, high = declared.get(tensor.name) or range_of(tensor.prec, tensor.range)
                before = out.get(name, (low, high))
                out[name] = (max(low, before[0]), min(high, before[1]))
    return tuple((name, low, high) for name, (low, high) in sorted(out.items()))


def _data(bundle: Bundle, known: Mapping[str, Mapping[str, Tensor]], contents: Contents, log: Log) -> None:
    """Stored data is what its digest says, fills its allocation, and keeps the range said of an integer weight."""
    for p in bundle.memory:
        if not p.data:
            continue
        at = log.at("deployment", f"bundle, data of {p.tensor}")
        raw = contents(p.data)
        if raw is None:
            at.unsure(f"the data {p.data} is not at hand")
            continue
        if not at.require(sha256(raw).hexdigest() == p.data, f"its bytes are not those of digest {p.data}"):
            continue
        at.require(len(raw) == p.bytes, f"it has {len(raw)} bytes, its allocation {p.bytes}")
        for program, tensors in known.items():
            tensor = tensors.get(p.tensor)
            if tensor is None or p.program not in ("", program) or len(raw) != p.bytes:
                continue
            if tensor.prec in PRECISIONS and is_int(tensor.prec):
                held = _held(raw, tensor, bundle)
                said = range_of(tensor.prec, tensor.range)
                at.require(
                    held is None or contains(said, held), f"it holds {held}, and {program} takes it to hold {said}"
                )


def _held(raw: bytes | memoryview, tensor: Tensor, bundle: Bundle) -> tuple[int, int] | None:
    """Least and greatest element of an integer tensor's data, padding left out; None where the sizes disagree."""
    layout = layout_of(tensor.layout, tensor.prec, tensor.shape, bundle.target)
    if layout.bytes != len(raw):
        return None
    plane, (slices, rows, cols) = layout.plane(), tensor.shape
    s, r, c = np.ogrid[:slices, :rows, :cols]
    values: Array = np.frombuffer(raw, dtype=precision(tensor.prec).dtype)
    held = values[offsets_of(plane, s, r, c) // plane.itemsize]
    return int(held.min()), int(held.max())


def _compare(claims: Certificate, derived: Certificate, log: Log) -> None:
    """Every field of the certificate is what was derived."""
    for f in fields(Certificate):
        said, found = getattr(claims, f.name), getattr(derived, f.name)
        log.at("claims", f"certificate, {f.name}").require(
            said == found, _difference(said, found), "certify the bundle again"
        )


def _difference(said: object, found: object) -> str:
    """The first entry in which a claim and the derived fact differ, in words."""
    if isinstance(said, tuple) and isinstance(found, tuple):
        claimed, derived = cast("tuple[object, ...]", said), cast("tuple[object, ...]", found)
        for a, b in zip(claimed, derived, strict=False):
            if a != b:
                return f"{a!r} is claimed, and {b!r} is found"
        return f"{len(claimed)} entries are claimed, and {len(derived)} are found"
    return f"{said!r} is claimed, and {found!r} is found"
