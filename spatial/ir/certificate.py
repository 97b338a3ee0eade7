"""Certificates: what is claimed of a bundle, as plain data that binds the bundle it speaks of.

A certificate carries claims and the assumptions they rest on, never facts to judge them by: `check` derives each claim
again from the bundle alone and compares. Knows no obligation's meaning.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BodyClaim:
    """What a body needs of its neediest site in one call.

    `body`: SHA-256 (hex) of its wire form; `scratch`: bytes of queues and accumulators; `registers`: (stage, tiles) of
    each computing stage; `pushes`: (queue, pages) for each queue.
    """

    body: str
    scratch: int
    registers: tuple[tuple[str, int], ...]
    pushes: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Certificate:
    """The claims made of one bundle.

    `bundle`, `target`: SHA-256 (hex) of the wire forms; `programs` and `graphs`: (entry, digest) of each program and of
    each graph it carries; `data`: digests of all stored weights and fills, sorted. `ranges`: what is assumed of
    integer tables that no program of the bundle stores, as (table, low, high); `relations`: between inputs, as the spec
    spells them. `bodies`: each distinct body once, by digest; `totals`: instances of each obligation that hold.
    """

    bundle: str
    target: str
    programs: tuple[tuple[str, str], ...]
    graphs: tuple[tuple[str, str], ...]
    data: tuple[str, ...]
    ranges: tuple[tuple[str, int, int], ...]
    relations: tuple[str, ...]
    bodies: tuple[BodyClaim, ...]
    totals: tuple[tuple[str, int], ...]
