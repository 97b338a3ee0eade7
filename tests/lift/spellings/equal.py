"""Do spellings of one problem lift to one graph? Each choice is changed alone, against the plainest spelling."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lift.spellings.choose import CHOICES, Chooser
from lift.spellings.model import Problem
from lift.spellings.nests import spell
from lift.spellings.outcome import facts
from lift.spellings.rows_and_tables import FAMILIES
from lifting import lifted, parse

from spatial.ir import wire

PLAIN: Mapping[str, str | None] = {name: options[0] for name, options in CHOICES.items()}


@dataclass(frozen=True)
class Compared:
    """One choice changed in a problem's plainest spelling; `became`: equal, differs or refused."""

    family: str
    choice: str
    became: str
    sources: tuple[str, str]


def spelled(problem: Problem, changed: Mapping[str, str]) -> str:
    """The plainest spelling but for the options `changed`; free draws take the last of what they may."""
    choose = Chooser(lambda n: n - 1, style={**PLAIN, **changed})
    return spell(problem, choose, 0)[0]


def lifted_digest(problem: Problem, source: str) -> str:
    """The digest of the graph of a program; empty if it is refused."""
    found = lifted(parse(source, "spelled.lg"), facts(problem, 0), problem.results)
    return "" if found.graph is None else wire.digest(found.graph)


def compared(family: int, seed: int, choices: Sequence[str] = tuple(CHOICES)) -> Iterator[Compared]:
    """A problem of a family, each option of each choice against the plainest; those that change no text left out."""
    problem = FAMILIES[family](Chooser(random.Random(seed).randrange))
    plain = spelled(problem, {})
    expected = lifted_digest(problem, plain)
    if not expected:
        return
    for name in choices:
        for option in dict.fromkeys(CHOICES[name][1:]):
            source = spelled(problem, {name: option})
            if option == CHOICES[name][0] or source == plain:
                continue
            found = lifted_digest(problem, source)
            became = "refused" if not found else "equal" if found == expected else "differs"
            yield Compared(problem.family, f"{name}: {option}", became, (plain, source))


def table(found: Sequence[Compared]) -> Iterable[str]:
    """By choice and by family, how many are equal; then, of each choice that is not always so, the shortest example."""
    for label in (lambda c: c.choice, lambda c: c.family):
        whole = Counter(map(label, found))
        became = Counter((label(c), c.became) for c in found)
        yield f"{'equal':>7} {'differs':>8} {'refused':>8}"
        for name in sorted(whole, key=lambda n: (became[n, "equal"] / whole[n], n)):
            yield f"{became[name, 'equal']:7} {became[name, 'differs']:8} {became[name, 'refused']:8}  {name}"
        yield ""
    unlike = Counter((c.choice, c.family) for c in found if c.became != "equal")
    yield "not equal, by choice and family:"
    for (choice, family), n in sorted(unlike.items()):
        of = sum((c.choice, c.family) == (choice, family) for c in found)
        yield f"{n:7} of {of:4}  {choice}, {family}"
    for choice in sorted({c for c, _ in unlike}):
        short = min((c for c in found if c.choice == choice and c.became != "equal"), key=lambda c: len(c.sources[1]))
        yield f"\n---- {choice}, {short.family}, {short.became}:\n{short.sources[0]}\n{short.sources[1]}"
