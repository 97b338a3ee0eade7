"""Reading deployment specs: `deployments/NAME.yaml` to a `Deployment`, or to every error of the file at once.

Place: the door to specs; `spec_parts` reads the parts that stand by themselves. Reads spec files and looks whether
sources and targets are there; opens no source, no weights, no target. Light enough for every `doit list`.

`extends: FILE` puts another spec under this one: maps are merged, lists and scalars replaced, and a null deletes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal

from spatial.build.deployment import Deployment, ProgramSpec
from spatial.build.schema import DEPLOYMENT_NAME, SOURCE_NAME, Reader
from spatial.build.spec_parts import read_assumptions, read_chips, read_generate, read_numerics, read_sizes, read_tables
from spatial.build.spec_weights import read_weights
from spatial.build.yaml_nodes import Mapping, Node, Scalar, parse
from spatial.errors import Place, Problem, SpecError, nearest

SCHEMA = 1
FIELDS = (
    "schema", "extends", "target", "sizes", "numerics", "weights", "tables", "dense", "programs", "generate", "assume",
    "chips",
)  # fmt: skip
MAX_EXTENDS = 8
"""Longest chain of specs that extend each other."""


def load_deployments(folder: Path, targets: Path | None = None) -> dict[str, Deployment | SpecError]:
    """Every deployment directly in `folder`, by name, sorted; a spec that does not validate is its error, as a value.

    A folder that is not there holds none. `targets` as in `load_deployment`.
    """
    found: dict[str, Deployment | SpecError] = {}
    for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
        try:
            found[path.stem] = load_deployment(path, targets)
        except SpecError as error:
            found[path.stem] = error
    return found


def load_deployment(path: Path, targets: Path | None = None) -> Deployment:
    """Read the spec at `path`. Sources must lie in its folder, and its target be in `targets` if that is given.

    Raises `SpecError` with every problem of the file and of those it extends.
    """
    if not DEPLOYMENT_NAME.fullmatch(path.stem):
        raise SpecError(
            Problem(
                f'a deployment cannot be called "{path.stem}"',
                "names are lower-case letters, digits, - and _, a letter first",
                "rename the file",
                Place(str(path)),
            )
        )
    files: list[Path] = []
    root = _extended(path, path.parent, files)
    made, problems = _Spec(path, root, targets).deployment()
    if problems:
        raise SpecError(sorted(problems, key=lambda p: p.place or Place("")))
    return replace(made, files=tuple(files))


def _extended(path: Path, folder: Path, files: list[Path]) -> Mapping:
    """The root map at `path`, with what it extends under it; `files` gains every file read."""
    files.append(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SpecError(Problem(f"the spec cannot be read: {error.strerror}", place=Place(str(path)))) from None
    root = parse(data, str(path))
    if not isinstance(root, Mapping):
        raise SpecError(Problem("the spec is no map", "its fields stand at the left margin", place=root.place))
    base = root.get("extends")
    if base is None:
        return root
    reader = Reader()
    below = inner_path(reader, base, folder, "extends", suffix=".yaml")
    if below is not None and any(below.resolve() == file.resolve() for file in files):
        reader.problem(base, "the specs extend each other in a circle", " -> ".join(str(f) for f in [*files, below]))
    if len(files) > MAX_EXTENDS:
        reader.problem(base, f"more than {MAX_EXTENDS} specs extend each other")
    if reader.problems or below is None:
        raise SpecError(reader.problems)
    merged = _merged(_extended(below, folder, files), root)
    return Mapping(root.place, tuple(entry for entry in merged.entries if entry[0].text != "extends"))


def _merged(base: Mapping, over: Mapping) -> Mapping:
    """`over` laid on `base`: maps merge, anything else replaces, null deletes. The base's order comes first."""
    entries: dict[str, tuple[Scalar, Node]] = {key.text: (key, value) for key, value in base.entries}
    for key, value in over.entries:
        below = entries.get(key.text)
        match value:
            case Scalar(value=None) if below is not None:
                del entries[key.text]
            case Mapping() if below is not None and isinstance(below[1], Mapping):
                entries[key.text] = (key, _merged(below[1], value))
            case _:
                entries[key.text] = (key, value)
    return Mapping(over.place, tuple(entries.values()))


def inner_path(reader: Reader, node: Node, folder: Path, what: str, suffix: str = "") -> Path | None:
    """The file `node` names inside `folder`; a path that leaves it, by `..` or by a link, or is no file, is noted.

    A name without `suffix` gets it: `extends: llama` is `llama.yaml`.
    """
    text = reader.word(node, what)
    if text is None:
        return None
    pure = PurePosixPath(text if text.endswith(suffix) else text + suffix)
    if pure.is_absolute() or ".." in pure.parts or "\0" in text or "\\" in text:
        reader.problem(node, f'{what} is "{text}"', f"it must lie under {folder}", "name it from there, without ..")
        return None
    path = folder / pure
    if not path.is_file():
        near = path.parent.iterdir() if path.parent.is_dir() else ()
        siblings = [str(pure.parent / p.name) for p in near if p.is_file()]
        reader.problem(node, f'{what} is "{text}"', f"there is no file {path}", nearest(str(pure), siblings))
        return None
    if not path.resolve().is_relative_to(folder.resolve()):
        reader.problem(node, f'{what} is "{text}"', f"it leads out of {folder} by a link", "copy the file there")
        return None
    return path


