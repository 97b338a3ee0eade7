"""The driver: a lifted program and the agreed layouts to a program for a target, with honest counts.

Each statement becomes one section, or one for each part; a section is a template, then the pinned passes; equal
templates are planned once. The program exists only when every statement was lowered and the sections composed; whatever
was not is listed with its reason. Knows no file and no spec.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spatial.errors import Bug, Refused, SpatialError, Unsupported, counted
from spatial.graph.describe import carried_state, state_order
from spatial.graph.remainders import with_remainders
from spatial.graph.settle import settle
from spatial.ir import graph as g
from spatial.ir.body import Body
from spatial.ir.program import Program, Tensor
from spatial.ir.validate import validate_graph, validate_program
from spatial.numerics import int_range
from spatial.passes import run_passes
from spatial.passes.compose import Composer, Operand, Section
from spatial.passes.intervals import prove
from spatial.select.emit import OperandBind, Template
from spatial.select.handing import held_ranges, held_to
from spatial.select.layouts import TableLayout, store_all
from spatial.select.parts import parts_of, share
from spatial.select.pieces import Stored
from spatial.select.places import outside, unbound
from spatial.select.section import select
from spatial.select.staging import Staged, remade, staged
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


@dataclass(frozen=True)
class Made:
    """What became of a statement, by its node in the graph and its place in a block's body (-1: in none): the kind of
    its section, and the body of each of its parts."""

    node: int
    inner: int
    kind: str
    bodies: tuple[Body, ...]


@dataclass(frozen=True)
class ProgramLowering:
    """What became of a program: counts always, the program only where every statement was lowered and composed.

    `missing`: statements refused for a reason of their own; `depending`: those that read what is missing. `state`:
    tables in the order in which they are first met; `carried`: those of them that no call assembles whole. `kinds`:
    sections by kind, block instances counted; `views`: statements that became views; `fills`: (IR tensor, graph tensor)
    of each constant; `planned`: distinct sections planned here; `made`: what each statement that was lowered became.
    """

    program: Program | None
    statements: int
    lowered: int
    sections: int
    missing: tuple[g.Missing, ...]
    state: tuple[str, ...]
    carried: tuple[str, ...]
    kinds: tuple[tuple[str, int], ...] = ()
    views: int = 0
    fills: tuple[tuple[str, int], ...] = ()
    planned: int = 0
    depending: tuple[g.Missing, ...] = ()
    made: tuple[Made, ...] = ()

    def whole(self) -> Program | None:
        """The program, or None where the lowering is partial."""
        whole = self.statements > 0 and self.lowered == self.statements and not self.missing
        return self.program if whole else None

    def into_whole(self) -> Program:
        """The program; raises `Refused` with the refusal a partial lowering earns."""
        program = self.whole()
        if program is None:
            raise Refused(self.refusal())
        return program

    def refusal(self) -> str:
        """The fraction lowered, up to `g.NAMED` missing statements by name, how many more, and what depends on them."""
        if not self.statements:
            return NOTHING
        if self.lowered == self.statements:
            why = "".join(f": {m.why}" for m in self.missing)
            return (
                f"lowered {self.lowered} of {self.statements} statements into {self.sections} sections, which did not "
                f"compose to one program{why}"
            )
        named = [f"{_place(m)}`{m.binder}` ({m.kind}): {m.why}" for m in self.missing[: g.NAMED]]
        more = len(self.missing) - g.NAMED
        tail = [f"and {more} more"] if more > 0 else []
        if self.depending:
            tail.append(f"{counted(len(self.depending), 'statement')} more read what is missing")
        return f"lowered {self.lowered} of {self.statements} statements; not lowered: " + "; ".join(named + tail)


NOTHING = "the source has no statement that computes a tensor, so there is nothing to lower"
"""What a source without tensor statements earns: never an empty program."""


def _place(m: g.Missing) -> str:
    return f"{m.file}:{m.line}:{m.column} " if m.file else ""


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


def lower(
    lifted: g.Lifted, tables: Mapping[str, TableLayout], target: Target, options: Options | None = None
) -> ProgramLowering:
    """Lower a lifted program under the agreed layouts of its tables; where it is lifted in part, that part, for the
    counts.

    Never raises for a statement that cannot be lowered: it is listed as missing. Raises only for faults of ours.
    """
    options = options or Options()
    lifted_graph = lifted.graph or lifted.partial
    if lifted_graph is None:
        nothing = ProgramLowering(None, lifted.statements, 0, 0, lifted.missing, (), ())
        return replace(nothing, depending=lifted.depending)
    problems = validate_graph(lifted_graph)
    if problems:
        raise Bug(problems)
    graph = settle(with_remainders(lifted_graph))
    numbers = {owner: number for number, owner in enumerate(_owners(graph))}
    number = len(numbers)
    put, stored = _staged(graph, tables, target)
    graph = put.graph
    work = Lowering(target, options, stored, put.kept, held_ranges(graph))
    origins = {(o.node, o.inner): o for o in lifted.origins}
    groups: list[tuple[g.Block | None, list[Section]]] = []
    made: list[Made] = []
    for node, owners in zip(graph.nodes, put.owners, strict=True):
        block = node if isinstance(node, g.Block) else None
        body = node.body if isinstance(node, g.Block) else (node,)
        if block is not None or not groups or groups[-1][0] is not None:
            groups.append((block, []))
        for statement, owner in zip(body, owners, strict=True):
            source = numbers.get(owner, number)
            kind, sections = work.sections(statement, origins.get(owner), source, block.trip if block else 1)
            made += [Made(*owner, kind, tuple(s.body for s in sections))] if sections else []
            groups[-1][1].extend(sections)
    missing = tuple(dict(reversed(work.missing)).values())[::-1] + lifted.missing
    count = sum(work.kinds.values())
    tensors = {n: _tensor(graph, n, work.stored[n]) for n in range(len(graph.tensors))}
    program = None
    refused = len(missing) + len(lifted.depending)
    if not lifted.statements:
        missing = (g.Missing(0, "", "nothing", NOTHING),)
    elif not refused and lifted.graph is not None:
        try:
            program = _compose(graph, groups, tensors, target, options)
        except SpatialError as e:
            if isinstance(e, Bug):
                raise
            missing = (g.Missing(number, "", "compose", str(e.problems[0].what)),)
    fills = tuple((work.stored[n].name, n) for n, t in enumerate(graph.tensors) if t.role == "fill")
    if program is not None:
        named = {t.name for t in program.tensors}
        fills = tuple(f for f in fills if f[0] in named)
    return ProgramLowering(
        program,
        lifted.statements,
        lifted.statements - refused,
        count,
        missing,
        state_order(lifted_graph, lifted.origins),
        carried_state(lifted_graph, lifted.origins),
        tuple(sorted(work.kinds.items())),
        lifted.views,
        fills,
        work.planned,
        lifted.depending,
        tuple(made),
    )


def _staged(graph: g.Graph, tables: Mapping[str, TableLayout], target: Target) -> tuple[Staged, dict[int, Stored]]:
    """The graph as sections can run it, and its layouts: parts that do not fit beside each other are joined first, and
    places that may lie outside are held inside."""
    put = staged(graph)
    while True:
        stored = store_all(put.graph, tables, target)

        def unfit(statement: g.Statement, stored: dict[int, Stored] = stored) -> bool:
            try:
                parts = parts_of(statement, stored, target)
                if len(parts) > 1:
                    share(target, len(parts))
            except Refused:
                return True
            return False

        def astray(statement: g.Statement, stored: dict[int, Stored] = stored) -> bool:
            try:
                bodies = [select(p, stored, target).body for p in parts_of(statement, stored, target)]
            except Refused:
                return False
            return any(outside(b) is not None for b in bodies)

        other = remade(put, unfit, astray)
        if other is None:
            return put, stored
        put = other


def _owners(graph: g.Graph) -> Iterator[tuple[int, int]]:
    """Every statement of a graph as (node, position in a block's body or -1)."""
    for n, node in enumerate(graph.nodes):
        if isinstance(node, g.Block):
            yield from ((n, k) for k in range(len(node.body)))
        else:
            yield n, -1


def _compose(
    graph: g.Graph,
    groups: list[tuple[g.Block | None, list[Section]]],
    tensors: dict[int, Tensor],
    target: Target,
    options: Options,
) -> Program:
    composer = Composer(graph, tensors, target)
    for block, sections in groups:
        if block is None:
            composer.run(sections)
        else:
            composer.block(block, sections)
    wanted = [(n, t) for n, t in graph.results if options.results is None or n in options.results]
    program = composer.finish(wanted, options.assume)
    problems = validate_program(program, target)
    if problems:
        raise Bug(problems)
    return program


def _tensor(graph: g.Graph, number: int, stored: Stored) -> Tensor:
    """The IR tensor of a graph tensor."""
    roles = {"fill": "weight", "made": "intermediate"}
    tables = {t.name: t.role for t in graph.tensors if t.name}
    role = tables.get(stored.name) or roles[graph.tensors[number].role]
    return Tensor(stored.name, stored.view.shape, stored.prec, role, stored.layout, stored.range)
