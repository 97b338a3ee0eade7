"""Equal sections are planned once, held once, and cost once, however many layers call them."""

from __future__ import annotations

from effort import effort
from graphs import Shape, decoder
from hypothesis import given, settings
from hypothesis import strategies as st
from running import lowered
from support import REFERENCE, TF32

from spatial.ir.body import Body
from spatial.lowering import Options


def test_layers_share_their_bodies():
    few, many = (lowered(decoder(Shape(layers=n)), REFERENCE) for n in (2, 40))
    assert few.planned == many.planned
    a, b = few.into_whole(), many.into_whole()
    assert len(a.bodies) == len(b.bodies) == len(set(b.bodies))
    assert sum(len(p) for p in b.phases) > 15 * sum(len(p) for p in a.phases)


def test_forty_layers_cost_at_most_twice_two():
    """Counted in calls of functions, which no other load of the machine moves."""

    def calls(layers: int) -> int:
        case = decoder(Shape(layers=layers))
        return effort(lambda: lowered(case, REFERENCE))[1]

    assert calls(40) <= 2 * calls(2)


def test_equal_templates_are_planned_once():
    result = lowered(decoder(Shape()), REFERENCE)
    assert result.planned < len(result.into_whole().phases)
    seen: dict[Body, Body] = {}
    first = lowered(decoder(Shape()), REFERENCE, Options(keep=seen.__setitem__))
    assert len(seen) == first.planned
    again = lowered(decoder(Shape()), REFERENCE, Options(lookup=seen.get))
    assert again.planned == 0
    assert again.program == first.program


@settings(max_examples=5, deadline=None)
@given(st.sampled_from((REFERENCE, TF32)), st.integers(1, 3))
def test_equal_graphs_lower_to_equal_programs(target, layers: int):
    assert lowered(decoder(Shape(layers=layers)), target) == lowered(decoder(Shape(layers=layers)), target)
