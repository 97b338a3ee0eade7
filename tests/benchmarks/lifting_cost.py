"""What lifting costs by the length of the program: `python tests/benchmarks/lifting_cost.py [PROFILE]`.

Shapes of straight-line programs: independent statements, chains in which each is read once, residual chains in which
each is read twice, and layers, which fold; one sequence of many pieces, set, pushed, or read between; programs of which
every statement is refused, or depends on one that is; and a Llama of 30 layers, as a loop and written out. Functions
called are counted for lengths that are soon done: these ratios are the same on any machine. Seconds, and the ratio of
long programs, are of the processor, not of the clock, and the least of a few runs.
With PROFILE (a shape), the functions whose calls grow most between the counted lengths.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from effort import effort
from llama_sources import REAL
from llama_sources import facts as llama_facts
from llama_sources import program as decode
from unrolled import unrolled

from spatial.lift import Facts, Table, lift
from spatial.logos.parser import parse

COUNTED = (100, 1000)
TIMED = {1000: 3, 10_000: 2}
"""Lengths that are timed, and how often."""
LONG = ("independent", "chain", "residual", "pieces", "pushed")
"""Shapes that are timed at both lengths."""
FACTS = Facts({"n": 6}, {"x": Table((6,), "float")})


def _loop(name: str, value: str) -> str:
    return f"Let {name} be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push {value} to {name}.\n"


def independent(count: int) -> tuple[str, tuple[str, ...]]:
    """Statements of the input alone, all of them results."""
    names = tuple(f"y{k}" for k in range(count))
    return "".join(_loop(y, f"item i of x * {k}.5") for k, y in enumerate(names)), names


def chain(count: int) -> tuple[str, tuple[str, ...]]:
    """Each statement sums the one before, so that none becomes part of its reader."""
    text = "Let y0 be copy of x.\n"
    for k in range(1, count + 1):
        text += f"Let s{k} be 0.0.\nRepeat for i from 1 to n:\n    Set s{k} to s{k} + item i of y{k - 1}.\n"
        text += _loop(f"y{k}", f"s{k} * item i of x + {k}.5")
    return text, (f"y{count}",)


def fused(count: int) -> tuple[str, tuple[str, ...]]:
    """Each statement is read by the next one only, on the same box: all of them become one."""
    text = "Let y0 be copy of x.\n" + "".join(
        _loop(f"y{k}", f"item i of y{k - 1} + {k}.5") for k in range(1, count + 1)
    )
    return text, (f"y{count}",)


def residual(count: int) -> tuple[str, tuple[str, ...]]:
    """Each statement reads the one before twice: its items, and their sum."""
    return _summed(count, " + {k}.5")


def layers(count: int) -> tuple[str, tuple[str, ...]]:
    """The same without a constant of its own in each: layers, which fold."""
    return _summed(count, "")


def _summed(count: int, own: str) -> tuple[str, tuple[str, ...]]:
    text = "Let y0 be copy of x.\n"
    for k in range(1, count + 1):
        text += f"Let s{k} be 0.0.\nRepeat for i from 1 to n:\n    Set s{k} to s{k} + item i of y{k - 1}.\n"
        text += _loop(f"y{k}", f"item i of y{k - 1} + s{k} * item i of x{own.format(k=k)}")
    return text, (f"y{count}",)


def pieces(count: int) -> tuple[str, tuple[str, ...]]:
    """One sequence, each statement a loop over a span of its own."""
    text = f"Let y be {6 * count} copies of 0.0.\n"
    for k in range(count):
        text += f"Repeat for i from 1 to n:\n    Set item (i + {6 * k}) of y to item i of x * {k}.5.\n"
    return text, ("y",)


def pushed(count: int) -> tuple[str, tuple[str, ...]]:
    """One sequence that grows by a loop, and by an item."""
    text = "Let y be a new Seq of Float.\n"
    for k in range(count):
        text += f"Repeat for i from 1 to n:\n    Push item i of x * {k}.5 to y.\nPush item {k % 6 + 1} of x to y.\n"
    return text, ("y",)


def chosen(count: int) -> tuple[str, tuple[str, ...]]:
    """One sequence, each item set under a condition."""
    text = f"Let y be {count} copies of 0.0.\n"
    for k in range(1, count + 1):
        text += f"If item 1 of x > {k}.5:\n    Set item {k} of y to item 2 of x * {k}.5.\n"
    return text, ("y",)


def rows(count: int) -> tuple[str, tuple[str, ...]]:
    """One table, each statement a row or a column of it, read at once."""
    text = f"Let y be a new Seq of (Seq of Float).\nRepeat for i from 1 to {count}:\n    Push x to y.\n"
    text += f"Let z be a new Seq of (Seq of Float).\nRepeat for i from 1 to n:\n    Push {count} copies of 0.5 to z.\n"
    for k in range(1, count + 1):
        text += f"Repeat for i from 1 to n:\n    Set item i of (item {k} of y) to item i of x * {k}.5.\n"
        text += f"    Set item {k} of (item i of z) to item i of x + {k}.5.\n"
        text += f"Let s{k} be item 2 of (item {k} of y) + item {k} of (item 3 of z).\n"
    return text, ("y", "z", *(f"s{k}" for k in range(1, count + 1)))


def refused(count: int) -> tuple[str, tuple[str, ...]]:
    """Recurrences, each refused for itself, over a sequence that lifts."""
    text = ""
    for k in range(count):
        text += _loop(f"x{k}", f"item i of x + {k}.5")
        text += f"Let s{k} be 0.0.\nLet y{k} be a new Seq of Float.\nRepeat for i from 1 to n:\n"
        text += f"    Set s{k} to s{k} * item i of x{k} + 1.5.\n    Push s{k} to y{k}.\n"
    return text, tuple(f"y{k}" for k in range(count))


def depending(count: int) -> tuple[str, tuple[str, ...]]:
    """One recurrence, and a chain that depends on it."""
    text = "Let s be 0.0.\nLet y0 be a new Seq of Float.\nRepeat for i from 1 to n:\n"
    text += "    Set s to s * item i of x + 1.5.\n    Push s to y0.\n"
    text += "".join(_loop(f"y{k}", f"item i of y{k - 1} + {k}.5") for k in range(1, count))
    return text, (f"y{count - 1}",)


SHAPES: dict[str, Callable[[int], tuple[str, tuple[str, ...]]]] = {
    "independent": independent,
    "chain": chain,
    "fused": fused,
    "residual": residual,
    "layers": layers,
    "pieces": pieces,
    "pushed": pushed,
    "rows": rows,
    "chosen": chosen,
}
REFUSED: dict[str, Callable[[int], tuple[str, tuple[str, ...]]]] = {"refused": refused, "depending": depending}


def work(shape: str, count: int) -> Callable[[], object]:
    """The lifting of a program of so many statements, parsed already."""
    text, results = (SHAPES | REFUSED)[shape](count)
    program = parse(f"## Main\n{text}", f"{shape}.lg")

    def run() -> object:
        found = lift(program, FACTS, results)
        assert (found.graph is None) == (shape in REFUSED), found.missing
        return found

    return run


def costs(shape: str, lengths: tuple[int, ...] = COUNTED) -> list[int]:
    """Functions called to lift the shape, by its length."""
    return [effort(work(shape, n))[1] for n in lengths]


def calls(shape: str, count: int) -> dict[str, int]:
    """How often each function is called."""
    profile = cProfile.Profile()
    profile.runcall(work(shape, count))
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return {f"{Path(file).name}:{name}": row[1] for (file, _, name), row in stats.items()}


def llama(straight: bool) -> Callable[[], object]:
    """The lifting of a decode step of the real sizes, its 30 layers a loop or written out."""
    program, known = decode("decode.lg"), llama_facts(**REAL)
    if straight:
        program = parse(unrolled(program, known.sizes, "layer"), "written out")

    def run() -> object:
        found = lift(program, known, ("logits",))
        assert found.graph is not None, found.missing
        return found

    return run


def seconds(run: Callable[[], object], times: int = 1) -> float:
    """How long it keeps the processor, at the least."""
    taken: list[float] = []
    for _ in range(times):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def main(arguments: list[str]) -> None:
    if arguments:
        less, more = COUNTED
        few, many = calls(arguments[0], less), calls(arguments[0], more)
        grown = sorted(many, key=lambda f: more / less * few.get(f, 0) - many[f])
        for f in grown[:25]:
            print(f"{many[f]:10} of {few.get(f, 0):10}, x {many[f] / max(1, few.get(f, 0)):.1f}  {f}")
        return
    for name, straight in (("looped", False), ("written out", True)):
        run = llama(straight)
        print(f"a Llama of 30 layers, {name}: {effort(run)[1]} calls, {seconds(run, 3):.2f} s", flush=True)
    for shape in (*SHAPES, *REFUSED):
        few, many = costs(shape)
        print(f"{shape:12} {COUNTED[0]}: {few} calls, {COUNTED[1]}: {many} calls, {many / few:.2f} times", flush=True)
    for shape in LONG:
        short, long = (seconds(work(shape, n), times) for n, times in TIMED.items())
        less, more = TIMED
        print(f"{shape:12} {less}: {short:.2f} s, {more}: {long:.2f} s, {long / short:.2f} times", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
