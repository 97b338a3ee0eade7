"""Spelled programs with one thing changed: what still lifts must compute what the changed program computes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from lift.spellings.outcome import Outcome, Spelled, facts, given
from lifting import agree, lifted, parse

from spatial.errors import SourceError, UsageError
from spatial.logos.interpret import interpret

_CHANGES: tuple[tuple[str, str, str], ...] = (
    ("an index off by one", r"item (\w+) of", r"item (\1 - 1) of"),
    ("an index off by one", r"item (\w+) of", r"item (\1 + 1) of"),
    ("an index off by one", r"\[(\w+)\]", r"[\1 + 1]"),
    ("another index", r"item \(([^()]+)\) of", r"item (\1 - 1) of"),
    ("a bound short by one", r"Repeat for (\w+) from (\w+) to (.+):", r"Repeat for \1 from \2 to (\3) - 1:"),
    ("a first term dropped", r"Repeat for (\w+) from (\w+) to", r"Repeat for \1 from \2 + 1 to"),
    ("a sign", r" \+ ", " - "),
    ("a sign", r" - ", " + "),
    ("a product", r" \* ", " + "),
    ("operands swapped", r"\((\w+) - (\w+)\)", r"(\2 - \1)"),
    ("operands swapped", r"\((\w+) / (\w+)\)", r"(\2 / \1)"),
    ("another initial value", r"be 0\.0\.", "be 1.0."),
    ("another initial value", r"be 0\.", "be 1."),
    ("an accumulator not reset", r"(?m)^ +Set (\w+) to 0\.0\.\n", ""),
    ("a comparison", r" > ", " >= "),
    ("a comparison", r" < ", " <= "),
    ("a comparison", r" <= ", " > "),
    ("a dropped guard", r"If .*:", "If 1 < 2:"),
    ("a turned guard", r"If (.*):", r"If not (\1):"),
    ("a maximum", r"max\(", "min("),
    ("a stride", r" \* (rows|cols|head|heads|depth|wide)\b", r" * (\1 - 1)"),
    ("one counter twice", r"\bj(\d?)\b", r"i\1"),
    ("a statement dropped", r"(?m)^ +(Set|Push) .*\n", ""),
    ("an overlapping write", r"Set item \(?(\w+)[^()]*\)? of", r"Set item (\1 / 2 + 1) of"),
    ("a quotient", r" % ", " / "),
)


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Every change at every place: what was changed, and the program. None of a While, which might never end."""
    if "While" in source:
        return
    for name, pattern, replacement in _CHANGES:
        for found in re.finditer(pattern, source):
            changed = source[: found.start()] + found.expand(replacement) + source[found.end() :]
            if changed != source:
                yield name, changed


def judged_mutant(spelled: Spelled, source: str, size: int = 0) -> Outcome | None:
    """What became of a mutant; None where it does not run, or gives no number."""
    known = facts(spelled.problem, size)
    try:
        program = parse(source, "mutant.lg")
    except SourceError:
        return None
    cases = given(spelled.problem, known, 7)
    for tables in cases:
        lists = {n: (v.ravel() if n in spelled.flat else v).tolist() for n, v in tables.items()}
        try:
            ran = interpret(program, {**known.sizes, **lists}, output=lambda _: None)
            held = [np.asarray(ran.variables[n].to_array()) for n in spelled.problem.results]  # type: ignore[union-attr]
        except (SourceError, UsageError, AttributeError, KeyError, ValueError):
            return None
        if not all(np.isfinite(h).all() for h in held if h.dtype.kind in "fi"):
            return None
    found = lifted(program, known, spelled.problem.results)
    if found.graph is None:
        return Outcome(spelled, refused="; ".join(dict.fromkeys(m.why for m in found.missing)))
    dims = {t.name: t.dims for t in found.graph.tensors if t.role == "weight"}  # a weight is as large as it is read
    for whole in cases:
        tables = {n: v[tuple(slice(0, d) for d in dims[n])] if n in dims else v for n, v in whole.items()}
        try:
            agree(program, known, tables, spelled.problem.results, graph=found.graph)
        except (AssertionError, ValueError, IndexError, KeyError) as error:
            return Outcome(spelled, wrong=f"{type(error).__name__} {error}")
    return Outcome(spelled)
