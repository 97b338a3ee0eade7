"""Which engine carries which stage, over candidates: what keeps a mover longest goes to the one with least so far.

What keeps a mover is counted in cycles: issuing reads, sending what is multicast after waiting for it, writing what is
stored. What is sent goes with its load, but where readers stand beside the banks: they read with one mover and send
with another, so that no read waits for a send. Stages that move nothing go to the first engine that carries their kind.
"""

from __future__ import annotations

import numpy as np

from spatial.plan.candidates import Ints
from spatial.plan.figures import sending_cycles
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved
from spatial.target import Target


def sender_name(queue: str) -> str:
    """The stage that sends pages on into a queue."""
    return f"cast_{queue}"


def copy_name(stage: str, column: int) -> str:
    """What the copy of a reader's stage is called that stands in a column of sites."""
    return f"{stage}_column{column}" if column else stage


def engines_of(m: Measures) -> dict[str, Ints]:
    """Of every stage, and of what sends the pages of a load on, the number of its engine among the target's."""
    target, model = m.target, m.model
    names = [e.name for e in target.engines]
    moves = [*model.loads, *model.stores]
    kept = np.column_stack([_kept(m, move) for move in moves]) if moves else np.zeros((m.candidates.count, 0))
    allowed = np.full((len(moves), len(names)), np.inf)
    for n in range(len(moves)):
        for engine in target.engine_of("load" if n < len(model.loads) else "store"):
            allowed[n, names.index(engine)] = 0.0
    carried = np.zeros((m.candidates.count, len(names)))
    chosen = np.zeros((m.candidates.count, len(moves)), dtype=np.int64)
    rows = np.arange(m.candidates.count)
    reader, sender = apart(target)
    for load in model.loads if m.beside.any() else ():
        carried[:, sender] += np.where(m.beside, _sent(m, load), 0.0)
    # Loads first: the stores of a turn wait for its loads in any case.
    loads = len(model.loads)
    reads, writes = (np.argsort(-part, axis=1, kind="stable") for part in (kept[:, :loads], kept[:, loads:]))
    order = np.concatenate((reads, writes + loads), axis=1)
    for rank in range(len(moves)):
        move = order[:, rank]
        engine = np.argmin(carried + allowed[move], axis=1)
        if rank < loads:
            engine = np.where(m.beside, reader, engine)
        carried[rows, engine] += kept[rows, move]
        chosen[rows, move] = engine
    out: dict[str, Ints] = {move.stage: chosen[:, n] for n, move in enumerate(moves)}
    for stage in model.body.stages:
        if stage.name not in out:
            first = names.index(target.engine_of(stage.kind)[0])
            out[stage.name] = np.full(m.candidates.count, first, dtype=np.int64)
    for load in model.loads:
        out[sender_of(m, load)] = np.where(m.beside, sender, out[load.stage])
    return out


def sender_of(m: Measures, load: Moved) -> str:
    """The stage that sends the pages of a load on, where some are."""
    return sender_name(m.model.streams[load.stream].queue)


def apart(target: Target) -> tuple[int, int]:
    """The engines that read and that send where readers stand beside the banks: the first that loads, and the first
    that scatters and is another, if there is one."""
    names = [e.name for e in target.engines]
    reader = names.index(target.engine_of("load")[0])
    senders = [names.index(e) for e in target.engine_of("scatter")]
    return reader, next((n for n in senders if n != reader), reader)


def _kept(m: Measures, moved: Moved) -> Floats:
    """Cycles of a call for which a load or a store keeps its mover."""
    target, stream = m.target, m.model.streams[moved.stream]
    pages, step = m.pages(stream).astype(np.float64), target.step_cycles
    if moved in m.model.stores:
        each = step + pages * moved.runs * sending_cycles(target, moved.run_bytes)
        return each * m.fires(stream) * m.turns
    read = step + np.maximum(m.members(moved), 1) * pages * moved.runs * target.network.issue
    sent = step + target.memory.latency + pages * sending_cycles(target, stream.page_bytes)
    each = read + np.where(m.cast(moved) & ~m.beside, sent, 0.0)
    return each * m.fires(stream) * np.where(m.stays(moved), 1, m.turns)


def _sent(m: Measures, load: Moved) -> Floats:
    """Cycles of a call for which sending a load's pages on keeps the mover of those readers that only send."""
    target, stream = m.target, m.model.streams[load.stream]
    pages = m.pages(stream) * np.maximum(m.members(load), 1)
    each = target.step_cycles + pages * sending_cycles(target, stream.page_bytes)
    times = m.fires(stream) * np.where(m.stays(load), 1, m.turns)
    return np.where(m.sends(load), each * times, 0.0)
