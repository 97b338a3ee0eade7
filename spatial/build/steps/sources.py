"""Reading the source files an action names: the very bytes its key was made with, under names that no machine shows.

Place: under `names` and `lift`. A file goes by its label in everything that is kept; messages of errors get the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from spatial.build.canonical import digest
from spatial.build.steps.given import Given
from spatial.errors import EnvironmentFault, Place, Problem, SourceError, SpatialError
from spatial.logos.parser import parse_files
from spatial.logos.syntax import Program

T = TypeVar("T")


def read_program(given: Given) -> Program:
    """The program whose files `sources` ([label, digest] each) stand at `paths` aside, read as one text."""
    files: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for (label, expected), path in zip(given.params["sources"], given.aside["paths"], strict=True):
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise EnvironmentFault(f"the source {path} cannot be read: {error.strerror}") from None
        if digest(data) != expected:
            raise EnvironmentFault(f"the source {path} was changed while it was being built", "", "build again")
        try:
            files.append((label, data.decode()))
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            problems.append(Problem("the source is no UTF-8", f"byte {error.start}", place=Place(label, line)))
    if problems:
        raise SourceError(problems)
    return parse_files(files)


def with_paths(given: Given, work: Callable[[], T]) -> T:
    """What `work` returns; an error it raises tells files by their path instead of their label."""
    try:
        return work()
    except SpatialError as error:
        labels = [label for label, _ in given.params["sources"]]
        paths = dict(zip(labels, given.aside["paths"], strict=True))
        raise type(error)([_at_path(problem, paths) for problem in error.problems]) from error


def _at_path(problem: Problem, paths: Mapping[str, str]) -> Problem:
    place = problem.place
    if place is None or place.file not in paths:
        return problem
    return replace(problem, place=replace(place, file=paths[place.file]))
