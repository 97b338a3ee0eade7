"""The compiled mode of the interpreter: a program translated, compiled by numba, run.

What is printed, and every error of the language, is what the reference interpreter prints and raises. What compiled
code does not hold (an Int beyond 64 bits, rows of unlike length, a value of no one kind) ends in Unsupported, never in
another value. Needs numba, an optional part of the installation, which nothing outside this package imports.
"""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spatial.errors import EnvironmentFault, Problem, SourceError, SpatialError, Unsupported
from spatial.logos.compiled.inputs import held, mentioned, owned, results, widened
from spatial.logos.compiled.kinds import Kind
from spatial.logos.compiled.knowledge import PLAIN, Line
from spatial.logos.compiled.telling import told_fault, told_line
from spatial.logos.compiled.units import Translation, translate
from spatial.logos.syntax import Program

_STACK_BYTES = 1 << 28
"""Room for calls nested as deep as the language allows."""


@dataclass(frozen=True)
class CompiledRun:
    """What a run leaves behind: the top-level variables of Main, inputs included: numbers, bools and arrays."""

    variables: Mapping[str, object]


def interpret_compiled(
    program: Program, inputs: Mapping[str, object] | None = None, output: Callable[[str], None] = print
) -> CompiledRun:
    """Run a program once, compiled: see `Compiled.run`."""
    return Compiled(program).run(inputs, output)


class Compiled:
    """A program that is compiled when it first runs, once for all inputs of the same kinds."""

    def __init__(self, program: Program) -> None:
        if importlib.util.find_spec("numba") is None:
            mend = "install it with: pip install 'spatial[compiled]'"
            what = "the compiled mode needs numba, which is not installed"
            raise EnvironmentFault(what, "it is an optional part", mend)
        self.program = program
        self.names = mentioned(program)
        self.codes: dict[tuple[tuple[str, Kind], ...], _Code] = {}

    def run(self, inputs: Mapping[str, object] | None = None, output: Callable[[str], None] = print) -> CompiledRun:
        """Run the program.

        `inputs` are bound as variables of Main before it starts, and never changed; arrays are used where they are.
        `output` is called with each line shown. Raises SourceError as the interpreter does, and Unsupported for what
        compiled code does not hold (the interpreter runs it).
        """
        given = dict(inputs or {})
        taken = {name: held(name, given[name]) for name in sorted(given) if name in self.names}
        kinds = tuple((name, kind) for name, (kind, _) in taken.items())
        if kinds not in self.codes:
            self.codes[kinds] = _code(self.program, dict(kinds))
        code = self.codes[kinds]
        known = code.translation.known
        parts = [part for name, (_, p) in taken.items() for part in (owned(p) if name in known.written else p)]
        number, *left = _Run(code, output).run(parts)
        found = results({name: known.kind("", name) for name in known.globals}, left)
        bound = code.translation.exits[int(number)]
        unnamed = {name: widened(value) for name, value in given.items() if name not in taken}
        return CompiledRun({**unnamed, **{name: value for name, value in found.items() if name in bound}})


@dataclass(frozen=True)
class _Code:
    """A program for inputs of certain kinds, and what runs it; numba compiles at the first call."""

    translation: Translation
    main: Callable[..., Any]


def _code(program: Program, kinds: Mapping[str, Kind]) -> _Code:
    from spatial.logos.compiled import arithmetic, machine, sequences

    try:
        translation = translate(program, kinds)
        code = compile(translation.module, "<compiled>", "exec")
    except RecursionError:
        what, mend = "the program is nested too deep for the interpreter", "split its longest chain of Otherwise If"
        place = program.main[0].span.place if program.main else None
        raise SourceError(Problem(what, "", mend, place)) from None
    namespace: dict[str, Any] = {**vars(machine), **vars(arithmetic), **vars(sequences)}
    exec(code, namespace)
    for unit in translation.module.body:
        assert isinstance(unit, ast.FunctionDef)
        namespace[unit.name] = machine.function(namespace[unit.name], outermost=unit.name == "main")
    return _Code(translation, namespace["main"])


class _Run:
    """One run: its words, what it shows, how it ends."""

    def __init__(self, code: _Code, output: Callable[[str], None]) -> None:
        from spatial.logos.compiled import machine

        self.code = code
        self.output = output
        self.machine = machine
        self.words = np.zeros(machine.BUFFER + machine.SHOWN_AT_ONCE, np.int64)
        self.pending: list[int] = []
        self.failure: BaseException | None = None
        self.given_up = False
        self.found: Any = None

    def run(self, parts: list[Any]) -> Any:
        """What Main gives, with numba's own remarks kept quiet.

        Code runs in a thread that has a deep stack and does not hold the interpreter's lock, so that an interruption is
        noticed at once.
        """
        flush = ctypes.CFUNCTYPE(ctypes.c_int64)(self._flush)
        self.words[self.machine.FLUSH] = ctypes.cast(flush, ctypes.c_void_p).value or 0
        before = threading.stack_size(_STACK_BYTES)
        thread = threading.Thread(target=self._work, args=(parts,), daemon=True)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
        try:
            thread.join()
        except BaseException:
            self.given_up = True
            raise
        if self.failure is not None:
            raise self.failure
        return self.found

    def _work(self, parts: list[Any]) -> None:
        from numba.core.errors import NumbaError  # pyright: ignore[reportMissingTypeStubs]

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.found = self.code.main(self.words.ctypes.data, *parts)
        except self.machine.Fault:
            self.failure = self.failure or self._fault()
        except NumbaError as error:
            why = str(error).strip().splitlines()[0]
            self.failure = Unsupported("numba does not compile this program", why, PLAIN)
        except MemoryError:
            self.failure = EnvironmentFault("there is not enough memory for what the program holds")
        except BaseException as error:
            self.failure = error

    def _flush(self) -> int:
        """Print the line that is whole, if one is; not 0 ends the run."""
        machine = self.machine
        try:
            self.pending += self.words[machine.BUFFER : machine.BUFFER + self.words[machine.USED]].tolist()
            self.words[machine.USED] = 0
            if self.words[machine.WHOLE] and not self.given_up:
                self.words[machine.WHOLE] = 0
                words = iter(self.pending)
                self.pending = []
                self.output(told_line(self._line(next(words)), words))
        except BaseException as error:
            self.failure = error
        return int(self.failure is not None or self.given_up)

    def _line(self, number: int) -> Line:
        return self.code.translation.known.lines[number]

    def _fault(self) -> SpatialError:
        machine = self.machine
        site, why, left, right = (int(self.words[n]) for n in (machine.SITE, machine.WHY, machine.LEFT, machine.RIGHT))
        return told_fault(self.code.translation.known.sites[site - 1], machine.REASONS[why], left, right)
