"""What each part of a deployment is made from: every step's action, and so its key, derived from the spec.

Place: between specs and tasks; runs nothing itself. A part that depends on others gets their outputs from the
workshop, so that keys hold digests of content and a step is redone only if something it reads has other bytes. No key
holds a deployment's name, a path or a time: two deployments that say the same share everything.

    lift P      source text, results; the sizes, tables and weight names the source mentions
    agree       every graph, the target, the formats asked for
    lower P     its graph, its rows of the agreement, numerics, assumptions, target
    page        the formula of one constant, how it is stored
    index       the files of the weight source
    pack W      its rows of the index, or the fill; its row of the agreement
    link        programs, graphs, pages; what the host is told
    certify     the linked bundle
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from spatial.build.actions import Action
from spatial.build.deployment import Deployment, FileSource, FillSource, Table, require_one_chip
from spatial.build.models import cached_path, find
from spatial.build.workshop import Workshop
from spatial.errors import Bug, EnvironmentFault, Problem, Refused, Unsupported

if TYPE_CHECKING:
    from spatial.target import Target

P = ParamSpec("P")
T = TypeVar("T")

LIGHT = ("names", "chip")
"""Steps so quick that asking for a key may run them."""


class NotMade(Exception):
    """What a key depends on is not in the store yet; `make` was not allowed."""


def _once(ask: Callable[Concatenate[Pipeline, P], T]) -> Callable[Concatenate[Pipeline, P], T]:
    """Have a pipeline remember what it answered."""

    @wraps(ask)
    def asked(self: Pipeline, *args: P.args, **kwargs: P.kwargs) -> T:
        question = (ask.__name__, *args)
        if question not in self.answers:
            self.answers[question] = ask(self, *args, **kwargs)
        return self.answers[question]

    return asked


class Pipeline:
    """The parts of one deployment, as its files are now; made anew for each question, it remembers its answers.

    `make`: whether parts that are not in the store may be made to answer.
    """

    def __init__(self, shop: Workshop, deployment: Deployment, *, make: bool = True) -> None:
        self.shop, self.deployment, self.make = shop, deployment, make
        self.answers: dict[tuple[object, ...], Any] = {}

    def get(self, action: Action) -> dict[str, str]:
        """The outputs of `action` by name, as digests. Raises NotMade, or what the step raises."""
        found = self.shop.look(action)
        if found is None:
            if not self.make and action.kind not in LIGHT:
                raise NotMade(action.kind)
            found = self.shop.make(action)
        return found

    # ---------------------------------------------------------------- the target

    @_once
    def chip(self) -> Action:
        """The record of the target."""
        name = self.deployment.target
        path = self.shop.folders.targets / f"{name}.yaml"
        return Action("chip", {"name": name, "file": self._digest(path, "target")}, aside={"path": str(path)})

    @_once
    def target(self) -> Target:
        """The target, read."""
        from spatial.ir import wire
        from spatial.target import Target

        return wire.unpack(self.shop.store.get(self.get(self.chip())["target"]), Target)

    def _figures(self) -> dict[str, object]:
        """What of the target a layout depends on."""
        target = self.target()
        return {"tile": list(target.tile), "align": target.memory.align, "granule": target.memory.granule}

    def _digest(self, path: Path, what: str) -> str:
        try:
            return self.shop.digests.digest(path)
        except OSError as error:
            raise EnvironmentFault(f"the {what} {path} cannot be read: {error.strerror}") from None

    # ---------------------------------------------------------------- sources to graphs

    @_once
    def lift(self, program: str) -> Action:
        """The graph of a program."""
        d = self.deployment
        params, aside = self._sources(program)
        used = self.shop.value(self.get(self._names(params, aside))["used"])
        facts = {
            "sizes": {name: d.sizes[name] for name in used["sizes"]},
            "tables": {name: _table_facts(d.tables[name]) for name in used["tables"]},
            "weights": list(used["weights"]),
            "assume": self._assume(used["tables"]),
        }
        return Action("lift", {**params, "facts": facts, "results": list(d.programs[program].results)}, aside=aside)

    def _sources(self, program: str) -> tuple[dict[str, object], dict[str, object]]:
        from spatial.build.labels import labels

        paths = self.deployment.programs[program].sources
        sources = [[label, self._digest(path, "source")] for label, path in zip(labels(paths), paths, strict=True)]
        return {"sources": sources}, {"paths": [str(path) for path in paths]}

    def _names(self, params: Mapping[str, object], aside: Mapping[str, object]) -> Action:
        d = self.deployment
        declared = {"sizes": sorted(d.sizes), "tables": sorted(d.tables), "weights": sorted(d.weights.names)}
        return Action("names", {**params, "declared": declared, "assume": self._assume(d.tables)}, aside=aside)

    def _assume(self, tables: Any) -> list[str]:
        """The relations of the spec between `tables`, sizes put in."""
        return [
            relation.plain
            for relation in self.deployment.assume
            if all(name in tables for side in (relation.left, relation.right) for name, _ in side.terms)
        ]

    # ---------------------------------------------------------------- the agreement

    @_once
    def agree(self) -> Action:
        """The layout of every table and weight."""
        d = self.deployment
        require_one_chip(d)
        graphs = {name: self.get(self.lift(name))["graph"] for name in d.programs}
        stored = {name: t.precision for name, t in d.tables.items() if t.precision} | dict(d.weights.stored)
        called = {f"graph.{digest}": name for name, digest in sorted(graphs.items(), reverse=True)}
        inputs = {name: name.removeprefix("graph.") for name in sorted(called)}
        params = {"stored": stored, "dense": None if d.dense == "auto" else sorted(d.dense)}
        return Action("agree", params, inputs | {"target": self.get(self.chip())["target"]}, {"programs": called})

    @_once
    def rows(self) -> dict[str, dict[str, Any]]:
        """What was agreed, by table."""
        return self.shop.value(self.get(self.agree())["rows"])

    # ---------------------------------------------------------------- graphs to programs

    @_once
    def lower(self, program: str) -> Action:
        """The program of a graph."""
        lifted = self.get(self.lift(program))
        params, aside = self._sources(program)
        rows, names = self.rows(), self.shop.value(lifted["tables"])
        labels = [label for label, _ in cast("list[list[str]]", params["sources"])]
        return Action(
            "lower",
            {
                "rows": {name: rows[name] for name in names},
                "numerics": dict(self.deployment.programs[program].numerics),
                "assume": self._assume(names),
            },
            {"graph": lifted["graph"], "target": self.get(self.chip())["target"]},
            {
                "side": self.shop.store.get(lifted["side"]),
                "paths": dict(zip(labels, cast("list[str]", aside["paths"]), strict=True)),
            },
        )

    @_once
    def pages(self, program: str) -> dict[str, Action]:
        """The pages of each constant fill of a program, by tensor."""
        lowered = self.get(self.lower(program))
        report = self.shop.value(lowered["report"])
        return {
            name: Action(
                "page",
                {**stored, "figures": self._figures()},
                {"constant": lowered[f"constant.{name}"]},
                {"target": self.target()},
            )
            for name, stored in report["fills"].items()
        }

    # ---------------------------------------------------------------- weights

    @_once
    def model(self) -> tuple[Path, ...]:
        """Where the files of the weight source lie; a packaged file that is nowhere: where fetching will put it."""
        source = self.deployment.weights.source
        if not isinstance(source, FileSource):
            return ()
        if source.requirement is None:
            folder = self.shop.folders.deployments
            return tuple(folder / Path(name).expanduser() for name in source.files)
        models = self.shop.folders.models
        return (find(source, models, digests=self.shop.digests) or cached_path(source, models),)

    def file_digests(self, source: FileSource) -> list[str]:
        """The digests of the files of the weight source. Raises Refused where one is not what is pinned."""
        if source.requirement is not None and source.sha256 is not None:
            return [source.sha256]  # the file is held to it whenever it is found
        paths = self.model()
        digests = [self._digest(path, "weight file") for path in paths]
        if source.sha256 is not None and digests != [source.sha256]:
            what, why = f"{paths[0]} has sha256 {digests[0]}", f"{source.sha256} is pinned"
            place = self.deployment.place("weights.source")
            raise Refused(Problem(what, why, "correct the pin, or the file", place))
        return digests

    @_once
    def index(self) -> Action:
        """The tensors of the weight source."""
        source = self.deployment.weights.source
        if not isinstance(source, FileSource):
            raise Bug(f"{self.deployment.name} has no weight file to index")
        files = self.file_digests(source)
        return Action("index", {"format": source.format, "files": files}, aside={"paths": self.model()})

    @_once
    def pack(self, weight: str) -> Action:
        """A weight's pages. Raises Refused where no program reads it."""
        d = self.deployment
        row = self.rows().get(weight)
        if row is None:
            place = d.place(f"weights.names.{weight}")
            raise Refused(Problem(f"no program of {d.name} reads weight {weight}", "", "remove it", place))
        params = {
            "row": {name: row[name] for name in ("dims", "shape", "prec", "layout")},
            "source": self._source(weight),
            "figures": self._figures(),
        }
        aside = {"deployment": d, "table": weight, "target": self.target(), "paths": self.model()}
        return Action("pack", params, aside=aside)

    def _source(self, weight: str) -> dict[str, object]:
        """What a weight's values are made from: its rows of the index, or the fill."""
        d = self.deployment
        name, source = d.weights.names[weight], d.weights.source
        if isinstance(source, FillSource):
            centre = source.around.get(weight, 0.0)
            fill = {"seed": source.seed, "scale": source.scale, "centre": centre, "tensor": name.tensor}
            return {"fill": fill, "stacked": name.stacked}
        if source is None:
            place = d.place(f"weights.names.{weight}")
            raise Refused(Problem(f"weight {weight} has no source", "", "add weights.source", place))
        from spatial.build.weight_files import files_of
        from spatial.build.weights import tensor_names

        index = self.shop.value(self.get(self.index())["index"])
        files = files_of(index, self.model())
        tensors = [index["tensors"][tensor] for tensor in tensor_names(d, weight, files)]
        kept = ("type", "shape", "columns_first", "sha256")
        return {"tensors": [{name: t[name] for name in kept} for t in tensors], "stacked": name.stacked}

    # ---------------------------------------------------------------- one bundle

    @_once
    def link(self) -> Action:
        """The linked bundle."""
        d = self.deployment
        inputs = {"target": self.get(self.chip())["target"]}
        fills: dict[str, dict[str, str]] = {}
        for name in d.programs:
            inputs[f"program.{name}"] = self.get(self.lower(name))["program"]
            inputs[f"graph.{name}"] = self.get(self.lift(name))["graph"]
            fills[name] = {tensor: self.get(page)["pages"] for tensor, page in self.pages(name).items()}
        weights = {name: self.get(self.pack(name))["pages"] for name in d.weights.names}
        params = {"fills": fills, "weights": weights, "assume": self._assume(d.tables), "generate": self._generate()}
        return Action("link", params, inputs)

    def _generate(self) -> list[list[object]]:
        """How the deployment is driven, as [role, value] pairs, sorted."""
        g = self.deployment.generate
        if g is None:
            return []
        if len(g.logits) != 1:
            raise Unsupported(
                Problem(
                    f"logits in {len(g.logits)} slices",
                    "tensor parallelism is not supported by this version",
                    "name one result",
                    self.deployment.place("generate.logits"),
                )
            )
        roles = ("prefill", "decode", "tokens", "start", "count", "token", "position")
        named: dict[str, object] = {role: getattr(g, role) for role in roles}
        named |= {"logits": g.logits[0], "stop": list(g.stop)}
        return [[role, named[role]] for role in sorted(named)]

    @_once
    def certify(self) -> Action:
        """The certificate of the linked bundle."""
        link = self.link()
        config = self.get(link)["config"]
        return Action("certify", {}, {"config": config} | {digest: digest for digest in link.inputs.values()})


def _table_facts(table: Table) -> dict[str, object]:
    """What lifting is told of a table."""
    bounds = list(table.range) if table.range is not None and table.kind == "Int" else None
    return {"dims": list(table.shape), "kind": table.kind.lower(), "range": bounds, "state": table.state}
