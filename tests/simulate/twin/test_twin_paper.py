"""Cycles of small bodies, each counted on paper on a chip of round figures (`pipes.PAPER`)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulate.twin.pipes import PAPER, cycles, mapped, memory, spread, summed

SLOW = memory(PAPER, rate=32.0, unplaced=32.0)
"""A bank takes 128 cycles a page."""
TWO = memory(PAPER, banks=2, rate=64.0, unplaced=64.0)
"""Two banks of 128 cycles a page each."""
LAST = 1 + 64 + 1 + 10
"""From a page's evaluation on: packed, sent by its mover, served by the bank, and the message there."""


def test_one_page_goes_through_every_part_once():
    """0 issued, 1 served, 501 here, 533 negated, 534 packed, 598 sent, 599 served, 609 landed."""
    assert cycles(mapped(1)) == 501 + 32 + LAST == 609


def test_with_one_buffer_each_page_waits_for_the_latency():
    """Page k + 1 is issued when page k is negated: 533 cycles after page k was."""
    assert cycles(mapped(5, depth=1)) == 4 * 533 + 609


def test_with_two_buffers_two_pages_share_a_latency():
    """Pages 0, 1 are issued at 0 and 8 and negated at 533, 565; pages 2, 3 are issued then, so negated 533 later, at
    1066 and 1098. The store sends page 2 from 1067 to 1131 and, after it, page 3 to 1195."""
    assert cycles(mapped(4, depth=2)) == 1195 + 1 + 10
    assert cycles(mapped(4, depth=1)) == 3 * 533 + 609


def test_the_memory_binds_where_it_is_slow():
    """Ten pages are served one after the other, 128 cycles each; then the last one's latency, sum, and store."""
    assert cycles(summed(10, depth=16), SLOW) == 10 * 128 + 500 + 32 + 1 + 64 + 128 + 10


def test_computing_binds_where_it_is_slow():
    """An exp takes 8 * 32 cycles a page, ten of them from the first page's arrival on."""
    assert cycles(mapped(10, depth=8, op="exp")) == 501 + 10 * 256 + LAST


def test_getting_pages_out_of_scratch_binds_where_it_is_slower_than_computing():
    """4096 bytes at 8 a cycle take 512 cycles, where an exp takes 256."""
    assert cycles(mapped(10, depth=8, op="exp"), replace(PAPER, unpack=8.0)) == 501 + 10 * 512 + LAST


def test_packing_goes_on_beside_computing():
    """A page packs in 512 cycles while the next is made: what takes longer, packing, follows the first exp."""
    assert cycles(mapped(10, depth=8, op="exp"), replace(PAPER, pack=8.0)) == 501 + 256 + 10 * 512 + 64 + 1 + 10


def test_every_iteration_and_every_phase_costs_what_the_target_says():
    """Each stage takes its step once before its page: 20 to issue; 20 to take up the sum once for the item's end and
    once for the page, both before the page is there; so does the store."""
    target = replace(PAPER, step_cycles=20.0, section_cycles=1000.0)
    assert cycles(summed(1, depth=1), target) == 1000 + 20 + 501 + 32 + LAST


def test_a_multicast_is_one_transfer_and_each_member_is_as_far_as_it_is():
    """501 the page is on the first site, 565 sent; the fourth has it 10 + 3 * 2 later and goes on as any pipe. The
    next page is read once the first has been sent, 565 cycles after it."""
    one = 565 + 16 + 32 + LAST
    assert cycles(spread(1, sites=4)) == one
    assert cycles(spread(3, sites=4)) == one + 2 * 565


@pytest.mark.parametrize("down", (False, True))
def test_a_line_carries_one_page_at_a_time(down: bool):
    """Along a row or down a column, a link of 4 bytes a cycle has a page for 1024: they leave at 501, 1525, 2549."""
    narrow = replace(PAPER, network=replace(PAPER.network, link=4.0))
    assert cycles(spread(3, sites=4, down=down), narrow) == 501 + 2 * 1024 + 64 + 16 + 32 + LAST


def test_a_scatter_is_one_transfer_a_member():
    """Four pages are read 8 cycles apart, here by 525; the fourth one leaves after three others of 64 cycles."""
    assert cycles(spread(1, sites=4, kind="scatter")) == 525 + 4 * 64 + 16 + 32 + LAST


def test_freed_room_is_told_across_the_network():
    """With one slot at a member 6 hops away, page k + 1 leaves once page k is negated there and the news is back."""
    far = spread(2, sites=7, depth=1)
    way = 10 + 6 * 2
    # The second page is read at 565 and here at 1066; the slot is freed at 565 + 22 + 32 and known 22 later, sooner.
    assert cycles(far) == 1066 + 64 + way + 32 + LAST
    slow = replace(PAPER, vector=replace(PAPER.vector, results=1.0))  # an operation takes 1024 cycles
    assert cycles(far, slow) == 565 + way + 1024 + way + 64 + way + 1024 + LAST


@pytest.mark.parametrize(("across", "served"), ((2, 16 * 128), (3, 8 + 8 * 128)))
def test_a_stride_that_shares_a_factor_with_the_banks_camps_on_some(across: int, served: int):
    """A column of 16 tiles, rows 2 tiles wide: every tile in one of two banks. Rows 3 tiles wide: in turn, the second
    bank from cycle 8 on; then the last two pages are there 8 cycles apart, and the sum of the last one waits 24."""
    wait = 0 if across == 2 else 24
    assert cycles(summed(16, depth=16, across=across), TWO) == served + 500 + wait + 32 + 1 + 64 + 128 + 10


def test_readers_with_a_bank_each_are_placed_and_others_are_not():
    """Two sites read a column each of rows 2 tiles wide: a bank each, so at the placed rate. Side by side, 16 tiles
    each, both meet both banks and are served at the rate of readers anywhere."""
    target = memory(TWO, unplaced=32.0)
    placed = cycles(summed(16, depth=16, sites=2), target)
    anywhere = cycles(summed(16, depth=16, sites=2, down=False), target)
    store = 256  # stores are never placed
    assert placed == 16 * 128 + 500 + 32 + 1 + 64 + store + 10
    assert anywhere >= 32 * 4096 / 32 + 500


def test_a_page_of_many_rows_is_many_transactions():
    """A flat page of 32 rows of 128 bytes, rows 256 bytes apart: the mover issues 32 reads 8 cycles apart, and the last
    is served at 31 * 8 and what a run takes, 128 / 4096 of a cycle; the port takes 512 / 64 for each, 32 * 8."""
    body = mapped(1)
    x = replace(body.operands[0], layout="flat", extent=(1, 32, 64))
    assert cycles(replace(body, operands=(x, body.operands[1]))) == 31 * 8 + 500 + 32 + LAST
