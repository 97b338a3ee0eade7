"""Obligation 7: groups of multicasts and scatters.

A group lies on the body's sites, and no site receives from two senders of one stage. Every member runs equally many
turns in one order by the form of items, and balanced rates (obligation 5) make the pages of a group agree. What is left
is idleness: a load's pages of an idle turn are zero, so a sender that passes loaded pages on is not idle in a turn in
which a member has an item.
"""

from __future__ import annotations

import numpy as np

from spatial.check.coords import sites_of, turns_of, whole
from spatial.check.queues import SENDERS, ends_of, first_site
from spatial.check.verdict import Log
from spatial.ir.body import Body, Stage
from spatial.target import Target


def check_groups(body: Body, target: Target, place: str, log: Log) -> bool:
    """Whether every group has its place."""
    before = log.findings
    for stage in body.stages:
        if stage.kind in SENDERS:
            _group(body, stage, target, f"{place}, stage {stage.name}", log)
    return log.findings == before


def _group(body: Body, stage: Stage, target: Target, place: str, log: Log) -> None:
    """A group lies on the body's sites, and no site receives from two senders."""
    at = log.at("multicast", place)
    senders, (w, h) = sites_of(body, stage), stage.group
    alone = (w, h) == (1, 1)
    casts = stage.kind == "multicast" and not alone
    at.require(target.network.count > 0 or alone, "the chip has no network between its sites")
    at.require("rectangle" in target.network.multicast or not casts, "the network of the chip has no multicast")
    received = np.zeros(body.rect, dtype=np.int64)
    for x in range(senders.x, senders.x + senders.w):
        for y in range(senders.y, senders.y + senders.h):
            if x + w > body.rect[0] or y + h > body.rect[1]:
                at.require(
                    False,
                    f"the group of {w} x {h} of the sender ({x}, {y}) leaves the {body.rect[0]} x {body.rect[1]} sites",
                    "shrink the group, or move its sender",
                )
                return
            received[x : x + w, y : y + h] += 1
            log.count("multicast")
    twice = received > 1
    at.require(not twice.any(), f"{first_site(twice)} receives from two senders", "let the groups tile the receivers")


def check_idle_senders(body: Body, place: str, log: Log) -> bool:
    """Whether no sender of loaded pages is idle while a member is not; items and queues are proved before."""
    before = log.findings
    ends = ends_of(body)
    met = turns_of(body, whole(body))
    live = met.live.reshape(*body.rect, -1)
    for stage in body.stages:
        if stage.kind not in SENDERS or stage.ins[0].depth < 0:
            continue
        producers = [body.stages[s] for s, _ in ends[stage.ins[0].queue].producers]
        if not any(p.kind == "load" and p.outs[0].depth >= 0 for p in producers):
            continue
        at = sites_of(body, stage)
        (w, h), fault = stage.group, ""
        for x in range(at.x, at.x + at.w):
            for y in range(at.y, at.y + at.h):
                hungry = live[x : x + w, y : y + h].any(axis=(0, 1)) & ~live[x, y]
                if hungry.any() and not fault:
                    fault = f"in turn {int(np.argmax(hungry))} the sender ({x}, {y}) is idle and a member is not"
        log.at("multicast", f"{place}, stage {stage.name}").require(
            not fault, f"{fault}, so the member would get zeros", "send from a site with an item in every turn"
        )
    return log.findings == before
