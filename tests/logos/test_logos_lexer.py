"""Tokens: words, numerals, strings, gluing, statement ends, indentation, block headers."""

import pytest

from spatial.errors import SourceError
from spatial.logos.lexer import lex
from spatial.logos.parser import parse
from spatial.logos.printer import print_program


def kinds(text: str) -> list[str]:
    tokens, problems = lex([("t.lg", "## Main\n" + text)])
    assert not problems
    return [token.kind if token.kind in ("stop", "indent", "dedent") else token.text for token in tokens[1:-1]]


def problem(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        parse(text, "t.lg")
    return str(caught.value.problems[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Show x.", ["Show", "x", "stop"]),
        ("numRows row_2 _x α x1", ["numRows", "row_2", "_x", "α", "x1"]),
        ("a + b**c//d", ["a", "+", "b", "**", "c", "//", "d"]),
        ("a<=b>=c==d!=e", ["a", "<=", "b", ">=", "c", "==", "d", "!=", "e"]),
        ("x isn't y", ["x", "is", "not", "y"]),
        ("1.5 1. 2", ["1.5", "1", "stop", "2"]),
        ("x... y?", ["x", "stop", "y", "stop"]),
        ("x; y", ["x", "y"]),
        ("x.f(y)", ["x", ".", "f", "(", "y", ")"]),
        ("x. f", ["x", "stop", "f"]),
        ("x # all the rest. (\ny", ["x", "y"]),
        ("### a comment\ny", ["y"]),
        ("1e3 1.5e-3 2E+4 0xFF 1_000", ["1e3", "1.5e-3", "2E+4", "0xFF", "1_000"]),
        ("1,000 [1,2] f(3,4) [f(3,4)]", [*["1,000", "[", "1", ",", "2", "]", "f", "(", "3,4", ")"], *"[f(3,4)]"]),
        ("1.5,2", ["1.5", ",", "2"]),
        ("x\r\ny", ["x", "y"]),
        ("a -> b", ["a", "->", "b"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Show i-j", ["Show", "i", "-", "j"]),
        ("Let i-j be 1", ["Let", "i-j", "be", "1"]),
        ("Let i-j be 1. Show i-j", ["Let", "i-j", "be", "1", "stop", "Show", "i-j"]),
        ("Show N-1", ["Show", "N", "-", "1"]),
        ("Let N-1 be 2", ["Let", "N-1", "be", "2"]),
        ("Show N+M", ["Show", "N", "+", "M"]),
        ("Show N+1", ["Show", "N", "+", "1"]),
        ("Show x-1", ["Show", "x", "-", "1"]),
        ("Show 5-x", ["Show", "5", "-", "x"]),
        ("Show 10/2", ["Show", "10", "/", "2"]),
    ],
)
def test_glued_words_come_apart_unless_the_program_binds_them(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_a_capital_word_glued_to_plus_equals_is_refused() -> None:
    assert "N +=" in problem("## Main\nLet N be 1.\nN+=1.")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a\n    b\nc", ["a", "indent", "b", "dedent", "c"]),
        ("a\n\tb\n    c", ["a", "indent", "b", "c", "dedent"]),
        ("a\n\n    b", ["a", "indent", "b", "dedent"]),
        ("a\n    b\n        c\nd", ["a", "indent", "b", "indent", "c", "dedent", "dedent", "d"]),
        # A dedent to a width never pushed: one dedent, nothing pushed; the next line there indents.
        ("a\n        b\n    c\n    d", ["a", "indent", "b", "dedent", "c", "indent", "d", "dedent"]),
        ("[1,\n    2]\nb", ["[", "1", ",", "2", "]", "b"]),
        ("a\n    f(1,\n        2)\n    b", ["a", "indent", "f", "(", "1", ",", "2", ")", "b", "dedent"]),
        ("a\n    b\n# out\n    c", ["a", "indent", "b", "dedent", "indent", "c", "dedent"]),
    ],
)
def test_indentation(body: str, expected: list[str]) -> None:
    assert kinds(body) == expected


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r'"a\nb\t\"\\"', 'a\nb\t"\\'),
        (r'"\u{41}\u{3b1}"', "Aα"),
        (r'r"\n{{x}}"', r"\n{x}"),
        ('"{{x}}"', "{x}"),
        ('"a}b"', "a}b"),
        ('"""\n    one\n      two\n"""', "one\n  two"),
        ('"two\nlines"', "two\nlines"),
    ],
)
def test_strings(source: str, text: str) -> None:
    tokens, problems = lex([("t.lg", f"## Main\nShow {source}.")])
    assert not problems
    assert tokens[2].kind == "text" and tokens[2].text == text


def test_spans_count_lines_and_columns_from_one() -> None:
    tokens, _ = lex([("t.lg", '## Main\n  Show "a\nb" + xy.')])
    spans = {t.text: (t.span.line, t.span.column, t.span.end_line, t.span.end_column) for t in tokens if t.text}
    assert spans["Show"] == (2, 3, 2, 7)
    assert spans["a\nb"] == (2, 8, 3, 3)
    assert spans["xy"] == (3, 6, 3, 8)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("Let x be 1.", "## Main\nLet x be 1.\n"),
        ("   Show 1.", "## Main\nShow 1.\n"),
        ("x = 5.\nShow x.", ""),
        ("# hello\nShow 1.", ""),
        ("only prose, with don't and 5ms and (", ""),
        ("prose first\n## Main\nShow 1.", "## Main\nShow 1.\n"),
        ("## Main\nShow 1.\n## Note\nit's 5ms ( [\n## Main\nShow 2.", "## Main\nShow 1.\nShow 2.\n"),
        ('## Note\nsay "## Main" here\n##main\nShow 2.', "## Main\nShow 2.\n"),
        ("## Notes here\nx\n## MAIN Show 3.", "## Main\nShow 3.\n"),
        ("## Main\nShow 1. ## Note x\n## Main\nShow 2.", "## Main\nShow 1.\nShow 2.\n"),
        ("## No Inline\n## To f ():\n    Return 1.\nShow f().", "## To f ():\n    Return 1.\n\n## Main\nShow f().\n"),
    ],
)
def test_blocks(text: str, printed: str) -> None:
    assert print_program(parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("## Mian\nShow 1.", "t.lg:1:1", "Main"),
        ("## Time\nx", "t.lg:1:1", "unknown block header"),
        ("## A Point has:\n    x\n", "t.lg:1:1", "not part of a tensor program"),
        ('## Main\nShow "abc', "t.lg:2:6", "without an end"),
        ("## Main\nShow @x.", "t.lg:2:6", "unexpected character"),
        ("## Main\nShow 1 ! 2.", "t.lg:2:8", 'write "not"'),
        ("## Main\nShow 5ms.", "t.lg:2:6", "not part of a tensor program"),
        ("## Main\nShow 4pm.", "t.lg:2:6", "not part of a tensor program"),
        ("## Main\nShow 2026-05-20.", "t.lg:2:6", "a date is not part"),
        ("## Main\nShow `a`.", "t.lg:2:6", "a Char literal is not part"),
        ("## Main\nShow $19.99.", "t.lg:2:6", "money"),
        ("## Main\nShow p's x.", "t.lg:2:7", "field"),
    ],
)
def test_problems_have_places(text: str, place: str, words: str) -> None:
    found = problem(text)
    assert found.startswith(place + ":") and words in found
