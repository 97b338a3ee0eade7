"""The command line of every command, read with argparse; a mistake ends with exit code 2 and the usage.

Knows words and their forms (`a=1,b=2`, `1,2,3`), and nothing of what commands do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from spatial import __version__

_DIGITS = 18


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of one command; `command` names it."""
    parser = argparse.ArgumentParser(prog="spatial", description="Builds and runs programs on dataflow accelerators.")
    parser.add_argument("--version", action="version", version=f"spatial {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (told, fill) in COMMANDS.items():
        command = commands.add_parser(name, help=told, description=f"{told[0].upper()}{told[1:]}.")
        fill(command)
        command.add_argument("--debug", action="store_true", help="tell errors with their traceback")
    return parser.parse_args(argv)


def _build(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", nargs="+", metavar="NAME", help="a deployment, or a task such as lower:llama")
    command.add_argument("-n", dest="jobs", type=_count, default=1, metavar="N", help="tasks run at once")
    command.add_argument("--continue", dest="onward", action="store_true", help="go on past a failure")
    _folders(command)
    _json(command)


def _compile(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="SOURCE", help="a source file, or DEPLOYMENT:PROGRAM")
    command.add_argument("--target", metavar="T", help="a chip: its name in targets/, or a file")
    command.add_argument("--size", type=_sizes, default={}, metavar="n=v,…", help="integer constants")
    command.add_argument("--results", type=_words, metavar="a,b", help="what is read from outside")
    command.add_argument("--q8", type=_words, default=(), metavar="w,…", help="weights stored Q8_0")
    command.add_argument("--dense", type=_words, metavar="t,…", help="tables laid out in tiles")
    command.add_argument("--tp", metavar="MANIFEST", help="how a program is split over chips")
    command.add_argument(
        "--explain", action="store_true", help="what each statement lifted to, and the plan of each section"
    )
    command.add_argument("--trace-passes", action="store_true", help="what each pass changed in each distinct section")
    told = "trace, and write each section's text after every pass that changed it"
    command.add_argument("--trace-dir", type=Path, metavar="FOLDER", help=told)
    command.add_argument("-o", dest="out", type=Path, metavar="FILE", help="write the program (.txt: in text form)")
    _folders(command)
    _json(command)


def _interpret(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="SOURCE", help="a source file, or DEPLOYMENT:PROGRAM")
    command.add_argument("args", nargs="*", metavar="ARGS", help="what args() gives after the program's name")
    command.add_argument("--compiled", action="store_true", help="as machine code (needs the extra spatial[compiled])")
    _arrays(command)
    _folders(command)


def _show(command: argparse.ArgumentParser) -> None:
    command.add_argument("artifact", type=Path, metavar="ARTIFACT")
    told = "tables, memory, certificate, a program, or PROGRAM:N for one body"
    command.add_argument("section", nargs="?", metavar="SECTION", help=told)


def _check(command: argparse.ArgumentParser) -> None:
    command.add_argument("artifact", type=Path, metavar="ARTIFACT")
    command.add_argument("--target", metavar="T", help="the chip of a program that stands alone")
    _json(command)


def _run(command: argparse.ArgumentParser) -> None:
    command.add_argument("artifact", type=Path, metavar="ARTIFACT")
    command.add_argument("program", nargs="?", metavar="PROGRAM", help="may be left out where there is but one")
    _arrays(command)
    _json(command)


def _generate(command: argparse.ArgumentParser) -> None:
    command.add_argument("bundle", type=Path, metavar="BUNDLE")
    command.add_argument("--ids", type=_integers, required=True, metavar="1,2,3", help="the prompt's tokens")
    command.add_argument("-n", dest="number", type=_count, default=16, metavar="N", help="tokens to generate")
    command.add_argument("--force", type=_integers, metavar="IDS", help="feed these tokens instead of chosen ones")
    command.add_argument("--top", type=_count, default=0, metavar="K", help="print the K likeliest tokens of each step")
    command.add_argument("--logits", type=Path, metavar="FILE", help="write all logits there, an npz")
    command.add_argument("--no-stop", action="store_true", help="go on past stop tokens")
    _json(command)


def _time(command: argparse.ArgumentParser) -> None:
    command.add_argument("artifact", type=Path, metavar="ARTIFACT")
    command.add_argument("program", nargs="?", metavar="PROGRAM", help="one of them only")
    command.add_argument("--target", metavar="T", help="the chip of a program that stands alone")
    _json(command)


def _calibrate(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", nargs="?", metavar="SOURCE", help="a source file, or DEPLOYMENT:PROGRAM")
    command.add_argument("--target", metavar="T", help="a chip: its name in targets/, or a file")
    command.add_argument("--size", type=_sizes, default={}, metavar="n=v,…", help="integer constants")
    command.add_argument("--results", type=_words, metavar="a,b", help="what is read from outside")
    command.add_argument("--q8", type=_words, default=(), metavar="w,…", help="weights stored Q8_0")
    command.add_argument("--dense", type=_words, metavar="t,…", help="tables laid out in tiles")
    command.add_argument("--section", type=_integer, metavar="N", help="one section only, counted from 0")
    command.add_argument(
        "--knobs", type=_words, default=(), metavar="k=v,…", help="hold knobs of the plans: i0=2,rect=8x8,packing=split"
    )
    command.add_argument("--ledger", type=Path, metavar="FILE", help="measurements, .csv or .yaml")
    command.add_argument("--enter", type=Path, metavar="FILE", help="enter the measurements of a file into the ledger")
    told = "fit figures of the target to the ledger (by default its fixed costs)"
    command.add_argument("--fit", nargs="?", const="", metavar="FIGURE,…", help=told)
    told = "fit to one half of the measured plans, and tell the errors on the other"
    command.add_argument("--hold-out", dest="held", action="store_true", help=told)
    command.add_argument("-o", dest="out", type=Path, metavar="FILE", help="write the fitted target as a new file")
    _folders(command)
    _json(command)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "build": ("build deployments", _build),
    "compile": ("lower one program and say what became of each statement", _compile),
    "interpret": ("run a source in the reference interpreter", _interpret),
    "show": ("print an artifact in its text form", _show),
    "check": ("accept an artifact, reject it, or find it unsupported", _check),
    "run": ("simulate one call of a program", _run),
    "generate": ("prefill and decode of a language model", _generate),
    "calibrate": ("price and time plans side by side, and fit a target's figures to measurements", _calibrate),
    "time": ("say how many cycles each program takes, and what binds it", _time),
}
"""Each command's summary, and what puts its options on its parser."""


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _arrays(command: argparse.ArgumentParser) -> None:
    command.add_argument("--in", dest="given", type=Path, metavar="FILE", help="inputs and state, an npz")
    command.add_argument("--out", type=Path, metavar="FILE", help="write results and state there, an npz")


def _folders(command: argparse.ArgumentParser) -> None:
    for name, told in (
        ("deployments", "specs and sources"),
        ("artifacts", "what builds write"),
        ("store", "the store"),
    ):
        command.add_argument(f"--{name}", type=Path, metavar="FOLDER", help=f"the folder of {told}")


def _count(text: str) -> int:
    value = _integer(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return value


def _integer(text: str) -> int:
    if not text.removeprefix("-").isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no integer")
    if len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"{text} is too large: an integer has up to {_DIGITS} digits here")
    return int(text)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(_integer(part.strip()) for part in text.split(",")) if text.strip() else ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _sizes(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in _words(text):
        name, equals, value = part.partition("=")
        if not equals or not name.strip().isidentifier():
            raise argparse.ArgumentTypeError(f"{part!r} is no name=value")
        if name.strip() in found:
            raise argparse.ArgumentTypeError(f"{name.strip()!r} is given twice")
        found[name.strip()] = _integer(value.strip())
    return found
