"""The corpus: programs that must be accepted, and edits of them that must be rejected (`reject/*.txt`).

An entry of `reject/NN_OBLIGATION.txt`, entries apart by an empty line:

    mutant NAME
    of PROGRAM                 a file of `tests/sections` or `accept`
    at PLACE                   a part of the place at which it is rejected
    target NAME                one of `TARGETS`; the reference chip where the line is missing
    - OLD                      an edit: the first occurrence of the lines OLD becomes the lines NEW;
    + NEW                      several edits may follow each other
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from support import REFERENCE

from spatial.ir.program import Program
from spatial.ir.text import parse_program
from spatial.target import Target

HERE = Path(__file__).parent
FOLDERS = (HERE.parent / "sections", HERE / "accept")

PRODUCT_BYTES = 4 * 1024 * (2 + 2 + 1 + 1)
"""Scratch of the product's sites: two pages of each operand, one of the result, the accumulator."""

MATRIX, VECTOR = REFERENCE.matrix, REFERENCE.vector

TARGETS: dict[str, Target] = {
    "": REFERENCE,
    "no f32 products": replace(REFERENCE, matrix=replace(MATRIX, floats=("bf16",))),
    "short sums": replace(REFERENCE, matrix=replace(MATRIX, int_accumulate="i16")),
    "no f16 pages": replace(REFERENCE, vector=replace(VECTOR, holds=("f32", "bf16", "i8", "i32"))),
    "no matrix registers": replace(REFERENCE, matrix=replace(MATRIX, registers=0)),
    "no vector registers": replace(REFERENCE, vector=replace(VECTOR, registers=0)),
    "two vector registers": replace(REFERENCE, vector=replace(VECTOR, registers=2)),
    "short vectors": replace(REFERENCE, vector=replace(VECTOR, int="i16")),
    "no multicast": replace(REFERENCE, network=replace(REFERENCE.network, multicast=())),
    "wide granules": replace(REFERENCE, memory=replace(REFERENCE.memory, granule=256, align=256)),
    "narrow counters": replace(REFERENCE, counter_bits=1),
    "scratch one byte short": replace(REFERENCE, scratch=PRODUCT_BYTES - 1),
    "two locks": replace(REFERENCE, locks=2),
    "two descriptors": replace(REFERENCE, descriptors=2),
    "wide scratch pages": replace(REFERENCE, scratch=PRODUCT_BYTES, align=8192),
    "two queues": replace(REFERENCE, queues=2),
    "one mover": replace(REFERENCE, engines=REFERENCE.engines[:1] + REFERENCE.engines[2:]),
}


@dataclass(frozen=True)
class Mutant:
    """`edits` of program `base`, each (old, new); the obligation and place that must reject the outcome."""

    name: str
    base: str
    obligation: str
    place: str
    target: str
    edits: tuple[tuple[str, str], ...]

    def program(self) -> Program:
        """The mutated program."""
        text = texts()[self.base]
        for old, new in self.edits:
            assert old in text, f"{self.name}: {old!r} is not in {self.base}"
            text = text.replace(old, new, 1)
        return parse_program(text, f"{self.name}.sec")


def texts() -> dict[str, str]:
    """Every program that must be accepted, by name."""
    return {p.stem: p.read_text(encoding="utf-8") for folder in FOLDERS for p in sorted(folder.glob("*.sec"))}


def read(name: str) -> Program:
    """An accepted program as records."""
    return parse_program(texts()[name], f"{name}.sec")


def mutants() -> list[Mutant]:
    """All entries of the corpus."""
    out: list[Mutant] = []
    for path in sorted((HERE / "reject").glob("*.txt")):
        obligation = path.stem.partition("_")[2]
        for entry in path.read_text(encoding="utf-8").split("\n\n")[1:]:
            out.append(_entry(entry.strip("\n").split("\n"), obligation))
    return out


def _entry(lines: list[str], obligation: str) -> Mutant:
    said = {"target": ""}
    edits: list[tuple[list[str], list[str]]] = []
    for line in lines:
        word, rest = line[:1], line[2:]
        if word == "-":
            if not edits or edits[-1][1]:
                edits.append(([], []))
            edits[-1][0].append(rest)
        elif word == "+":
            edits[-1][1].append(rest)
        else:
            key, _, value = line.partition(" ")
            said[key] = value
    pairs = tuple(("\n".join(old), "\n".join(new)) for old, new in edits)
    return Mutant(said["mutant"], said["of"], obligation, said["at"], said["target"], pairs)
