"""Figures of a target fitted to measurements: least squares over what prices miss times by.

What is minimised is the sum of squares of the logarithms of price over time, so that a section of a microsecond counts
as much as one of a second, over the figures that are asked for and no others. Prices are sums and maxima of multiples
of the figures, so derivatives are differences over a step, and steps are damped (Levenberg and Marquardt's method).
Figures that no measurement tells of stay as they were, and so do all that are not asked for. Every number hangs on the
measurements alone, and what is found is rounded to `DIGITS` digits, far coarser than the last bits of linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from spatial.calibration.pricing import Priced
from spatial.target import Target

Floats = npt.NDArray[np.float64]

DIGITS = 3
"""Significant digits of a fitted figure."""

ROUNDS = 40
STEP = 0.01
"""The part of a figure by which it is varied for a derivative."""
NOTHING = 1e-3
"""The part of what a figure was below which what is left of it is nothing."""
TELLS = 1e-3
"""A figure is told of where some price changes by this part of its own change at least."""
PULL = 1e-5
"""What the square of a figure's change, in parts of itself, weighs beside the squares of the residuals: so little that
it decides only where these do not, and a figure that nothing tells of any more from some point on stays near it."""
DONE = 1e-7


def _unbounded(target: Target) -> float:
    return float("inf")


def _placed(target: Target) -> float:
    """The rate of readers placed well: others read no faster."""
    return target.memory.rate


@dataclass(frozen=True)
class Field:
    """A figure that may be fitted: how it is read and put; `low`: what it is at least; `high`: at most."""

    get: Callable[[Target], float]
    put: Callable[[Target, float], Target]
    low: float = 0.0
    high: Callable[[Target], float] = _unbounded


def _own(name: str, low: float = 0.0) -> Field:
    return Field(lambda t: getattr(t, name), lambda t, v: replace(t, **{name: v}), low)


def _of(part: str, name: str, low: float = 0.0) -> Field:
    def put(t: Target, value: float) -> Target:
        return replace(t, **{part: replace(getattr(t, part), **{name: value})})

    return Field(lambda t: getattr(getattr(t, part), name), put, low)


FIELDS: dict[str, Field] = {
    "timing.section_cycles": _own("section_cycles"),
    "timing.step_cycles": _own("step_cycles"),
    "matrix.overhead": _of("matrix", "overhead"),
    "memory.latency": _of("memory", "latency"),
    "memory.unplaced": replace(_of("memory", "unplaced", 1.0), high=_placed),
    "network.issue": _of("network", "issue"),
    "network.message": _of("network", "message"),
    "network.hop": _of("network", "hop"),
    "ports.unpack": _own("unpack", 1.0),
    "ports.pack": _own("pack", 1.0),
}
"""Figures that may be fitted, by their place in a target's file."""

FIXED = ("timing.section_cycles", "timing.step_cycles", "matrix.overhead")
"""Fixed costs, which are fitted unless others are asked for."""


@dataclass(frozen=True)
class Errors:
    """How far prices are from times: the parts of the times, without sign."""

    count: int
    median: float
    percentile: float
    most: float


@dataclass(frozen=True)
class Fitted:
    """A figure before and after; `told`: whether any measurement tells of it."""

    name: str
    old: float
    new: float
    told: bool


@dataclass(frozen=True)
class Fit:
    """Fitted figures, the target with them, and the errors on what was fitted and what was held out: before, after."""

    figures: tuple[Fitted, ...]
    target: Target
    fitted: tuple[Errors, Errors]
    held: tuple[Errors, Errors] | None


def halves(rows: Sequence[Priced]) -> tuple[list[Priced], list[Priced]]:
    """The rows to be fitted and those held out: of the plans measured, in the order of their keys, the first and the
    fourth of every four, and the others; so both have of what differs from neighbour to neighbour. Measurements of one
    plan stay together, so that nothing held out was fitted under another name."""
    plans = sorted({x.measurement.plan for x in rows})
    fitted = {plan for n, plan in enumerate(plans) if n % 4 in (0, 3)}
    inside = [x.measurement.plan in fitted for x in rows]
    return [x for x, f in zip(rows, inside, strict=True) if f], [x for x, f in zip(rows, inside, strict=True) if not f]


