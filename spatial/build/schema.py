"""Reading fields out of YAML nodes, gathering every problem, and the words specs may use.

Place: between `yaml_nodes` and the readers of specs. It must never know what a deployment is; a reader here answers
"is this a word, an integer, one of these", and notes what is wrong with its place and the nearest known name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from spatial.build.yaml_nodes import Mapping, Node, Scalar
from spatial.build.yaml_nodes import Sequence as List
from spatial.errors import Problem, nearest, one_of

PRECISIONS = ("f32", "bf16", "f16", "i8", "i16", "i32", "i64", "q8_0")
"""The precision words of specs, targets and manifests (targets add what their chips have)."""

FLOAT_PRECISIONS = ("f32", "bf16", "f16")
INT_PRECISIONS = ("i8", "i16", "i32", "i64")
WEIGHT_PRECISIONS = (*FLOAT_PRECISIONS, "q8_0")

NUMERICS: dict[str, tuple[str, ...]] = {"integers": ("exact",), "floats": ("widest",)}
"""What `numerics` may say, the default first: integers bit-exact, floats in the widest format the datapaths have."""

DEPLOYMENT_NAME = re.compile(r"[a-z][a-z0-9_-]*")
"""Names of deployments and programs; they become parts of task names."""

SOURCE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names a source can read: sizes, tables, weights, results."""


class Reader:
    """Gathers the problems of one spec while its fields are read; a reader that finds one returns None (or nothing)."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def problem(self, node: Node, what: str, why: str = "", mend: str = "") -> None:
        """Note what is wrong at `node`."""
        self.problems.append(Problem(what, why, mend, node.place))

    def unknown(self, node: Node, what: str, word: str, known: Iterable[str]) -> None:
        """Note that `word` is no known `what`, with the nearest one or, of a few, all."""
        words = list(known)
        mend = nearest(word, words)
        if not mend and 0 < len(words) <= 12:
            mend = f"known: {', '.join(words)}"
        self.problem(node, f'no {what} is called "{word}"', "", mend)

    def entries(self, node: Node | None, what: str) -> tuple[tuple[Scalar, Node], ...]:
        """The entries of a map; a missing or null one has none."""
        match node:
            case None | Scalar(value=None):
                return ()
            case Mapping():
                return node.entries
            case _:
                self.problem(node, f"{what} is {_kind(node)}", "a map is wanted")
                return ()

    def fields(self, node: Node, what: str, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Node]:
        """The fields of a map with a closed set of keys; null ones are left out, missing and unknown ones noted."""
        found: dict[str, Node] = {}
        for key, value in self.entries(node, what):
            if key.text not in known:
                self.unknown(key, f"field of {what}", key.text, known)
            elif not (isinstance(value, Scalar) and value.value is None):
                found[key.text] = value
        for name in required:
            if name not in found:
                self.problem(node, f"{what} has no {name}", "it is needed", f"add {name}:")
        return found

    def sequence(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """The items of a list; a missing one has none."""
        match node:
            case None:
                return ()
            case List():
                return node.items
            case _:
                self.problem(node, f"{what} is {_kind(node)}", "a list is wanted", "write [ ] around it")
                return ()

    def word(self, node: Node, what: str, pattern: re.Pattern[str] | None = None) -> str | None:
        """A string, of the form `pattern` if one is given."""
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value:
            self.problem(node, f"{what} is {_kind(node)}", "a word is wanted", "quote it if it is meant as text")
            return None
        if pattern is not None and not pattern.fullmatch(node.value):
            self.problem(node, f'{what} is "{node.value}"', f"its form is {pattern.pattern}")
            return None
        return node.value

    def words(self, node: Node | None, what: str, pattern: re.Pattern[str] | None = None) -> tuple[Scalar, ...]:
        """One word or a list of distinct ones, as their nodes."""
        if node is None:
            return ()
        items = (node,) if isinstance(node, Scalar) else self.sequence(node, what)
        found: dict[str, Scalar] = {}
        for item in items:
            text = self.word(item, what, pattern)
            if text is None or not isinstance(item, Scalar):
                continue
            if text in found:
                self.problem(item, f'{what} names "{text}" twice', "", "keep one")
            found.setdefault(text, item)
        return tuple(found.values())

    def choice(self, node: Node, what: str, known: Sequence[str]) -> str | None:
        """One of a closed list of words."""
        text = self.word(node, what)
        if text is not None and text not in known:
            self.problem(node, f'{what} is "{text}"', f"it is {one_of(known)}", nearest(text, known))
            return None
        return text

    def flag(self, node: Node, what: str) -> bool:
        """true or false."""
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self.problem(node, f"{what} is {_kind(node)}", "true or false is wanted")
        return False

    def integer(self, node: Node, what: str, low: int, high: int) -> int | None:
        """An integer from `low` to `high`, both included."""
        if not isinstance(node, Scalar) or not isinstance(node.value, int) or isinstance(node.value, bool):
            self.problem(node, f"{what} is {_kind(node)}", "an integer is wanted")
            return None
        if not low <= node.value <= high:
            self.problem(node, f"{what} is {node.value}", f"it is at least {low} and at most {high}")
            return None
        return node.value

    def number(self, node: Node, what: str) -> float | None:
        """A finite number."""
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.problem(node, f"{what} is {_kind(node)}", "a finite number is wanted")
            return None
        return float(value)


def _kind(node: Node) -> str:
    """How a message calls what stands at `node`."""
    match node:
        case Mapping():
            return "a map"
        case List():
            return "a list"
        case Scalar(value=None):
            return "null"
        case Scalar(value=bool()):
            return node.text
        case Scalar(value=str()):
            return f'"{node.text}"' if node.text else "an empty text"
        case _:
            return node.text
