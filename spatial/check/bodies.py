"""All obligations of one body, judged once however often it is called.

Obligations 1 to 9 and 13. Later ones build on earlier ones: a body without a meaning is judged no further, and what
needs balanced queues or a covered grid waits for them. Knows no tensor and no call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spatial.check.accesses import check_indices, check_operands, reached
from spatial.check.cover import Box
from spatial.check.datapaths import check_precisions
from spatial.check.integers import Values, check_integers
from spatial.check.items import check_items
from spatial.check.multicast import check_groups, check_idle_senders
from spatial.check.queues import check_queues
from spatial.check.resources import Needs, check_resources, needs_of
from spatial.check.schedule import check_schedule
from spatial.check.spans import Span
from spatial.check.stage_parts import access_of
from spatial.check.stores import Written, check_stores
from spatial.check.verdict import Log
from spatial.check.wellformed import check_shape
from spatial.ir.body import Body
from spatial.target import Target


@dataclass(frozen=True)
class Facts:
    """What was proved of a body: what it needs of a site, and what it reads and stores through each operand.

    `stored`: the values stored, `written` and `read` the places, by operand name.
    """

    needs: Needs
    stored: Mapping[str, Span]
    written: Mapping[str, Written]
    read: Mapping[str, tuple[Box, ...]]


def check_body(body: Body, target: Target, place: str, log: Log) -> Facts | None:
    """The facts of `body`, or None where something does not hold; `log` is told what."""
    before = log.findings
    if not check_shape(body, target, place, log):
        return None
    check_precisions(body, target, place, log)
    covered = check_items(body, place, log)
    if not (check_groups(body, target, place, log) and check_queues(body, place, log)):
        return None
    check_resources(body, target, place, log)
    check_schedule(body, target, place, log)
    if not (covered and check_operands(body, place, log)):
        return None
    check_idle_senders(body, place, log)
    values = check_integers(body, target, place, log)
    written: Mapping[str, Written] = {}
    if check_indices(body, values.queues, place, log):
        written = check_stores(body, values.queues, target, place, log)
    if log.findings > before:
        return None
    return Facts(needs_of(body, target), values.stored, written, _reads(body, values))


def _reads(body: Body, values: Values) -> dict[str, tuple[Box, ...]]:
    """Boxes around what each load touches, by operand."""
    out: dict[str, tuple[Box, ...]] = {}
    for stage in body.stages:
        if stage.kind == "load":
            box = reached(body, stage, values.queues)
            name = access_of(stage).operand
            out[name] = out.get(name, ()) + (() if box is None else (box,))
    return out
