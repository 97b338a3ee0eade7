"""Actions: one piece of work of a build, whose key is exactly what its output may depend on.

Place: between the steps, which are functions from bytes to bytes, and the store, which remembers what they made. An
action names its step, canonical parameters and input objects by digest; `aside` holds what must not matter to the
output, such as where a file lies on this machine. Knows no task and no deployment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path

from spatial.build.fingerprint import compiler_digest, known_compiler
from spatial.build.steps.given import Given
from spatial.build.store import Key, Store, key_of, memo
from spatial.errors import Damaged, EnvironmentFault


@dataclass(frozen=True)
class Action:
    """Work of one `kind`, named like its module in `steps`.

    `params`: canonical values; `inputs`: objects of the store by name; `aside`: what the work needs and its output may
    not depend on (paths, names for messages). All of it can be pickled.
    """

    kind: str
    params: Mapping[str, object] = field(default_factory=dict[str, object])
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    aside: Mapping[str, object] = field(default_factory=dict[str, object])

    @cached_property
    def key(self) -> Key:
        """What the output depends on: the kind, the compiler's floors it may use, parameters and inputs."""
        return key_of(self.kind, compiler=known_compiler(self.kind), **self.params, **dict(self.inputs))


class StoredNotes:
    """The notes of one kind of step, kept in a store like the outputs of actions."""

    def __init__(self, store: Store, kind: str) -> None:
        self.store, self.kind = store, kind

    def find(self, params: Mapping[str, object]) -> bytes | None:
        """What was kept under `params`, verified."""
        found = self.store.lookup(self._key(params))
        try:
            return None if found is None else self.store.get(found["note"])
        except Damaged:
            return None

    def keep(self, params: Mapping[str, object], data: bytes) -> None:
        """Keep `data` under `params`."""
        self.store.record(self._key(params), {"note": self.store.put(data)})

    def _key(self, params: Mapping[str, object]) -> Key:
        return key_of(f"{self.kind}.note", compiler=known_compiler(self.kind), **params)


def perform(root: Path, action: Action) -> dict[str, str]:
    """The outputs of `action` as digests by name: found in the store at `root`, or made, kept and recorded there.

    A function of the package with arguments that can be pickled, for an executor. Raises what the step raises, Damaged
    for an input that is not in the store, and EnvironmentFault if the compiler was edited meanwhile.
    """
    store = Store(root)

    def make() -> Mapping[str, bytes]:
        step = import_module(f"spatial.build.steps.{action.kind}")
        inputs = {name: store.get(digest) for name, digest in action.inputs.items()}
        made = step.run(Given(action.params, inputs, action.aside, StoredNotes(store, action.kind)))
        if compiler_digest(action.kind) != known_compiler(action.kind):
            raise EnvironmentFault("the compiler was changed while it was building", "", "build again")
        return made

    return memo(store, action.key, make)
