"""Reading bodies and programs from text; every mistake of a text is reported at once, each with its place.

Raises `SourceError` and nothing else on any text. Knows the spelling told in the package's docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from spatial.errors import SourceError, nearest
from spatial.ir.body import Body
from spatial.ir.program import ROLES, Bind, Block, Call, Phase, Program, Show, Tensor
from spatial.ir.text.bodies import FORMATS, LAYOUTS, BodyReader
from spatial.ir.text.tokens import Cursor, tokens_of

T = TypeVar("T")


def parse_body(text: str, file: str = "<text>") -> Body:
    """The body that `text` spells; raises `SourceError` with every mistake found."""
    return _whole(text, file, "body", lambda reader: reader.body()[1])


def parse_program(text: str, file: str = "<text>") -> Program:
    """The program that `text` spells; raises `SourceError` with every mistake found."""
    return _whole(text, file, "program", lambda reader: reader.program())


def _whole(text: str, file: str, word: str, read: Callable[[_ProgramReader], T | None]) -> T:
    tokens, problems = tokens_of(text, file)
    reader = _ProgramReader(Cursor(tokens), problems)
    record: T | None = None
    try:
        reader.cursor.expect(word)
        record = read(reader)
        if reader.cursor.token.kind != "end" and not problems:
            raise reader.cursor.fail(f"{reader.cursor.token} after the end of the {word}")
    except SourceError as e:
        problems += e.problems
    if problems or record is None:
        raise SourceError(sorted(problems, key=lambda p: (p.place.line, p.place.column) if p.place else (0, 0)))
    return record


class _ProgramReader(BodyReader):
    """One text being read."""

    def program(self) -> Program | None:
        """`{ … }`: the program, None where a statement was wrong."""
        cursor = self.cursor
        tensors: dict[str, Tensor] = {}
        bodies: list[Body] = []
        labels: dict[str, int] = {}
        phases: list[Phase] = []
        results: list[tuple[str, str, int]] = []
        state: list[tuple[str, int]] = []
        blocks: list[Block] = []
        shows: list[tuple[Show, ...]] = []
        assume: list[str] = []

        def tensor() -> None:
            token = cursor.token
            made = self._tensor()
            if made.name in tensors:
                raise cursor.fail(f"a second tensor called {token}", token=token)
            tensors[made.name] = made

        def body() -> None:
            token = cursor.token
            name, made = self.body()
            if not name:
                mend = "write it before the phase: `body name persistent`"
                raise cursor.fail("a body without a name", mend=mend, token=token)
            if name in labels:
                raise cursor.fail(f"a second body called {token}", token=token)
            labels[name] = len(bodies) if made is not None else -1
            bodies.extend((made,) if made is not None else ())

        def phase() -> None:
            calls: list[Call] = []
            self.block("phase", {"call": lambda: calls.append(self._call(bodies, labels, tensors))})
            phases.append(tuple(calls))

        def result() -> None:
            name = cursor.name("a result's name")
            cursor.expect("=")
            results.append((name, *self._version(tensors)))

        sound = self.block("program", {
            "tensor": tensor,
            "body": body,
            "phase": phase,
            "result": result,
            "state": lambda: state.append(self._version(tensors)),
            "block": lambda: blocks.append(self._repeat(tensors)),
            "show": lambda: shows.append(self._show()),
            "assume": lambda: assume.append(self._text()),
        })  # fmt: skip
        if not sound:
            return None
        lists = (tuple(phases), tuple(results), tuple(state), tuple(blocks), tuple(shows), tuple(assume))
        return Program(tuple(tensors.values()), tuple(bodies), *lists)

    def _tensor(self) -> Tensor:
        cursor = self.cursor
        name = cursor.name("a tensor's name")
        cursor.expect(":")
        role = cursor.word_of(ROLES, "a role")
        prec = cursor.word_of(FORMATS, "a precision")
        layout = cursor.word_of(LAYOUTS, "a layout")
        return Tensor(name, cursor.triple(), prec, role, layout, self.bounds())

    def _version(self, tensors: Mapping[str, Tensor]) -> tuple[str, int]:
        cursor = self.cursor
        token = cursor.token
        name = cursor.name("a tensor's name")
        if name not in tensors:
            why = "a tensor is declared above its use"
            raise cursor.fail(f"no tensor is called {token}", why, nearest(name, tensors), token)
        cursor.expect("@")
        return name, cursor.integer()

    def _call(self, bodies: list[Body], labels: Mapping[str, int], tensors: Mapping[str, Tensor]) -> Call:
        cursor = self.cursor
        token = cursor.token
        name = cursor.name("a body's name")
        if name not in labels:
            why = "a body is told above its calls"
            raise cursor.fail(f"no body is called {token}", why, nearest(name, labels), token)
        cursor.expect("at")
        place = cursor.pair()
        number = labels[name]
        operands = [o.name for o in bodies[number].operands] if number >= 0 else []
        found: dict[str, Bind] = {}
        in_order: list[Bind] = []
        cursor.expect("{")
        while not cursor.take("}"):
            here = cursor.token
            if cursor.after.text == "=" and cursor.after.kind == "mark":
                operand = cursor.name("an operand's name")
                cursor.next()
                if number >= 0 and (operand not in operands or operand in found):
                    what = f"{here} is bound twice" if operand in found else f"{name} has no operand {here}"
                    raise cursor.fail(what, mend=nearest(operand, operands), token=here)
                found[operand] = self._bind(tensors)
            else:
                in_order.append(self._bind(tensors))
        if found and in_order:
            raise cursor.fail("binds by name and by position in one call", mend="name all of them", token=token)
        missing = [o for o in operands if o not in found]
        if found and missing:
            raise cursor.fail(f"the operand {missing[0]} is not bound", f"{name} names it", token=token)
        binds = tuple(found[o] for o in operands) if found and operands else tuple(in_order)
        return Call(number, binds, place)

    def _bind(self, tensors: Mapping[str, Tensor]) -> Bind:
        cursor = self.cursor
        name, version = self._version(tensors)
        if not cursor.sees("["):
            return Bind(name, version, (0, 0, 0), tensors[name].shape)
        start = cursor.next()
        spans: list[tuple[int, int]] = []
        while not cursor.sees("]"):
            first = cursor.integer()
            cursor.expect(":")
            spans.append((first, cursor.integer() - first))
            if not cursor.take(","):
                break
        cursor.expect("]")
        if len(spans) != 3:
            raise cursor.fail(f"{len(spans)} spans where slices, rows and columns should be", token=start)
        (s, ds), (r, dr), (c, dc) = spans
        return Bind(name, version, (s, r, c), (ds, dr, dc))

    def _repeat(self, tensors: Mapping[str, Tensor]) -> Block:
        cursor = self.cursor
        cursor.expect("from")
        first = cursor.integer()
        cursor.expect("length")
        length = cursor.integer()
        cursor.expect("times")
        trip = cursor.integer()
        carried: list[tuple[tuple[str, int], ...]] = []

        def carry() -> None:
            pairs: list[tuple[str, int]] = []
            if not cursor.sees("carry", "}"):
                pairs.append(self._version(tensors))
                while cursor.take(","):
                    pairs.append(self._version(tensors))
            carried.append(tuple(pairs))

        self.block("block", {"carry": carry})
        return Block(first, length, trip, tuple(carried))

    def _show(self) -> tuple[Show, ...]:
        cursor = self.cursor
        shown: list[Show] = []
        while cursor.token.kind == "string" or cursor.sees("value"):
            text = self._text() if cursor.token.kind == "string" else ""
            shown.append(Show(text, cursor.name("a tensor's name") if cursor.take("value") else ""))
            if not cursor.take(","):
                break
        return tuple(shown)

    def _text(self) -> str:
        cursor = self.cursor
        if cursor.token.kind != "string":
            raise cursor.fail(f"{cursor.token} where a text in quotes should be")
        return cursor.next().string
