"""Whatever the text, the answer is a program or a SourceError with a place, soon; deep programs run or say why not."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spatial.errors import SourceError
from spatial.logos.interpret import interpret
from spatial.logos.parser import parse
from spatial.logos.scopes import free_names

PIECES = """
Let Set Push Pop If Otherwise Else While Repeat for from to be is not in of item items through length copy a new Seq
Int Float Show Return Break Call with and or Assert that Main To native x xs f true between even the sum shifted left
by combined copies nothing N-1 i-j 1 0 2.5 1,000 5ms ## -> += 's ` ' # . , : = == + - * / // % ** ( ) [ ] { } < <= |
& ^ ~ ; "t" "{x}" "{ "
"""
WORDS = st.sampled_from([*PIECES.split(), "\n", "\n    ", "\n        "])


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=40).map(" ".join))
@example("## Main\nIf x:")
@example("## Main\nIf x: If y: If z:")
@example('## Main\nShow "{"{"}".')
@example("## To")
@example("##")
@example("Show (x: ")
def test_any_text_parses_or_is_refused_with_a_place(text: str) -> None:
    for source in (text, "## Main\n" + text, "## To f (x: Int):\n    " + text.replace("\n", "\n    ")):
        try:
            program = parse(source, "t.lg")
        except SourceError as error:
            assert all(p.place is not None and p.place.file == "t.lg" and p.place.line > 0 for p in error.problems)
        else:
            assert all(span.file == "t.lg" for span in free_names(program).values())


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_characters_parse_or_are_refused(text: str) -> None:
    for source in (text, "## Main\nShow " + text):
        try:
            parse(source)
        except SourceError as error:
            assert error.problems


@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "## Note\n" + 'a "b ' * 100_000,
        "## Main\nShow [" + "1, " * 12_000 + "1].",
        "## Main\n" + "Let x be 1.\n" * 5_000,
        "## Main\n" + "x : y " * 5_000,
        "## Main\n" + "Show ].\n" * 5_000,
        "## Main\nShow " + "9" * 500_000 + ".",
        '## Main\nShow "' + "{x} " * 5_000 + '".',
        "## Main\n" + " \n" * 100_000 + "Show 1.",
    ],
    ids=["word", "prose", "list", "statements", "annotations", "problems", "digits", "holes", "blank lines"],
)
def test_long_texts_take_time_in_proportion(text: str) -> None:
    try:
        parse(text)
    except SourceError as error:
        assert len(error.problems) <= 20


def test_what_parses_at_the_limit_of_depth_runs() -> None:
    lines: list[str] = []
    interpret(parse("Show " + " + ".join(["1"] * 200) + "."), {}, (), lines.append)
    interpret(parse("Show " + "(" * 60 + "1" + " - 1)" * 60 + "."), {}, (), lines.append)
    interpret(parse("Show " + "[" * 60 + "1" + "]" * 60 + "."), {}, (), lines.append)
    interpret(
        parse("## Main\n" + "".join(" " * i + "If 1:\n" for i in range(60)) + " " * 60 + "Show 1."),
        {},
        (),
        lines.append,
    )
    assert lines[0] == "200" and lines[1] == "-59" and lines[3] == "1"


def test_a_long_chain_of_otherwise_if_runs_or_is_refused() -> None:
    chain = "".join(f"Otherwise If x equals {i}:\n    Show {i}.\n" for i in range(1, 300))
    lines: list[str] = []
    interpret(parse(f"## Main\nIf x equals 0:\n    Show 0.\n{chain}"), {"x": 299}, (), lines.append)
    assert lines == ["299"]
    chain = "".join(f"Otherwise If x equals {i}:\n    Show {i}.\n" for i in range(1, 5000))
    with pytest.raises(SourceError, match="too deep"):
        interpret(parse(f"## Main\nIf x equals 0:\n    Show 0.\n{chain}"), {"x": 0}, (), lines.append)
