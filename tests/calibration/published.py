"""Published times of tuned products beside the prices of their plans: the table of `docs/calibration.md`.

The ledgers are in `targets/measured`; figures that were fitted to one half of each stand under `also` in the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spatial.build.measured_files import read_measurements
from spatial.build.targets import load_target
from spatial.build.yaml_nodes import Mapping, Scalar, parse
from spatial.calibration.pricing import Priced, priced
from spatial.calibration.refit import FIELDS, halves
from spatial.target import Target

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "targets" / "measured"
FITTED = {
    "wormhole-n150": {
        "matrix.overhead": "fitted_overhead",
        "ports.unpack": "fitted_unpack",
        "memory.unplaced": "fitted_unplaced",
    },
    "blackhole-p150": {"matrix.overhead": "fitted_overhead", "ports.unpack": "fitted_unpack"},
}
"""By target, the figures that are fitted, and where they stand under `also`."""


@dataclass(frozen=True)
class Row:
    """A measurement, its cycles under the shipped figures and under the fitted ones, and whether it was held out."""

    priced: Priced
    shipped: float
    fitted: float
    measured: float
    held: bool

    @property
    def off(self) -> float:
        """The part of the time by which the price under fitted figures misses it."""
        return self.fitted / self.measured - 1.0


def ledger(name: str) -> tuple[list[Priced], int]:
    """The measurements of a target with their plans, and how many have none."""
    found, beyond = priced(read_measurements(MEASURED / f"{name}.csv", name), shipped(name))
    return found, len(beyond)


def shipped(name: str) -> Target:
    """The target as this repository ships it."""
    return load_target(ROOT / "targets" / f"{name}.yaml")


def fitted(name: str) -> Target:
    """The target with the figures that were fitted."""
    path, target = ROOT / "targets" / f"{name}.yaml", shipped(name)
    root = parse(path.read_bytes(), str(path))
    also = root.get("also") if isinstance(root, Mapping) else None
    assert isinstance(also, Mapping)
    for figure, stands in FITTED[name].items():
        node = also.get(stands)
        value = node.get("value") if isinstance(node, Mapping) else None
        assert isinstance(value, Scalar) and isinstance(value.value, int | float)
        target = FIELDS[figure].put(target, value.value)
    return target


def rows(name: str) -> list[Row]:
    """The measurements of a target beside their prices."""
    found, _ = ledger(name)
    held = {x.measurement.plan for x in halves(found)[1]}
    own, other, known = shipped(name), fitted(name), dict[tuple[str, ...], float]()
    for x in found:
        if x.measurement.plan not in known:
            known[x.measurement.plan] = x.under(other)
    return [
        Row(x, x.cycles, known[x.measurement.plan], x.measurement.cycles(own), x.measurement.plan in held)
        for x in found
    ]


def table(name: str) -> Iterator[str]:
    """The lines of the table: a plan each, its times without and with a trace of the host's commands."""
    clock, plans = shipped(name).clock, dict[tuple[str, ...], dict[str, Row]]()
    for row in rows(name):
        plans.setdefault(row.priced.measurement.plan, {})[row.priced.measurement.note] = row
    for both in plans.values():
        first = next(iter(both.values()))
        m = first.priced.measurement
        grid = "x".join(map(str, m.conditions.grid or ()))
        cells = [name, grid, "x".join(map(str, m.what.shape)), str(m.conditions.passes)]
        cells += [f"{both[note].measured / clock * 1e6:.0f}" for note in ("no trace", "trace")]
        cells += [f"{first.fitted / clock * 1e6:.0f}", f"{both['trace'].off:+.1%}"]
        cells.append("held out" if first.held else "fitted")
        yield f"| {' | '.join(cells)} |"


def errors(found: list[Row]) -> tuple[float, float, float]:
    """How far prices are from times, without sign: at the median, the 95th percentile, and most."""
    off = np.abs([row.off for row in found])
    return float(np.median(off)), float(np.percentile(off, 95)), float(off.max())


def main() -> None:
    """Print the table, and the errors of both halves."""
    every = {name: rows(name) for name in FITTED}
    for name in FITTED:
        for line in table(name):
            print(line)
    for name, found in (*every.items(), ("both", [row for some in every.values() for row in some])):
        for half in (False, True):
            some = [row for row in found if row.held is half]
            median, percentile, most = errors(some)
            told = "held out" if half else "fitted"
            print(f"{name}, {told}: {len(some)} rows, {median:.1%} median, {percentile:.1%} p95, {most:.1%} at most")


if __name__ == "__main__":
    main()
