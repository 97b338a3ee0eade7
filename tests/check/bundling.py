"""Linking programs by hand: a bundle of two programs over shared tables, laid out one after the other."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from check.mutants import read
from support import REFERENCE

from spatial.ir.bundle import Bundle, Entry, Placement, Table
from spatial.ir.layout import layout_of
from spatial.ir.program import Program, Tensor

DATA = "0123456789abcdef" * 4
"""Stands for the digest of a weight's bytes."""


def entry(name: str, program: Program) -> Entry:
    """`program` as the deployment sees it."""

    def named(role: str) -> tuple[str, ...]:
        return tuple(t.name for t in program.tensors if t.role == role)

    return Entry(name, program, named("input"), tuple(n for n, _, _ in program.results), named("state"))


def bundle_of(**programs: Program) -> Bundle:
    """The programs linked: tables by name, each program's intermediates its own."""
    tables: dict[str, Tensor] = {}
    memory: list[Placement] = []
    address = 0
    for name, program in programs.items():
        for t in program.tensors:
            owner = name if t.role == "intermediate" else ""
            if not owner and t.name in tables:
                continue
            size = layout_of(t.layout, t.prec, t.shape, REFERENCE).bytes
            memory.append(Placement(owner, t.name, address, size, DATA if t.role == "weight" else ""))
            address += size
            if not owner:
                tables[t.name] = t
    listed = tuple(
        Table(t.name, (prod(t.shape),), "int" if t.prec.startswith("i") else "float", t.role, t.shape, t.range)
        for t in tables.values()
    )
    assume = tuple(dict.fromkeys(a for p in programs.values() for a in p.assume))
    return Bundle(REFERENCE, tuple(entry(n, p) for n, p in programs.items()), listed, tuple(memory), assume)


def two_programs() -> Bundle:
    """Attention twice, over the same cache: the second program leaves the rows of the first."""
    return bundle_of(first=read("attention"), second=read("attention"))


def with_tensor(bundle: Bundle, program: str, name: str, **changes: object) -> Bundle:
    """The bundle with one tensor of one program altered, and the operands bound to it alike."""

    def altered(p: Program) -> Program:
        tensors = tuple(replace(t, **changes) if t.name == name else t for t in p.tensors)
        return replace(p, tensors=tensors)

    entries = tuple(replace(e, program=altered(e.program)) if e.name == program else e for e in bundle.entries)
    return replace(bundle, entries=entries)
