"""Relations between a program's inputs, such as `start + count <= 256`: affine sums on both sides of a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spatial.errors import Problem, Refused
from spatial.ir.affine import Affine, parse_affine

_COMPARISON = re.compile(r"^([^<>=]+)(<=|>=|==|<|>)([^<>=]+)$")


@dataclass(frozen=True)
class Relation:
    """`left` compared with `right`; both are sums over names of scalar integer inputs."""

    text: str
    left: Affine
    sign: str
    right: Affine

    @property
    def names(self) -> frozenset[str]:
        """The inputs that occur."""
        return frozenset(self.left.symbols) | frozenset(self.right.symbols)

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether it is true of `values`."""
        x, y = self.left.at(values), self.right.at(values)
        return {"<=": x <= y, ">=": x >= y, "==": x == y, "<": x < y, ">": x > y}[self.sign]


def parse_relation(text: str) -> Relation:
    """The relation that `text` spells; raises `Refused` where it spells none."""
    found = _COMPARISON.match(text)
    left, right = (parse_affine(found.group(1)), parse_affine(found.group(3))) if found else (None, None)
    if found is None or left is None or right is None:
        raise Refused(f"{text!r} is no relation between inputs", "", "write sums on both sides of <=, <, >=, > or ==")
    return Relation(text, left, found.group(2), right)


def check_relations(texts: tuple[str, ...], values: Mapping[str, int]) -> None:
    """Raise `Refused` for every relation over names all in `values` that does not hold of them."""
    broken: list[Problem] = []
    for text in dict.fromkeys(texts):
        relation = parse_relation(text)
        if relation.names <= values.keys() and not relation.holds(values):
            given = ", ".join(f"{name} = {values[name]}" for name in sorted(relation.names))
            broken.append(Problem(f"{text} does not hold", f"given {given}", "give inputs that satisfy it"))
    if broken:
        raise Refused(broken)
