"""What a deployment's programs mean: their sources in the reference interpreter, on weights made here from the spec.

Shares no code with packing, lifting or simulating: seeded values go through the quantisation of `reference_llama`, and
the interpreter reads the source files. So it is the other side of every comparison in this folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from acceptance.deployed import ROOT
from reference_llama import Geometry, through_q8_0

from spatial.build.deployment import Deployment, FillSource
from spatial.build.fills import fill
from spatial.build.spec import load_deployment
from spatial.logos.interpret import Seq, interpret
from spatial.logos.parser import parse_files
from spatial.logos.syntax import Program

Array = npt.NDArray[Any]

GEOMETRY = Geometry(heads=4, groups=2, head=24)
"""Of the model of `deployments/tiny.yaml`."""


@dataclass(frozen=True)
class Call:
    """What one call leaves: results and state by table name, the lines it printed."""

    tables: dict[str, Array]
    lines: tuple[str, ...]

    def __getitem__(self, name: str) -> Array:
        return self.tables[name]


class Meaning:
    """The programs of deployment `name`, with the state of their tables from call to call."""

    def __init__(self, name: str, root: Path = ROOT) -> None:
        self.spec: Deployment = load_deployment(root / f"deployments/{name}.yaml", root / "targets")
        self.state: dict[str, Array] = {}
        self._programs: dict[str, Program] = {}
        self.reset()

    def reset(self) -> None:
        """State as a deployment starts with it."""
        for name, table in self.spec.tables.items():
            if table.state:
                self.state[name] = np.zeros(table.shape, np.int64 if table.kind == "Int" else np.float64)

    @cached_property
    def weights(self) -> dict[str, Array]:
        """Every weight, stacked over layers, with the values its stored format keeps, in binary64."""
        source, sizes = self.spec.weights.source, self.spec.sizes
        if not isinstance(source, FillSource):
            return {}
        found: dict[str, Array] = {}
        for name, shape in weight_shapes(sizes).items():
            tensor, centre = self.spec.weights.names[name].tensor, source.around.get(name, 0.0)
            if "{layer}" in tensor:
                each = [
                    fill(source.seed, source.scale, centre, tensor.format(layer=layer), shape[1:])
                    for layer in range(shape[0])
                ]
                values = np.stack(each)
            else:
                values = fill(source.seed, source.scale, centre, tensor, shape)
            kept = through_q8_0(values) if self.spec.weights.stored[name] == "q8_0" else values
            found[name] = kept.astype(np.float64)
        return found

    def run(self, program: str, **inputs: npt.ArrayLike) -> Call:
        """One call, in binary64 and unbounded integers; state goes on to the next."""
        spec = self.spec.programs[program]
        if program not in self._programs:
            self._programs[program] = parse_files([(path.name, path.read_text()) for path in spec.sources])
        lines: list[str] = []
        given = {name: np.asarray(value) for name, value in inputs.items()}
        ran = interpret(
            self._programs[program], {**self.spec.sizes, **self.weights, **self.state, **given}, output=lines.append
        )
        self.state = {name: _array(ran.variables[name]) for name in self.state}
        results = {name: _array(ran.variables[name]) for name in spec.results}
        return Call(results | self.state, tuple(lines))


def weight_shapes(sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes of a Llama's weights as our sources index them."""
    layers, width, kv, ffn, vocab = (sizes[name] for name in ("layers", "width", "kv", "ffn", "vocab"))
    return {
        "embed": (vocab, width), "attn_norm": (layers, width), "ffn_norm": (layers, width), "output_norm": (width,),
        "wq": (layers, width, width), "wk": (layers, kv, width), "wv": (layers, kv, width),
        "wo": (layers, width, width), "wgate": (layers, ffn, width), "wup": (layers, ffn, width),
        "wdown": (layers, width, ffn),
    }  # fmt: skip


def _array(value: object) -> Array:
    return value.to_array() if isinstance(value, Seq) else np.asarray(value)
