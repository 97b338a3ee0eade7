"""A deployment as records: what `deployments/NAME.yaml` says, checked and with its sizes put in.

Place: plain records that `spec` makes and every other part of `build` reads. Knows no YAML, no disk, no compiler.
Places (`Deployment.places`) are kept for later messages; equality ignores them: two specs that say the same are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from spatial.build.expressions import Relation
from spatial.errors import Place, Problem, Unsupported

Kind = Literal["Int", "Float"]


@dataclass(frozen=True)
class Table:
    """A tensor that programs share, or that the host gives and takes.

    `range` bounds its values, both ends included (None: nothing is known); `state` marks what programs write in place;
    `precision` is the storage asked for, None where the compiler chooses.
    """

    name: str
    shape: tuple[int, ...]
    kind: Kind
    range: tuple[int, int] | tuple[float, float] | None = None
    state: bool = False
    precision: str | None = None


@dataclass(frozen=True)
class FileSource:
    """Weights in files. `files` are paths, or with `requirement` the one file name inside that pinned package.

    `sha256` is the digest of that one file, 64 hexadecimal digits, or None.
    """

    format: Literal["gguf", "safetensors", "npz"]
    files: tuple[str, ...]
    requirement: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class FillSource:
    """Weights made from a seed: uniform on multiples of `scale` / 2^15 around a centre (0, or what `around` gives).

    `around` is by table name, patterns already matched.
    """

    seed: int
    scale: float
    around: Mapping[str, float]


@dataclass(frozen=True)
class Part:
    """Slice number `index` of `of` equal ones along "rows" or "cols" of the file's matrix."""

    axis: Literal["rows", "cols"]
    index: int
    of: int


@dataclass(frozen=True)
class Span:
    """Rows or columns `start` up to, not including, `stop` of the file's matrix."""

    axis: Literal["rows", "cols"]
    start: int
    stop: int


@dataclass(frozen=True)
class WeightName:
    """Table `table` of a program is tensor `tensor` of the file; "{layer}" in it stacks layers 0, 1, … outermost."""

    table: str
    tensor: str
    slice: Part | Span | None = None

    @property
    def stacked(self) -> bool:
        """Whether the table stacks one tensor a layer."""
        return "{layer}" in self.tensor


@dataclass(frozen=True)
class WeightSpec:
    """Where the weights come from, what they are called, and how each is stored (tables not in `stored`: unsaid)."""

    source: FileSource | FillSource | None = None
    names: Mapping[str, WeightName] = field(default_factory=dict[str, WeightName])
    stored: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class ProgramSpec:
    """One program: its source files, read as one text in this order; what is read from outside; its numerics."""

    name: str
    sources: tuple[Path, ...]
    results: tuple[str, ...]
    numerics: Mapping[str, str]


@dataclass(frozen=True)
class Generate:
    """How a language-model deployment is driven: two programs, the tables they take, the results that hold logits."""

    prefill: str
    decode: str
    tokens: str
    start: str
    count: str
    token: str
    position: str
    logits: tuple[str, ...]
    stop: tuple[int, ...] = ()


@dataclass(frozen=True)
class Collective:
    """Table or result `out` is the sum of `partials`, one a chip."""

    out: str
    partials: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """Which chip holds what (`chip_of`: name or pattern to chip, in the order of the file), and the sums over chips."""

    chips: int
    chip_of: tuple[tuple[str, int], ...]
    collectives: tuple[Collective, ...]


@dataclass(frozen=True)
class Chips:
    """A deployment over several chips."""

    count: int
    fabric: Literal["shared", "links"]
    manifest: Manifest | None


@dataclass(frozen=True)
class Deployment:
    """A whole spec. `dense` is "auto" or the tables and weights asked to be stored in tiles.

    `files` are every spec file read, itself first; `places` maps a dotted field ("tables.tokens") to where it stands.
    """

    name: str
    target: str
    sizes: Mapping[str, int]
    numerics: Mapping[str, str]
    weights: WeightSpec
    tables: Mapping[str, Table]
    dense: Literal["auto"] | tuple[str, ...]
    programs: Mapping[str, ProgramSpec]
    generate: Generate | None = None
    assume: tuple[Relation, ...] = ()
    chips: Chips | None = None
    files: tuple[Path, ...] = field(default=(), compare=False)
    places: Mapping[str, Place] = field(default_factory=dict[str, Place], compare=False)

    def place(self, path: str) -> Place | None:
        """Where the field `path`, or the nearest one around it, stands."""
        while path:
            if path in self.places:
                return self.places[path]
            path = path.rpartition(".")[0]
        return self.places.get("")


def require_one_chip(deployment: Deployment) -> None:
    """Raise `Unsupported` where `deployment` asks for several chips, which no later step can serve yet."""
    sliced = [w.table for w in deployment.weights.names.values() if w.slice]
    if deployment.chips is None and not sliced:
        return
    what = f"{deployment.chips.count} chips" if deployment.chips else f"a slice of a weight ({sliced[0]})"
    where = "chips" if deployment.chips else f"weights.names.{sliced[0]}"
    raise Unsupported(
        Problem(
            f"{deployment.name} asks for {what}",
            "tensor parallelism is not supported by this version",
            "leave out chips and slices",
            deployment.place(where),
        )
    )
