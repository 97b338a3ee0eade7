"""A host of a simulated deployment: runs entries of a bundle on one shared memory and keeps state between calls.

Speaks in the tables of the deployment, in the dimensions the spec gave them. Weights are handed over as bytes by their
digest (memory-mapped files serve); nothing here opens a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatial.errors import Problem, Refused, nearest
from spatial.ir.bundle import Bundle, Entry, Table
from spatial.ir.layout import layout_of
from spatial.ir.program import Tensor
from spatial.numerics import Array, precision
from spatial.simulate.memory import Bytes, Memory, check_range
from spatial.simulate.relations import check_relations
from spatial.simulate.run import Executor, Observe, executor_for, run_program
from spatial.simulate.show import shown


@dataclass(frozen=True)
class Outcome:
    """What one call gave: results by table name, in the spec's dims, and the lines it printed."""

    results: dict[str, Array]
    lines: tuple[str, ...]


class Host:
    """The programs of `bundle` over one memory. `data`: the raw bytes of each weight and fill, by SHA-256 (hex).

    `executor`: "lockstep" or "pagewise". Raises `Refused` where data the bundle names is missing.
    """

    def __init__(
        self, bundle: Bundle, data: Mapping[str, bytes | Bytes | memoryview], executor: str | Executor = "lockstep"
    ) -> None:
        self.bundle = bundle
        self._runner = executor_for(executor, bundle.target) if isinstance(executor, str) else executor
        self._tables = {t.name: t for t in bundle.tables}
        missing = {p.tensor: p.data for p in bundle.memory if p.data and p.data not in data}
        if missing:
            raise Refused([Problem(f"the data of {name} is missing", f"SHA-256 {d}") for name, d in missing.items()])
        self._shared: dict[str, Bytes] = {}
        self._memories = {e.name: self._memory(e, data) for e in bundle.entries}

    def memory(self, entry: str) -> Memory:
        """The memory of program `entry`: its own tensors, and the shared ones."""
        return self._memories[self._entry(entry).name]

    def run(
        self, entry: str, inputs: Mapping[str, npt.ArrayLike], seed: int = 0, observe: Observe | None = None
    ) -> Outcome:
        """One call of program `entry` with `inputs` by table name, in the spec's dims.

        Raises `Refused`, all problems at once, for inputs that are missing, unknown, of the wrong shape or kind, out of
        range, or that break an assumed relation.
        """
        found = self._entry(entry)
        memory = self._memories[found.name]
        given = self._checked(found, inputs)
        for name, values in given.items():
            memory.set(name, values.reshape(self._tables[name].shape))
        run_program(found.program, self.bundle.target, memory, self._runner, seed, observe)
        tensors = {name: tensor for name, tensor, _ in found.program.results}
        results = {name: self._read(memory, tensors.get(name, name), self._tables[name]) for name in found.results}
        return Outcome(results, tuple(self._line(found, memory, n) for n in range(len(found.program.shows))))

    def state(self, name: str) -> Array:
        """The state table `name` as it is now, in the spec's dims."""
        return self._read(self._holder(name), name, self._table(name))

    def set_state(self, name: str, values: npt.ArrayLike) -> None:
        """Put `values` (in the spec's dims) into the state table `name`."""
        table = self._table(name)
        array = np.asarray(values)
        if array.shape != table.dims:
            raise Refused(f"{name} has the shape {list(table.dims)}", f"and was given {list(array.shape)}")
        self._holder(name).set(name, array.reshape(table.shape))

    def _entry(self, name: str) -> Entry:
        names = [e.name for e in self.bundle.entries]
        if name not in names:
            raise Refused(f"no program is called {name}", "", nearest(name, names) or f"there are {', '.join(names)}")
        return self.bundle.entry(name)

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            raise Refused(f"no table is called {name}", "", nearest(name, self._tables))
        return self._tables[name]

    def _holder(self, name: str) -> Memory:
        for entry in self.bundle.entries:
            if name in entry.state:
                return self._memories[entry.name]
        raise Refused(f"{name} is no state of any program")

    def _memory(self, entry: Entry, data: Mapping[str, bytes | Bytes | memoryview]) -> Memory:
        memory = Memory.of(entry.program, self.bundle.target)
        placed = {p.tensor: p for p in self.bundle.memory if p.program == entry.name}
        common = {p.tensor: p for p in self.bundle.memory if not p.program}
        for tensor in entry.program.tensors:
            place = placed.get(tensor.name) or common.get(tensor.name)
            if place is None:
                continue
            if place.data:
                memory.from_bytes(tensor.name, data[place.data])
            elif not place.program:
                memory.from_bytes(tensor.name, self._common(tensor))
        return memory

    def _common(self, tensor: Tensor) -> Bytes:
        """The bytes of a table of the deployment, the same for every program; zeros to begin with."""
        size = layout_of(tensor.layout, tensor.prec, tensor.shape, self.bundle.target).bytes
        return self._shared.setdefault(tensor.name, np.zeros(size, np.uint8))

    def _checked(self, entry: Entry, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        problems = [
            Problem(f"{entry.name} takes no input {name}", "", nearest(name, entry.inputs))
            for name in inputs
            if name not in entry.inputs
        ]
        given: dict[str, Array] = {}
        for name in entry.inputs:
            table = self._tables[name]
            if name not in inputs:
                problems.append(Problem(f"the input {name} of {entry.name} was not given"))
                continue
            array = np.asarray(inputs[name])
            if array.shape != table.dims:
                problems.append(Problem(f"{name} has the shape {list(table.dims)}", f"got {list(array.shape)}"))
            elif table.kind == "int" and array.dtype.kind not in "iu":
                problems.append(Problem(f"{name} takes integers", f"got {array.dtype}"))
            else:
                given[name] = array
                try:
                    check_range(name, array, table.range)
                except Refused as refused:
                    problems.extend(refused.problems)
        if problems:
            raise Refused(problems)
        scalars = {n: int(a.flat[0]) for n, a in given.items() if a.size == 1 and a.dtype.kind in "iu"}
        check_relations((*self.bundle.assume, *entry.program.assume), scalars)
        return given

    def _read(self, memory: Memory, tensor: str, table: Table) -> Array:
        values = memory.get(tensor)
        # Narrow floats are handed out as float32, integers as int64: their values, in types every host has.
        kept = precision(memory.stored(tensor).tensor.prec).kind
        return values.astype(np.float32 if kept == "float" else np.int64).reshape(table.dims)

    def _line(self, entry: Entry, memory: Memory, number: int) -> str:
        parts = [
            p.text if not p.tensor else shown(self._value(entry, memory, p.tensor)) for p in entry.program.shows[number]
        ]
        return "".join(parts)

    def _value(self, entry: Entry, memory: Memory, tensor: str) -> Array:
        """A shown tensor in the dims of its table; without one, its shape without the leading ones."""
        names = {t: name for name, t, _ in entry.program.results} | {n: n for n in self._tables}
        if tensor in names and names[tensor] in self._tables:
            return memory.get(tensor).reshape(self._tables[names[tensor]].dims)
        values = memory.get(tensor)
        while values.ndim and values.shape[0] == 1:
            values = values[0]
        return values
