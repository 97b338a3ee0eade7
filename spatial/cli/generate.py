"""`spatial generate BUNDLE --ids 1,2,3 [-n N]`: prefill and decode of a language model, token by token.

The prompt goes through prefill in chunks of as many tokens as it takes, unused ones 0; where no whole chunk has room
any more before the last position, the rest goes through decode. Each next token is the one with the largest logit, the
first of equals; `--force` feeds given ones instead, and the chosen ones are told all the same.

JSON: `prompt`, `ids` (chosen, in order), `fed`, `stopped` (whether a stop token ended it), `top` (of each step, [id,
logit] pairs). `--logits` writes `logits` [1 + fed, vocab], float32: after the prompt, and after each token fed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from spatial.build.artifacts import open_artifact
from spatial.cli.output import Array, print_json, write_npz
from spatial.errors import UsageError

if TYPE_CHECKING:
    from spatial.ir.bundle import Bundle
    from spatial.simulate.host import Host


@dataclass(frozen=True)
class Roles:
    """Which programs and tables of a bundle drive a language model, how many tokens it takes and holds."""

    prefill: str
    decode: str
    tokens: str
    start: str
    count: str
    token: str
    position: str
    logits: str
    stop: tuple[int, ...]
    rows: int
    positions: int
    last_start: int
    vocab: int

    @staticmethod
    def of(bundle: Bundle) -> Roles:
        """The roles of a bundle. Raises UsageError where it declares none."""
        told: Mapping[str, str | tuple[int, ...]] = dict(bundle.generate)
        if not told:
            raise UsageError("this is no language model", "its spec has no `generate`", "use `spatial run`")
        stop = told.get("stop", ())
        names = {role: str(told[role]) for role in told if role != "stop"}
        ranges = {role: bundle.table(names[role]).range or (0, 0) for role in ("token", "position", "start")}
        return Roles(
            **names,
            stop=stop if isinstance(stop, tuple) else (),
            rows=prod(bundle.table(names["tokens"]).dims),
            positions=ranges["position"][1] + 1,
            last_start=ranges["start"][1],
            vocab=ranges["token"][1] + 1,
        )


class Session:
    """A language model under way: what it has read so far, and its logits since."""

    def __init__(self, host: Host, roles: Roles) -> None:
        self.host, self.roles = host, roles
        self.position = 0

    def read(self, ids: Sequence[int]) -> Array:
        """Take in the prompt `ids`; the logits of what follows it, [vocab]."""
        import numpy as np

        r, logits = self.roles, np.zeros(0, np.float32)
        while self.position < len(ids):
            if self.position > r.last_start:
                logits = self.feed(ids[self.position])
                continue
            chunk = ids[self.position : self.position + r.rows]
            padded = np.zeros(r.rows, np.int64)
            padded[: len(chunk)] = chunk
            given = {r.tokens: padded, r.start: self._one(self.position), r.count: self._one(len(chunk))}
            logits = self._logits(r.prefill, given)
            self.position += len(chunk)
        return logits

    def feed(self, token: int) -> Array:
        """Take in one token; the logits of what follows it, [vocab]."""
        r = self.roles
        logits = self._logits(r.decode, {r.token: self._one(token), r.position: self._one(self.position)})
        self.position += 1
        return logits

    def _logits(self, program: str, given: dict[str, Array]) -> Array:
        return self.host.run(program, given).results[self.roles.logits].reshape(-1)

    def _one(self, value: int) -> Array:
        import numpy as np

        return np.array([value], np.int64)


def run(options: argparse.Namespace) -> int:
    """Generate."""
    from spatial.simulate.host import Host

    artifact = open_artifact(options.bundle)
    roles = Roles.of(artifact.whole())
    _check(options, roles)
    ids: list[int] = []
    logits: list[Array] = []
    tops: list[list[tuple[int, float]]] = []
    session = Session(Host(artifact.whole(), artifact.pages), roles)
    for found in _steps(session, options, ids):
        logits.append(found)
        chosen = int(found.argmax())
        ids.append(chosen)
        tops.append(_top(found, options.top))
        if not options.json:
            print(chosen, *(f"{token}:{value:.4f}" for token, value in tops[-1]), flush=True)
    if options.logits is not None:
        import numpy as np

        write_npz(options.logits, {"logits": np.stack(logits).astype(np.float32)})
    if options.json:
        stopped = options.force is None and not options.no_stop and ids[-1] in roles.stop
        told = {"prompt": list(options.ids), "ids": ids, "fed": len(ids) - 1, "stopped": stopped}
        print_json("generate", told | ({"top": tops} if options.top else {}))
    return 0


def _steps(session: Session, options: argparse.Namespace, ids: Sequence[int]) -> Iterator[Array]:
    """Logits after the prompt, then after each token fed; `ids` has what was chosen of those before."""
    yield session.read(options.ids)
    if options.force is not None:
        for token in options.force:
            yield session.feed(token)
        return
    stop = () if options.no_stop else session.roles.stop
    while len(ids) < options.number and ids[-1] not in stop:
        yield session.feed(ids[-1])


def _check(options: argparse.Namespace, roles: Roles) -> None:
    """Refuse what the model has no room or no token for, before anything runs. Raises UsageError."""
    if not options.ids:
        raise UsageError("the prompt is empty", "", "give at least one token")
    for token in (*options.ids, *(options.force or ())):
        if not 0 <= token < roles.vocab:
            raise UsageError(f"{token} is no token", f"they go from 0 to {roles.vocab - 1}")
    fed = options.number - 1 if options.force is None else len(options.force)
    if len(options.ids) + fed > roles.positions:
        raise UsageError(
            f"a prompt of {len(options.ids)} tokens and {fed} more have no room",
            f"the cache holds {roles.positions}",
            "shorten one of them",
        )


def _top(logits: Array, count: int) -> list[tuple[int, float]]:
    """The `count` largest logits with their tokens, largest first, the lower token first of equals."""
    import numpy as np

    best = np.argsort(-logits, kind="stable")[:count]
    return [(int(token), float(logits[token])) for token in best]
