"""The driver: a lifted program and the agreed layouts to a program for a target, with honest counts.

The program exists only when every statement was lowered and the sections composed; whatever was not is listed with its
reason. Knows no file and no spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spatial.errors import Bug, Refused, SpatialError
from spatial.graph.describe import carried_state, state_order
from spatial.graph.remainders import with_remainders
from spatial.graph.settle import settle
from spatial.ir import graph as g
from spatial.ir.program import Program, Tensor
from spatial.ir.validate import validate_graph, validate_program
from spatial.lowering.dividing import divided
from spatial.lowering.outcome import NOTHING, Made, ProgramLowering
from spatial.lowering.sections import Lowering, Options
from spatial.passes.compose import Composer, Section
from spatial.select.handing import held_ranges
from spatial.select.layouts import TableLayout, store_all
from spatial.select.parts import parts_of, share
from spatial.select.pieces import Stored
from spatial.select.places import outside
from spatial.select.section import select
from spatial.select.staging import Staged, remade, staged
from spatial.target import Target


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
    put, stored = divided(*_staged(graph, tables, target), tables, target, options)
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
