"""What a person types: `spatial COMMAND …`.

    options      the command line of every command
    output       plain text or one JSON object, and how errors are told
    build, compile, interpret, show, check, run, generate, time, calibrate
                                    one file a command: `run(options) -> exit code`
    places, jobs                    where things lie that a line names; what `compile` compiles
    explain, trace                  what `compile` tells of statements, and of passes
    measured                        what `calibrate` does with a ledger

Commands parse, call the floors below, and print; what they do belongs there. A command's module is imported when it is
asked for, so `spatial --help` stays quick.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from spatial.cli.options import parse
from spatial.errors import Bug, EnvironmentFault, SpatialError

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code: 0 done, 1 refused, 2 usage or spec, 3 a fault of ours, 4 environment.

    130 and 143 after an interrupt and SIGTERM. What is wrong is told on standard error, without a traceback unless
    `--debug` was given.
    """
    options = parse(sys.argv[1:] if argv is None else argv)
    _exit_on_sigterm()
    try:
        return import_module(f"spatial.cli.{options.command}").run(options)
    except SpatialError as error:
        if options.debug:
            traceback.print_exc()
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; nothing more can be told on that side.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, MemoryError) as error:
        if options.debug:
            traceback.print_exc()
        print(EnvironmentFault(str(error) or "out of memory", "", "check files, disk and memory"), file=sys.stderr)
        return EnvironmentFault.exit_code
    except RecursionError as error:
        return _fault(error, options.debug)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        return _fault(error, options.debug)


def _fault(error: Exception, debug: bool) -> int:
    """Tell of an exception that is none of the family: an invariant of ours did not hold."""
    if debug:
        traceback.print_exc()
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    print(Bug(what, "this is a fault of this program", "run again with --debug, and report it"), file=sys.stderr)
    return Bug.exit_code


def _exit_on_sigterm() -> None:
    def leave(number: int, frame: object) -> NoReturn:
        sys.exit(128 + number)

    try:
        signal.signal(signal.SIGTERM, leave)
    except ValueError:
        return  # not the main thread: whoever runs us there has the signals
