"""Every item of a statement is made once: the last gate, asked of statements and of programs that pass the others."""

from __future__ import annotations

import pytest
from effort import effort
from lifting import Facts, Table, agree, floats, ints, lifted, refusals

from spatial.lift.algebra.arith import nonneg
from spatial.lift.algebra.values import Node, Piece, Source, Sym, combine, get, integer, plus, real, scale
from spatial.lift.canonical.once import check_once
from spatial.lift.canonical.units import Unit
from spatial.lift.carried import close_sequences
from spatial.lift.context import writes
from spatial.lift.context.state import NotLifted
from spatial.lift.execution import stores

FACTS = Facts(
    {"n": 6, "m": 4},
    {
        "x": Table((6,), "float"),
        "grid": Table((6, 4), "float"),
        "count": Table((1,), "int", (0, 4)),
        "kept": Table((6, 4), "float", state=True),
    },
)
MEET = 'two writes of "y" may meet, and nothing says which comes last'
AGAIN = 'several iterations may write the same item of "y"'
OPEN = 'not every item of "y" is known to be written'


def unit(shape: tuple[int, ...], *pieces: Piece, base: Unit | None = None) -> Unit:
    made = Unit("y", shape, "float", 1, None)
    made.pieces, made.base = pieces, base
    return made


def below(*shape: int) -> Unit:
    vars = tuple(Sym("k", d) for d in shape)
    return unit(shape, Piece(vars, (), vars, real(0.0)))


def part(*pos: Node, guards: tuple[Node, ...] = (), ordered: bool = False) -> Piece:
    """A piece over the variables of its places, in the order in which they were made."""
    free = {s for i in pos for s in i.free if isinstance(s, Sym)}
    return Piece(tuple(sorted(free, key=lambda s: s.serial)), guards, pos, real(1.0), ordered)


def sym(extent: int) -> Sym:
    return Sym("i", extent)


COUNT = get(Source("count", "input", (1,), "int", (0, 4), False), (integer(0),))


def held() -> dict[str, Unit]:
    late = sym(6)
    return {
        "one piece everywhere": unit((6, 4), part(sym(6), sym(4))),
        "axes exchanged in a square": unit((4, 4), (lambda a, b: part(b, a))(sym(4), sym(4))),
        "two runs that meet end to end": unit((6,), part(sym(4)), part(plus(sym(2), 4))),
        "even and odd places": unit((6,), part(scale(sym(3), 2)), part(plus(scale(sym(3), 2), 1))),
        "halves of flat rows": unit(
            (24,),
            part(combine(scale(sym(3), 8), sym(4))),
            part(plus(combine(scale(sym(3), 8), sym(4)), 4)),
        ),
        "counted down": unit((6,), part(plus(scale(sym(6), -1), 5))),
        "one row over another tensor": unit((6, 4), part(integer(2), sym(4)), base=below(6, 4)),
        "what is kept in order may meet itself": unit((6,), part(COUNT, ordered=True), base=below(6)),
        "what begins where a run-time place ends": unit(
            (9,),
            part(COUNT),
            part(plus(late, 1), guards=(nonneg(combine(late, COUNT, -1)),)),
            base=below(9),
        ),
        "one run-time place and the next": unit((9,), part(COUNT), part(plus(COUNT, 1)), base=below(9)),
    }


