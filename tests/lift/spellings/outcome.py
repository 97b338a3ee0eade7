"""Programs drawn, lifted and held to the interpreter at two sizes and at the bounds of their run-time integers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from lift.spellings.choose import Chooser, again
from lift.spellings.model import Problem
from lift.spellings.nests import spell
from lift.spellings.rows_and_tables import FAMILIES
from lifting import Array, Facts, Table, agree, lifted, parse

from spatial.errors import SourceError
from spatial.logos.interpret import interpret


@dataclass(frozen=True)
class Spelled:
    """A problem and its spelling at both sizes, the inputs indexed flat, and the choices it was made of."""

    problem: Problem
    sources: tuple[str, str]
    flat: frozenset[str]
    choices: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Outcome:
    """`refused`: the reason, where the program did not lift; `wrong`: where it lifted to something else."""

    spelled: Spelled
    refused: str = ""
    wrong: str = ""


def draw(number: Callable[[int], int]) -> Spelled:
    """A program of a family, drawn with `number(n)`, a number below n."""
    choose = Chooser(number)
    problem = FAMILIES[choose.below(len(FAMILIES))](choose)
    start = len(choose.drawn)
    first, flat = spell(problem, choose, 0)
    second, _ = spell(problem, again(choose.drawn[start:]), 1)
    return Spelled(problem, (first, second), flat, {n: frozenset(v) for n, v in choose.used.items()})


def facts(problem: Problem, size: int) -> Facts:
    sizes = problem.sizes[size]

    def number(form: object) -> int:
        found = form.value(sizes)  # type: ignore[attr-defined]
        assert found is not None
        return found

    tables = {
        n: Table(
            tuple(number(s) for s in t.shape),
            t.kind.lower(),
            None if t.range is None else (number(t.range[0]), number(t.range[1])),
            t.state,
        )
        for n, t in problem.inputs.items()
        if not t.weight
    }
    return Facts(dict(sizes), tables, tuple(n for n, t in problem.inputs.items() if t.weight), problem.assume)


def given(problem: Problem, known: Facts, seed: int) -> list[dict[str, Array]]:
    """Inputs: with every integer drawn, with every one-item integer least, and greatest."""
    rng = np.random.default_rng(seed)
    found: list[dict[str, Array]] = []
    for way in (0, 1, 2):
        tables: dict[str, Array] = {}
        for name, t in problem.inputs.items():
            shape = tuple(s.value(known.sizes) or 0 for s in t.shape)
            table = known.tables.get(name)
            if table is None or table.range is None:
                tables[name] = rng.normal(size=shape)
            elif shape == (1,) and way:
                tables[name] = np.full(shape, table.range[way - 1])
            else:
                tables[name] = rng.integers(table.range[0], table.range[1] + 1, size=shape)
        found.append(tables)
    single = any(t.kind == "Int" and [s.value(known.sizes) for s in t.shape] == [1] for t in problem.inputs.values())
    return found if single else found[:1]


def judged(spelled: Spelled, seed: int = 1) -> Outcome:
    """What became of a program. Raises SourceError where the interpreter itself refuses it: no such is drawn."""
    problem = spelled.problem
    for size, source in enumerate(spelled.sources):
        known = facts(problem, size)
        program = parse(source, "spelled.lg")
        cases = given(problem, known, seed)
        found = lifted(program, known, problem.results)
        try:
            if found.graph is None:
                lists = {n: (v.ravel() if n in spelled.flat else v).tolist() for n, v in cases[0].items()}
                interpret(program, {**known.sizes, **lists}, output=lambda _: None)
                return Outcome(spelled, refused="; ".join(dict.fromkeys(m.why for m in found.missing)))
            for tables in cases:
                agree(program, known, tables, problem.results, graph=found.graph, flat=spelled.flat)
        except SourceError as error:
            raise AssertionError(f"a program that does not run: {error}\n{source}") from error
        except (AssertionError, ValueError, IndexError, KeyError) as error:
            return Outcome(spelled, wrong=f"size {size}: {type(error).__name__} {error}")
    return Outcome(spelled)


def cause(reason: str) -> str:
    """A reason without the names and numbers of its program."""
    return re.sub(r"\d+", "N", re.sub(r'"[^"]*"', "NAME", reason))


def report(outcomes: Sequence[Outcome]) -> Iterable[str]:
    """Counts: by family, causes with an example each, and the choices that refusals go with."""
    refused = [o for o in outcomes if o.refused]
    wrong = [o for o in outcomes if o.wrong]
    count = len(outcomes) - len(refused)
    yield f"{count} of {len(outcomes)} lifted ({count / len(outcomes):.1%}), {len(wrong)} of them wrong"
    for label in (
        lambda o: o.spelled.problem.family,
        lambda o: f"{o.spelled.problem.family}, {o.spelled.problem.variant}",
    ):
        yield ""
        whole, lost = Counter(map(label, outcomes)), Counter(map(label, refused))
        for name, n in sorted(whole.items()):
            yield f"{n - lost[name]:6} of {n:6}  {1 - lost[name] / n:7.1%}  {name}"
    yield ""
    used = Counter((c, v) for o in outcomes for c, vs in o.spelled.choices.items() for v in vs)
    lost = Counter((c, v) for o in refused for c, vs in o.spelled.choices.items() for v in vs)
    for (name, option), n in sorted(used.items(), key=lambda item: (-lost[item[0]] / item[1], item[0]))[:25]:
        yield f"refused {lost[name, option] / n:7.1%} of {n:6}  {name}: {option}"
    for reason, n in Counter(cause(o.refused) for o in refused).most_common():
        yield f"\n---- {n} refused: {reason}"
        shortest = min((o for o in refused if cause(o.refused) == reason), key=lambda o: len(o.spelled.sources[0]))
        yield shortest.refused
        yield shortest.spelled.sources[0]
    for o in wrong:
        yield f"\n==== WRONG {o.spelled.problem.family} {o.spelled.problem.variant}: {o.wrong}\n{o.spelled.sources[0]}"
