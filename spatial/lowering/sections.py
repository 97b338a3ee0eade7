"""The sections of one statement after the other: templates, integers proved, the pinned passes; each plan made once.

Knows no file and no spec.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spatial.errors import Refused, Unsupported
from spatial.ir import graph as g
from spatial.ir.body import Body
from spatial.numerics import int_range
from spatial.passes import run_passes
from spatial.passes.compose import Operand, Section
from spatial.passes.intervals import prove
from spatial.select.emit import OperandBind, Template
from spatial.select.handing import held_to
from spatial.select.parts import parts_of, share
from spatial.select.pieces import Stored
from spatial.select.places import outside, unbound
from spatial.select.section import select
from spatial.target import Target

Lookup = Callable[[Body], Body | None]
"""What another build made of a template, if it is known: from the section cache."""


@dataclass(frozen=True)
class Options:
    """What a caller asks of a lowering.

    `results`: names read from outside (None: every result the graph has); `assume`: relations between inputs; `lookup`
    and `keep`: a cache of planned sections, by template; `run`: takes a template through the pinned passes, for a
    caller that watches them.
    """

    results: frozenset[str] | None = None
    assume: tuple[str, ...] = ()
    lookup: Lookup | None = None
    keep: Callable[[Body, Body], None] | None = None
    run: Callable[[Body, Target], Body] = run_passes


@dataclass
class Lowering:
    """One lowering under way."""

    target: Target
    options: Options
    stored: dict[int, Stored]
    kept: frozenset[int]
    """The versions of state: what a statement does not write of them is still there."""
    held: Mapping[int, tuple[int, int]]
    """The ranges that readers of integers rely on, by tensor: indices, and what blocks hand on."""
    done: dict[tuple[Body, Target], Body] = field(default_factory=dict[tuple[Body, Target], Body])
    kinds: Counter[str] = field(default_factory=Counter[str])
    missing: list[tuple[int, g.Missing]] = field(default_factory=list[tuple[int, g.Missing]])
    """What is refused, each with the number of its statement in the graph."""
    planned: int = 0

    def sections(
        self, statement: g.Statement, origin: g.Origin | None, number: int, times: int
    ) -> tuple[str, list[Section]]:
        """The kind and section of a statement, or those of its parts; none, its reason listed, where it is refused."""
        kind = "unrecognized"
        try:
            parts = parts_of(statement, self.stored, self.target)
            templates = self.templates(parts)
            kind = templates[0].kind if len(parts) == 1 else "parts"
            parts, templates, narrowed = self.ranged(statement, parts, templates)
            for template, body in zip(templates, narrowed, strict=True):
                astray = outside(body) or unbound(template, self.stored, times)
                if astray is not None:
                    raise astray
            sites = self.target if len(parts) == 1 else share(self.target, len(parts))
            bodies = [self.lowered(b, sites) for b in narrowed]
        except (Refused, Unsupported) as e:
            first = e.problems[0]
            why = "; ".join(part for p in e.problems for part in (p.what, p.why) if part)
            place, name, file, line, column = (number, "", "", 0, 0) if origin is None else _where(origin)
            self.missing.append((number, g.Missing(place, name, kind, why, first.mend, file, line, column)))
            return kind, []
        self.kinds[kind] += times * len(parts)
        return kind, [
            Section(body, tuple(_operand(b) for b in template.binds), part)
            for body, template, part in zip(bodies, templates, parts, strict=True)
        ]

    def templates(self, parts: Sequence[g.Statement], bounded: bool = False) -> list[Template]:
        """The template of each part of a statement."""
        return [select(p, self.stored, self.target, bounded) for p in parts]

    def ranged(
        self, statement: g.Statement, parts: tuple[g.Statement, ...], templates: list[Template]
    ) -> tuple[tuple[g.Statement, ...], list[Template], list[Body]]:
        """The parts and templates of a statement, and their bodies with the ranges proved of what they store.

        Lanes that hang over the box may hold integers larger than any of the statement's; where that matters to a
        reader, they are held to the range it relies on.
        """
        before = self.stored[statement.out]
        held = self.held.get(statement.out) if statement.over is None else None
        templates, narrowed = self.fitted(statement, parts, templates)
        if held is None or _holds(held, self.stored[statement.out].range):
            return parts, templates, narrowed
        self.stored[statement.out] = before
        parts = parts_of(held_to(statement, *held), self.stored, self.target)
        return parts, *self.fitted(statement, parts, self.templates(parts))

    def fitted(
        self, statement: g.Statement, parts: Sequence[g.Statement], templates: list[Template]
    ) -> tuple[list[Template], list[Body]]:
        """The templates and their bodies with ranges proved; where a format holds no more than the statement's
        integers, templates that compute nothing larger in any lane."""
        try:
            return templates, self.narrowed(statement, [t.body for t in templates])
        except Refused as first:
            templates = self.templates(parts, bounded=True)
            try:
                return templates, self.narrowed(statement, [t.body for t in templates])
            except Refused:
                raise first from None

    def lowered(self, template: Body, sites: Target) -> Body:
        """The template through the passes, planned for `sites`; once however often it occurs.

        The caller's cache knows plans for the whole chip only.
        """
        if (template, sites) not in self.done:
            whole = sites == self.target
            known = self.options.lookup(template) if self.options.lookup and whole else None
            if known is None:
                known = self.options.run(template, sites)
                self.planned += 1
                if self.options.keep is not None and whole:
                    self.options.keep(template, known)
            self.done[template, sites] = known
        return self.done[template, sites]

    def narrowed(self, statement: g.Statement, bodies: list[Body]) -> list[Body]:
        """The templates of all parts with what they are together proved to store into an integer tensor declared, for
        them and later sections."""
        stored = self.stored[statement.out]
        if statement.over is not None and statement.out not in self.kept:
            raise Refused(
                "a tensor that is no state is written in part, at places that follow none of its axes",
                "what a program makes is stored whole, so each element asks whether it was written",
                "write rows, columns or every n-th item of it, or make the whole tensor anew",
            )
        if not stored.is_int:
            return bodies
        proved = [i for i in (prove(b, self.target).get("out") for b in bodies) if i is not None]
        if len(proved) < len(bodies):
            return bodies
        interval = min(low for low, _ in proved), max(high for _, high in proved)
        if statement.over is None:
            told = interval if interval != int_range(stored.prec) else None
            self.stored[statement.out] = replace(stored, range=told)
        elif stored.range is None or not (stored.range[0] <= interval[0] and interval[1] <= stored.range[1]):
            raise Refused(
                f"table `{stored.name}` may be given values {list(interval)}, "
                + (f"outside its declared range {list(stored.range)}" if stored.range else "and has no declared range"),
                "what a program writes must lie in what its readers may assume",
                "declare a range of the table in the spec that holds them, or bound what is written",
            )
        declared = self.stored[statement.out].range
        return [
            replace(b, operands=tuple(replace(o, range=declared) if o.mode == "out" else o for o in b.operands))
            for b in bodies
        ]


def _holds(outer: tuple[int, int] | None, inner: tuple[int, int] | None) -> bool:
    """Whether a known range holds another; without one, anything does."""
    return outer is None or inner is None or (outer[0] <= inner[0] and inner[1] <= outer[1])


def _operand(bind: OperandBind) -> Operand:
    return Operand(bind.tensor, bind.origin.const, bind.origin.coef("b"), bind.slices, bind.mode)


def _where(origin: g.Origin) -> tuple[int, str, str, int, int]:
    return origin.statement, origin.name, origin.file, origin.line, origin.column
