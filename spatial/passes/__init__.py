"""The passes, in their pinned order: each a pure function of a body and its target.

    fuse_generic           joins chains of Generic stages that the destination registers can carry; on the template
    tile                   chooses the plan and applies its blocking
    place                  items to sites
    fuse_readers           loads of one page by several sites become a multicast, where the plan says so
    size_buffers           capacities
    synthesize_handshakes  engine orders of one turn
    persist                the turns of a site become one resident loop; what stays is loaded once
    verify                 proves the obligations

Each says in its docstring what it expects, what it ensures and what it leaves alone. A body beyond the phase that a
pass expects is left as it is (`due`): each pass is idempotent on its own output, and the whole order too.

Beside them: `orders`, `alike` and `schedule`, the engine orders, the sites that do the same, and a run of a body on
counts; `intervals`, what integers hold; `trace`, a record of what each pass did; `pack` and `compose`, which put
sections together to a program. Passes know no file, no source, no clock and no tensor's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from spatial.errors import Bug, Problem
from spatial.ir.body import Body
from spatial.ir.validate import validate
from spatial.passes.fuse_generic import fuse_generic
from spatial.passes.fuse_readers import fuse_readers
from spatial.passes.persist import persist
from spatial.passes.place import place
from spatial.passes.size_buffers import size_buffers
from spatial.passes.synthesize_handshakes import synthesize_handshakes
from spatial.passes.tile import tile
from spatial.passes.verify import verify
from spatial.plan.knobs import Knobs
from spatial.target import Target

Pass = Callable[[Body, Target], Body]

PASS_ORDER: tuple[tuple[str, Pass], ...] = (
    ("fuse_generic", fuse_generic),
    ("tile", tile),
    ("place", place),
    ("fuse_readers", fuse_readers),
    ("size_buffers", size_buffers),
    ("synthesize_handshakes", synthesize_handshakes),
    ("persist", persist),
    ("verify", verify),
)
"""The pinned order. Fusion comes first: on the template, removing a stage costs only a renumbering."""


def order_under(want: Knobs) -> tuple[tuple[str, Pass], ...]:
    """The passes in their order, plans held to the knobs `want`."""
    held = partial(tile, want=want)
    return tuple((name, held if run is tile else run) for name, run in PASS_ORDER)


def run_passes(body: Body, target: Target, passes: Sequence[tuple[str, Pass]] = PASS_ORDER) -> Body:
    """The body after `passes`, validated after each; what a pass refuses is raised (`Refused` and its kin)."""
    for name, run in passes:
        body = run(body, target)
        problems = validate(body, target)
        if problems:
            raise Bug([Problem(f"pass {name} broke its contract"), *problems])
    return body