def errors(rows: Sequence[Priced], target: Target) -> Errors:
    """How far prices under the figures of `target` are from the times."""
    found = np.abs(np.expm1(_residuals(rows, target)))
    return Errors(len(rows), float(np.median(found)), float(np.percentile(found, 95)), float(found.max()))


def fit(rows: Sequence[Priced], target: Target, names: Sequence[str], held: Sequence[Priced] = ()) -> Fit:
    """The figures `names` fitted to `rows`, and how well they do on `held`."""
    told = [n for n in names if _tells(rows, target, n)]
    values = _minimum(rows, target, told)
    new = dict(zip(told, (_rounded(v) for v in values.tolist()), strict=True))
    after = _with(target, new)
    figures = tuple(Fitted(n, FIELDS[n].get(target), new.get(n, FIELDS[n].get(target)), n in new) for n in names)
    apart = (errors(held, target), errors(held, after)) if held else None
    return Fit(figures, after, (errors(rows, target), errors(rows, after)), apart)


def _with(target: Target, values: Mapping[str, float]) -> Target:
    for name, value in values.items():
        target = FIELDS[name].put(target, value)
    return target


def _residuals(rows: Sequence[Priced], target: Target) -> Floats:
    """The logarithm of price over time of each row."""
    known: dict[tuple[str, ...], float] = {}
    for x in rows:
        if x.measurement.plan not in known:
            known[x.measurement.plan] = x.under(target)
    return np.array([np.log(known[x.measurement.plan] / x.measurement.cycles(target)) for x in rows])


def _scale(value: float) -> float:
    """What a figure is counted in: itself, or one where it is less."""
    return max(abs(value), 1.0)


def _tells(rows: Sequence[Priced], target: Target, name: str) -> bool:
    """Whether some price hangs on a figure."""
    value = FIELDS[name].get(target)
    more = FIELDS[name].put(target, value + STEP * _scale(value))
    return bool(np.abs(_residuals(rows, more) - _residuals(rows, target)).max(initial=0.0) > TELLS * STEP)


def _minimum(rows: Sequence[Priced], target: Target, names: Sequence[str]) -> Floats:
    """The values of figures at which the squares of the residuals are least, none beyond its own bounds."""
    fields = [FIELDS[n] for n in names]
    scales = np.array([_scale(f.get(target)) for f in fields])
    low = np.array([f.low for f in fields]) / scales
    high = np.array([f.high(target) for f in fields]) / scales
    at = np.array([f.get(target) for f in fields]) / scales
    start = at
    if not names:
        return at

    def missed(x: Floats) -> Floats:
        off = _residuals(rows, _with(target, dict(zip(names, (x * scales).tolist(), strict=True))))
        return np.concatenate((off, np.sqrt(PULL) * (x - start)))

    now, damping = missed(at), 1e-2
    for _ in range(ROUNDS):
        columns = [missed(at + STEP * np.eye(len(at))[k]) - now for k in range(len(at))]
        slope = np.column_stack(columns) / STEP
        # What is at a bound and would go beyond stays there, or it would take the others along.
        down = slope.T @ now > 0
        free = np.where(down, at > low, at < high)
        gained = 0.0
        while damping < 1e6:
            there = np.clip(at + free * _change(slope * free, now, damping), low, high)
            then = missed(there)
            gained = float(now @ now - then @ then)
            if gained > 0:
                at, now, damping = there, then, damping / 4
                break
            damping *= 4
        if gained <= DONE * max(float(now @ now), DONE):
            break
    return np.where(at < low + NOTHING, low, at) * scales


def _change(slope: Floats, missed: Floats, damping: float) -> Floats:
    """The damped step towards the least squares of what is linear in it."""
    count = slope.shape[1]
    left = np.vstack((slope, np.sqrt(damping) * np.eye(count)))
    found = np.linalg.lstsq(left, np.concatenate((-missed, np.zeros(count))), rcond=None)[0]
    return np.asarray(found, dtype=np.float64)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
