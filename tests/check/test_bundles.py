"""Deployments: what programs share, where everything lies, and the claims made of all that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from check.bundling import bundle_of, two_programs, with_tensor
from check.mutants import Mutant, mutants, read

from spatial.check import check_bundle, claims_of
from spatial.errors import Refused
from spatial.ir.bundle import Bundle
from spatial.ir.certificate import Certificate
from spatial.ir.graph import Graph, GraphTensor
from spatial.ir.text import parse_program, print_program
from spatial.ir.wire import digest


def _flat_cache(bundle: Bundle) -> Bundle:
    """The second program made for a cache in tiles, consistently in itself."""
    text = print_program(bundle.entry("second").program).replace("f32 flat [1, 40, 64]", "f32 dense [1, 40, 64]")
    program = parse_program(text, "second")
    return replace(bundle, entries=(bundle.entries[0], replace(bundle.entries[1], program=program)))


def _moved(bundle: Bundle, tensor: str, by: int) -> Bundle:
    memory = tuple(replace(p, address=p.address + by) if p.tensor == tensor else p for p in bundle.memory)
    return replace(bundle, memory=memory)


def _without(bundle: Bundle, tensor: str) -> Bundle:
    return replace(bundle, memory=tuple(p for p in bundle.memory if p.tensor != tensor))


def _memory(**changes: object) -> Callable[[Bundle], Bundle]:
    return lambda b: replace(b, memory=(replace(b.memory[0], **changes), *b.memory[1:]))


def _entry(**changes: object) -> Callable[[Bundle], Bundle]:
    return lambda b: replace(b, entries=(replace(b.entries[0], **changes), *b.entries[1:]))


def _table(**changes: object) -> Callable[[Bundle], Bundle]:
    return lambda b: replace(b, tables=(replace(b.tables[0], **changes), *b.tables[1:]))


BROKEN: dict[str, tuple[str, Callable[[Bundle], Bundle]]] = {
    "a cache laid out differently in one program": ("table keys", _flat_cache),
    "two allocations overlapping": ("bundle", lambda b: _moved(b, "k", -32)),
    "an address not aligned": ("placement of y", lambda b: _moved(b, "y", 16)),
    "an allocation beyond memory": ("placement of y", lambda b: _moved(b, "y", 1 << 34)),
    "an allocation too small": ("tensor q", _memory(bytes=32)),
    "no allocation": ("tensor t1", lambda b: _without(b, "t1")),
    "an allocation of nothing": ("placement of nobody", _memory(tensor="nobody")),
    "a program that is none": ("placement of q of third", _memory(program="third")),
    "data of an input": ("tensor q", _memory(data="ab" * 32)),
    "an input that is not said": ("program first", _entry(inputs=("q", "k", "v"))),
    "state that is not said": ("program first", _entry(state=("keys",))),
    "a result that is not said": ("program first", _entry(results=())),
    "two programs of one name": ("bundle", _entry(name="second")),
    "a table of another shape": ("table q", _table(shape=(1, 8, 32))),
    "dimensions that do not fill the shape": ("table q", _table(dims=(3,))),
    "a table of another role": ("table q", _table(role="state")),
    "an assumption nobody declares": (
        "program first",
        lambda b: _entry(program=replace(b.entries[0].program, assume=("a <= b",)))(b),
    ),
    "an input declared wider": (
        "table position",
        lambda b: replace(b, tables=tuple(replace(t, range=(0, 40)) if t.name == "position" else t for t in b.tables)),
    ),
    "a role of a language model that is no program": (
        "generate",
        lambda b: replace(b, generate=(("decode", "third"),)),
    ),
}


def test_two_programs_over_one_cache_are_accepted_with_their_claims():
    bundle = two_programs()
    verdict = check_bundle(bundle)
    assert verdict.answer == "accept", [str(f) for f in verdict.failures]
    certificate = claims_of(bundle)
    assert check_bundle(bundle, certificate).answer == "accept"
    assert len(certificate.bodies) == 4, "equal bodies of two programs are one"
    assert certificate.ranges == (("position", 0, 39),)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_deployment_is_rejected(name: str):
    place, change = BROKEN[name]
    bundle = change(two_programs())
    verdict = check_bundle(bundle)
    assert verdict.answer == "reject"
    found = [f for f in verdict.failures if f.obligation == "deployment" and place in f.place]
    assert found, [str(f) for f in verdict.failures]


def test_a_table_has_the_dimensions_and_the_kind_that_each_graph_knows():
    bundle = two_programs()
    q = next(t for t in bundle.tables if t.name == "q")
    (result, *_), first = bundle.entries[0].results, bundle.entries[0]
    made = next(t for t in bundle.tables if t.name == result)

    def judged(*tensors: GraphTensor) -> list[tuple[str, str]]:
        """A verdict's failures where the first program's graph reads and makes these."""
        graph = Graph(tensors, (), ((result, len(tensors) - 1),), ())
        entries = (replace(first, graph=graph), *bundle.entries[1:])
        return [(f.obligation, f.place) for f in check_bundle(replace(bundle, entries=entries)).failures]

    read, output = GraphTensor(q.dims, q.kind, "input", "q"), GraphTensor(made.dims, made.kind, "made")
    assert judged(read, output) == []
    wrong = [("deployment", "bundle, program first")]
    assert judged(read, replace(output, dims=(1, *made.dims))) == wrong
    assert judged(replace(read, dims=(1, *q.dims)), output) == wrong
    assert judged(replace(read, kind="int"), output) == wrong


def test_a_weight_is_bound_by_digest():
    bundle = bundle_of(product=read("product"))
    assert check_bundle(bundle).accepted
    bare = replace(bundle, memory=tuple(replace(p, data="") for p in bundle.memory))
    assert [f.place for f in check_bundle(bare).failures] == ["bundle, program product, tensor b"]


def test_a_writer_stays_within_what_readers_expect():
    bundle = bundle_of(one=read("gather"), two=read("gather"))
    assert check_bundle(bundle).accepted
    ints = bundle_of(one=read("integers"))
    narrow = replace(ints, tables=tuple(replace(t, range=(0, 5)) if t.name == "s" else t for t in ints.tables))
    assert {f.place for f in check_bundle(narrow).failures} == {"bundle, table s"}


def test_data_at_hand_is_held_to_digest_size_and_range():
    bundle = bundle_of(integers=read("integers"))
    place = next(p for p in bundle.memory if p.tensor == "b")
    raw = np.zeros(place.bytes, dtype=np.int8)
    raw[5] = -128

    def sealed(data: bytes, low: int) -> Bundle:
        named = replace(place, data=sha256(data).hexdigest())
        sealed_in = replace(bundle, memory=tuple(named if p.tensor == "b" else p for p in bundle.memory))
        return with_tensor(sealed_in, "integers", "b", range=(low, 127))

    data = raw.tobytes()
    whole = sealed(data, -128)
    assert check_bundle(whole, claims_of(whole), lambda _: data).accepted
    assert check_bundle(sealed(data, -128), contents=lambda _: None).answer == "unsupported"
    for bundle_, given in (
        (sealed(data, -127), data),
        (sealed(data, -128), data[:-1] + b"\1"),
        (sealed(data[:-32], -128), data[:-32]),
    ):
        verdict = check_bundle(bundle_, contents=lambda _, given=given: given)
        assert "bundle, data of b" in [f.place for f in verdict.failures]


def test_an_input_without_a_declared_range_may_hold_anything():
    bundle = two_programs()
    tables = tuple(replace(t, range=None) if t.name == "position" else t for t in bundle.tables)
    verdict = check_bundle(replace(bundle, tables=tables))
    assert {f.place for f in verdict.failures} == {f"bundle, table position, program {p}" for p in ("first", "second")}


CLAIMS: dict[str, Callable[[Certificate], Certificate]] = {
    "bundle": lambda c: replace(c, bundle="0" * 64),
    "target": lambda c: replace(c, target=c.bundle),
    "programs": lambda c: replace(c, programs=c.programs[:1]),
    "graphs": lambda c: replace(c, graphs=(("first", "0" * 64),)),
    "data": lambda c: replace(c, data=("0" * 64,)),
    "ranges": lambda c: replace(c, ranges=(("position", 0, 38),)),
    "relations": lambda c: replace(c, relations=("a <= b",)),
    "bodies": lambda c: replace(c, bodies=(replace(c.bodies[0], scratch=c.bodies[0].scratch - 1), *c.bodies[1:])),
    "totals": lambda c: replace(c, totals=(("shape", 1), *c.totals[1:])),
}


def test_every_claim_is_held_to_what_is_derived():
    bundle = two_programs()
    certificate = claims_of(bundle)
    assert set(CLAIMS) == set(Certificate.__dataclass_fields__)
    for name, change in CLAIMS.items():
        verdict = check_bundle(bundle, change(certificate))
        assert [(f.obligation, f.place) for f in verdict.failures] == [("claims", f"certificate, {name}")]


def test_a_certificate_binds_its_bundle():
    bundle = two_programs()
    other = replace(bundle, assume=("position <= position",))
    assert check_bundle(other).accepted
    verdict = check_bundle(other, claims_of(bundle))
    assert {f.place for f in verdict.failures} == {"certificate, bundle", "certificate, relations"}


@pytest.mark.parametrize("mutant", [m for m in mutants() if not m.target], ids=lambda m: m.name)
def test_a_mutant_is_rejected_in_its_bundle_whatever_is_claimed(mutant: Mutant):
    """Claims of the accepted bundle, and claims written for the mutant, make no difference."""
    kept = claims_of(bundle_of(only=read(mutant.base)))
    bundle = bundle_of(only=mutant.program())
    for claims in (None, kept, replace(kept, bundle=digest(bundle), programs=(("only", digest(mutant.program())),))):
        verdict = check_bundle(bundle, claims)
        assert [f for f in verdict.failures if f.obligation == mutant.obligation and mutant.place in f.place]
    with pytest.raises(Refused):
        claims_of(bundle)


def test_nothing_is_claimed_of_a_bundle_that_is_rejected():
    with pytest.raises(Refused, match="overlap"):
        claims_of(_moved(two_programs(), "k", -32))
