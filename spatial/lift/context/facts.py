"""What a source may read without binding it: sizes, tables, weights, as a deployment's spec declares them.

Also which of these a source uses, for whoever keys a build on them. Knows no YAML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spatial.logos import syntax


@dataclass(frozen=True)
class Table:
    """A declared table: extents, "int" or "float", the range of its integers, and whether a program may write it."""

    dims: tuple[int, ...]
    kind: str
    range: tuple[int, int] | None = None
    state: bool = False


@dataclass(frozen=True)
class Facts:
    """The names of a spec. Weights are Float; their shapes follow from the source's accesses.

    `assume`: relations between integer inputs, such as "start + count <= positions". `open_inputs`: a name of no
    declaration is an input whose shape its accesses imply, as for a source compiled by itself.
    """

    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    tables: Mapping[str, Table] = field(default_factory=dict[str, Table])
    weights: Sequence[str] = ()
    assume: Sequence[str] = ()
    open_inputs: bool = False

    def names(self) -> set[str]:
        """Every declared name."""
        return {*self.sizes, *self.tables, *self.weights}


@dataclass(frozen=True)
class UsedNames:
    """What of the declared names a source mentions."""

    sizes: tuple[str, ...]
    tables: tuple[str, ...]
    weights: tuple[str, ...]


def _mentions(body: tuple[syntax.Stmt, ...]) -> Iterator[str]:
    for statement in syntax.statements(body):
        for expression in syntax.expressions(statement):
            for node in syntax.walk(expression):
                if isinstance(node, syntax.Name):
                    yield node.name


def used_names(program: syntax.Program, facts: Facts) -> UsedNames:
    """The sizes, tables and weights that `program` mentions, sorted; shadowed mentions count, which is harmless."""
    seen = set(_mentions(program.main))
    for function in program.functions:
        seen |= set(_mentions(function.body))
    for relation in facts.assume:
        seen |= {word for word in facts.names() if word in relation.replace("[", " ").split()}
    return UsedNames(
        tuple(sorted(seen & set(facts.sizes))),
        tuple(sorted(seen & set(facts.tables))),
        tuple(sorted(seen & set(facts.weights))),
    )