class _Spec:
    """One merged spec being read: the reader that gathers problems, and where things stand."""

    def __init__(self, path: Path, root: Mapping, targets: Path | None) -> None:
        self.path, self.root, self.targets = path, root, targets
        self.folder = path.parent
        self.reader = Reader()

    def deployment(self) -> tuple[Deployment, list[Problem]]:
        """The deployment (to be used only if there are no problems) and the problems."""
        reader = self.reader
        fields = reader.fields(self.root, "the spec", FIELDS, ("schema", "target", "programs"))
        if "schema" in fields:
            reader.integer(fields["schema"], "schema", SCHEMA, SCHEMA)
        sizes = read_sizes(reader, fields.get("sizes"))
        tables = read_tables(reader, fields.get("tables"), sizes)
        numerics = read_numerics(reader, fields.get("numerics"), {})
        programs = self.programs(fields.get("programs"), numerics)
        chips = read_chips(reader, fields.get("chips"), lambda node: inner_path(reader, node, self.folder, "manifest"))
        weights = read_weights(reader, fields.get("weights"), chips.count if chips else None)
        self.one_namespace(fields)
        made = Deployment(
            name=self.path.stem,
            target=self.target(fields.get("target")),
            sizes=sizes,
            numerics=numerics,
            weights=weights,
            tables=tables,
            dense=self.dense(fields.get("dense"), [*tables, *weights.names]),
            programs=programs,
            generate=read_generate(reader, fields.get("generate"), programs, tables),
            assume=read_assumptions(reader, fields.get("assume"), sizes, tables),
            chips=chips,
            places=dict(_places(self.root, "", 3)),
        )
        return made, reader.problems

    def target(self, node: Node | None) -> str:
        name = self.reader.word(node, "target", DEPLOYMENT_NAME) if node is not None else None
        if node is not None and name is not None and self.targets is not None:
            known = sorted(p.stem for p in self.targets.glob("*.yaml"))
            if name not in known:
                self.reader.unknown(node, "target", name, known)
        return name or ""

    def dense(self, node: Node | None, names: list[str]) -> Literal["auto"] | tuple[str, ...]:
        if node is None or (isinstance(node, Scalar) and node.value == "auto"):
            return "auto"
        words = self.reader.words(node, "dense")
        for word in words:
            if word.text not in names:
                self.reader.unknown(word, "table or weight", word.text, names)
        return tuple(word.text for word in words)

    def programs(self, node: Node | None, numerics: dict[str, str]) -> dict[str, ProgramSpec]:
        reader = self.reader
        found: dict[str, ProgramSpec] = {}
        for key, value in reader.entries(node, "programs"):
            name = reader.word(key, "the name of a program", DEPLOYMENT_NAME)
            what = f"program {key.text}"
            fields = reader.fields(value, what, ("source", "results", "numerics"), ("source",))
            paths = [
                inner_path(reader, word, self.folder, f"the source of {what}")
                for word in reader.words(fields.get("source"), f"the source of {what}")
            ]
            if "source" in fields and not paths:
                reader.problem(fields["source"], f"{what} has no source", "at least one is needed", "name its file")
            results = reader.words(fields.get("results"), f"results of {what}", SOURCE_NAME)
            found[name or key.text] = ProgramSpec(
                key.text,
                tuple(p for p in paths if p is not None),
                tuple(word.text for word in results),
                read_numerics(reader, fields.get("numerics"), numerics),
            )
        if node is not None and not found:
            reader.problem(node, "no program", "a deployment has at least one", "add one under programs:")
        return found

    def one_namespace(self, fields: dict[str, Node]) -> None:
        """Sizes, tables and weights are read by name from one namespace: note every name that stands for two things."""
        weights = fields.get("weights")
        names = weights.get("names") if isinstance(weights, Mapping) else None
        kinds = (("size", fields.get("sizes")), ("table", fields.get("tables")), ("weight", names))
        seen: dict[str, tuple[str, Scalar]] = {}
        for kind, node in kinds:
            for key, _ in node.entries if isinstance(node, Mapping) else ():
                if key.text in seen:
                    other, first = seen[key.text]
                    self.reader.problem(
                        key,
                        f'"{key.text}" is a {other} and a {kind}',
                        f"sources read both by the same name; the {other} stands at {first.place}",
                        "rename one",
                    )
                seen.setdefault(key.text, (kind, key))


def _places(node: Node, path: str, depth: int) -> list[tuple[str, Place]]:
    """The places of `node` and of the fields inside it, by dotted path, `depth` levels down."""
    found = [(path, node.place)]
    if isinstance(node, Mapping) and depth:
        for key, value in node.entries:
            inner = f"{path}.{key.text}" if path else key.text
            found += [(inner, key.place), *_places(value, inner, depth - 1)[1:]]
    return found
