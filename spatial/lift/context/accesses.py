"""An access to a sequence: an index that is to be proved in range, and what is said where it is not, or where there is
none.

Proves nothing: the machine does, and keeps the accesses of loops that are not closed yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.lift.algebra.bounds import bounds
from spatial.lift.algebra.values import Get, Node, Source, int_constant, plus
from spatial.lift.algebra.walk import below
from spatial.lift.context.facts import Facts
from spatial.lift.context.state import NotLifted, Seq
from spatial.logos.syntax import Span


@dataclass(frozen=True)
class Access:
    """An index to be proved: `index` in [0, size) where the guards hold; `size` None: axis `axis` of a weight."""

    index: Node
    size: Node | None
    source: Source | None
    axis: int
    guards: tuple[Node, ...]
    name: str
    span: Span


def out_of_range(access: Access, why: str, open_inputs: bool) -> NotLifted:
    """The refusal of an index that is not proved in range; `open_inputs`: inputs are declared nowhere."""
    low, high = bounds(plus(access.index, 1))
    reach = f"it is {low}" if low is not None and low == high else f"it runs from {_bound(low)} to {_bound(high)}"
    mend = "bound the loop, or declare the range of the input it comes from"
    loose = rangeless(access.index) if low is None or high is None else ()
    if loose:
        names = " and ".join(f'"{name}"' for name in loose)
        reach = f"it comes from {names}, of which no range is known"
        mend = f"declare the range of {names}"
        if open_inputs:
            mend = "bound the index with max and min: max(1, min(length, …))"
    problem = NotLifted(
        f'an index of "{access.name}" is not proved in range: {reach}, and {why}', mend, access.span, "read"
    )
    problem.final, problem.index, problem.of = True, access.index, access.name
    return problem


def rangeless(node: Node) -> tuple[str, ...]:
    """Names of the integer inputs without a known range that a value is made of, in their first order."""
    found: dict[str, None] = {}
    for n in below(node):
        if isinstance(n, Get) and isinstance(n.tensor, Source) and n.kind == "int" and n.tensor.range is None:
            found[n.tensor.name] = None
    return tuple(found)


def said(size: Node) -> str:
    """A length, for messages."""
    n = int_constant(size)
    return str(n) if n is not None else "a length known at run time"


def _bound(value: int | None) -> str:
    return "an unknown value" if value is None else str(value)


def no_number(value: Seq, facts: Facts) -> tuple[str, str]:
    """Why a sequence cannot stand where a number is wanted, and what would."""
    source = value.tensor
    if not isinstance(source, Source) or not value.whole:
        return "a sequence stands where a number is wanted", "take an item of it, or loop over its items"
    name = source.name
    if name in facts.tables:
        return f'the table "{name}" stands where a number is wanted', f"take an item of it, as in item 1 of {name}"
    if facts.open_inputs:
        why = f'"{name}" stands where a number is wanted, but a name that is never bound is a sequence given as input'
        return why, f"give its value if it is a size: `--size {name}=…`; take an item of it if it is a sequence"
    return f'the weight "{name}" stands where a number is wanted', "take an item of it, or use a size of the spec"
