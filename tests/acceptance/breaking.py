"""The simulator broken, one kind of stage or one of its rules at a time.

Each `Break` patches `spatial.simulate` while a program runs; `kinds` says which stage kinds it breaks. A program whose
results a break does not change would not depend on that kind at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from spatial.ir.body import Stage
from spatial.ir.program import Program
from spatial.simulate import access, lockstep, product
from spatial.simulate.access import Reader

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Break:
    """One way to be wrong; `used`: whether a stage would notice."""

    name: str
    used: Callable[[Stage], bool]
    patch: Patch


def used_by(program: Program, fault: Break) -> bool:
    """Whether any stage of the program would notice."""
    return any(fault.used(stage) for body in program.bodies for stage in body.stages)


def _pushes(kind: str, wrong: Callable[[Any], Any]) -> Patch:
    """Streams that stages of `kind` push go through `wrong` first."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        push = lockstep._Streams.push

        def pushing(self: Any, stage: Stage, number: int, sites: Any, stream: Any) -> None:
            push(self, stage, number, sites, wrong(stream) if stage.kind == kind else stream)

        monkeypatch.setattr(lockstep._Streams, "push", pushing)

    return patch


def _no_floats(stream: Any) -> Any:
    """Zeros for numbers; indices and counts stay, so that the run does not end early."""
    return np.zeros_like(stream) if stream.dtype.kind == "f" else stream


def _turned_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes come out in reverse order."""
    permuted = lockstep.permuted
    monkeypatch.setattr(lockstep, "permuted", lambda pages, perm: np.flip(permuted(pages, perm), axis=(-2, -1)))


def _first_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the sender itself gets what it sends; the others get zeros."""
    spread = lockstep._StagePlan._spread

    def spreading(self: Any, stream: Any) -> Any:
        found = np.array(np.broadcast_to(spread(self, stream), (len(self._members()), *stream.shape[1:])))
        found[[n for n, site in enumerate(self._members()) if site not in self.nest.sites]] = 0
        return found

    monkeypatch.setattr(lockstep._StagePlan, "_spread", spreading)


def _no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was in memory (of what no one stored yet: not a number) stays; integers as zeros."""
    monkeypatch.setattr(Reader, "store", lambda *_: None)


def _shifted_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are stored a lane to the side."""
    scatter = access.scatter

    def scattering(plane: Any, at: Any, origin: Any, pages: Any, keep: Any) -> None:
        scatter(plane, at, origin, np.roll(np.broadcast_to(pages, (*at.shape, *at.page)), 1, axis=-1), keep)

    monkeypatch.setattr(access, "scatter", scattering)


def _no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masked rows are stored as well."""
    scatter = access.scatter

    def scattering(plane: Any, at: Any, origin: Any, pages: Any, keep: Any) -> None:
        scatter(plane, at, origin, pages, None)

    monkeypatch.setattr(access, "scatter", scattering)


def _index_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run-time indices count one less."""
    index = Reader._index

    def indexed(self: Reader, port: int, scale: int, *rest: Any) -> Any:
        return np.maximum(index(self, port, scale, *rest) - scale, 0)

    monkeypatch.setattr(Reader, "_index", indexed)


def _one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sum of products only the first page's first is made."""
    fold, step = product.fold, product.accumulate

    def folded(a: Any, b: Any, *rest: Any) -> Any:
        return fold(a[..., :1], b[..., :1, :], *rest)

    def stepped(acc: Any, a: Any, b: Any, target: Any, transpose_b: bool = False) -> Any:
        return step(acc, a[..., :1], b[..., :1] if transpose_b else b[..., :1, :], target, transpose_b)

    monkeypatch.setattr(product, "fold", folded)
    monkeypatch.setattr(product, "accumulate", stepped)


def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accumulators of maps end as they began."""
    finals = lockstep._StagePlan._finals

    def ending(self: Any, *given: Any) -> Any:
        found, states = finals(self, *given), self.stage.states
        if self.stage.kind != "generic":
            return found
        return {number: np.full_like(cells, states[number].init) for number, cells in found.items()}

    monkeypatch.setattr(lockstep._StagePlan, "_finals", ending)


def _is(kind: str) -> Callable[[Stage], bool]:
    return lambda stage: stage.kind == kind


def _accumulates(stage: Stage) -> bool:
    return stage.kind == "generic" and bool(stage.states)


BREAKS = (
    Break("loads give zeros", _is("load"), _pushes("load", _no_floats)),
    Break("an index is one off", lambda s: s.access is not None and s.access.index is not None, _index_off),
    Break("nothing is stored", _is("store"), _no_store),
    Break("stores are a lane off", _is("store"), _shifted_store),
    Break("a mask is ignored", lambda s: s.access is not None and s.access.mask is not None, _no_mask),
    Break("products give zeros", _is("matmul"), _pushes("matmul", np.zeros_like)),
    Break("a sum of products stops at its first", _is("matmul"), _one_product),
    Break("maps give zeros", _is("generic"), _pushes("generic", np.zeros_like)),
    Break("a map is a thousandth off", _is("generic"), _pushes("generic", lambda x: (x * 1.001).astype(x.dtype))),
    Break("an accumulator forgets", _accumulates, _forgotten),
    Break("lanes are permuted wrongly", _is("permute"), _turned_lanes),
    Break("a multicast reaches its sender only", _is("multicast"), _first_sender),
)
"""Every stage kind that a whole program may hold is broken here in at least one way."""