def broken() -> dict[str, tuple[str, Unit]]:
    late = sym(6)
    return {
        "runs that share an item": (MEET, unit((6,), part(sym(4)), part(plus(sym(3), 3)))),
        "the same place twice": (MEET, unit((2,), part(integer(1)), part(integer(1)))),
        "a number twice": (MEET, unit((), part(), part())),
        "strides that meet": (MEET, unit((9,), part(scale(sym(5), 2)), part(scale(sym(3), 3)), base=below(9))),
        "a run-time place in a run": (MEET, unit((9,), part(COUNT), part(sym(4)), base=below(9))),
        "what begins at a run-time place": (
            MEET,
            unit((9,), part(COUNT), part(late, guards=(nonneg(combine(late, COUNT, -1)),)), base=below(9)),
        ),
        "a row twice": (
            MEET,
            unit((6, 4), part(integer(2), sym(4)), part(sym(6), integer(3)), base=below(6, 4)),
        ),
        "halves of flat rows that are too long": (
            MEET,
            unit(
                (24,),
                part(combine(scale(sym(3), 8), sym(5))),
                part(plus(combine(scale(sym(3), 8), sym(4)), 4)),
                base=below(24),
            ),
        ),
        "a sum of two variables": (AGAIN, unit((6,), part(combine(sym(3), sym(4))))),
        "a run-time place again and again": (
            AGAIN,
            unit((6,), Piece((sym(2),), (), (COUNT,), real(1.0)), base=below(6)),
        ),
        "a run that ends early": (OPEN, unit((6,), part(sym(5)))),
        "a run-time place alone": (OPEN, unit((6,), part(COUNT))),
        "under a condition": (OPEN, unit((6,), part(late, guards=(nonneg(combine(late, COUNT, -1)),)))),
    }


@pytest.mark.parametrize("name", held())
def test_a_statement_that_makes_each_item_once_passes(name: str) -> None:
    check_once([held()[name]])


@pytest.mark.parametrize("name", broken())
def test_a_statement_that_may_not_is_refused(name: str) -> None:
    why, made = broken()[name]
    with pytest.raises(NotLifted) as refusal:
        check_once([below(3), made])
    assert refusal.value.why == why


PUSHED = """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to count[1]:
    Push x[j] to y.
Push x[n] * 2.0 to y.
Repeat for j from count[1] + 1 to n:
    Push x[j] to y.
"""

ROW = """## Main
Repeat for j from 1 to m:
    Set item j of (item 2 of kept) to x[j].
Repeat for i from 1 to n:
    Set item 3 of (item i of kept) to x[i].
Let y be item 1 of (item 1 of kept).
"""

BESIDE = """## Main
Repeat for j from 1 to m:
    Set item j of (item 2 of kept) to x[j].
Repeat for j from 1 to m:
    Set item j of (item 3 of kept) to x[j] * 2.0.
Let y be item 1 of (item 1 of kept).
"""


def test_pieces_put_side_by_side_where_a_run_time_count_ends_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lifter once took what is pushed after such a loop for a piece beside it."""
    for module in (stores, close_sequences):
        monkeypatch.setattr(module, "grows_late", lambda _: False)
    why = [why for _, why in refusals(PUSHED, FACTS)]
    assert why == [MEET]


def test_such_a_sequence_lifts_as_it_is() -> None:
    for count in (0, 2, 4):
        agree(PUSHED, FACTS, {"x": floats(1, 6), "count": ints(1, count, count, 1)})


def test_writes_taken_to_be_apart_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "disjoint", lambda *_: True)
    assert [why for _, why in refusals(ROW, FACTS)] == [MEET.replace('"y"', '"kept"')]
    assert lifted(BESIDE, FACTS).graph is not None


@pytest.mark.parametrize("source", (ROW, BESIDE), ids=("crossing", "beside"))
def test_writes_of_rows_lift_as_they_are(source: str) -> None:
    agree(source, FACTS, {"x": floats(1, 6), "kept": floats(2, 6, 4)})


def rows(count: int) -> Unit:
    """Rows written one by one, each in interleaved halves."""
    places = [(integer(n), plus(scale(sym(2), 2), half)) for n in range(count) for half in (0, 1)]
    return unit((count, 4), *(part(*pos) for pos in places))


def test_four_times_the_pieces_cost_four_times() -> None:
    few, many = (effort(lambda u=u: check_once([u]))[1] for u in (rows(50), rows(200)))
    assert many <= 4.4 * few
