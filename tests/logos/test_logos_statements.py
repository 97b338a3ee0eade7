"""Statements, functions, recovery, several files, and the names a program takes from outside."""

import pytest

from spatial.errors import SourceError
from spatial.logos.parser import parse, parse_files
from spatial.logos.printer import print_program
from spatial.logos.scopes import free_names
from spatial.logos.syntax import Function, If, Let, Native, Param, Return, Set, Type, While


def same(text: str, canonical: str) -> None:
    assert parse(f"## Main\n{text}").main == parse(f"## Main\n{canonical}").main


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Let x = 1.", "Let x be 1."),
        ("let x be 1", "Let x be 1."),
        ("Let mut x be 1.", "Let mutable x be 1."),
        ("mut x = 1.", "Let mutable x be 1."),
        ("x = 1.", "Let x be 1."),
        ("x = 1. x = 2.", "Let x be 1. Set x to 2."),
        ("Let x be 1. x += 2.", "Let x be 1. Set x to x + 2."),
        ("x -= 2. x *= 3. x /= 4. x %= 5.", "Set x to x - 2. Set x to x * 3. Set x to x / 4. Set x to x % 5."),
        ("xs[i] += 2.", "Set item i of xs to item i of xs + 2."),
        ("Set xs[i] to 2.", "Set item i of xs to 2."),
        ("Set xs at i to 2.", "Set item i of xs to 2."),
        ("Set g[i][j] to v.", "Set item j of (item i of g) to v."),
        ("Set item j of item i of g to v.", "Set item j of (item i of g) to v."),
        ("Push 1, 2 to xs.", "Push 1 to xs. Push 2 to xs."),
        ("Push (i + 1) * 2 to xs.", "Push ((i + 1) * 2) to xs."),
        ("Push a new Seq of Int to xs.", "Push [] of Int to xs."),
        ("Repeat i from 1 to n:\n    Show i.", "Repeat for i from 1 to n:\n    Show i."),
        ("for i from 1 to n:\n    Show i.", "Repeat for i from 1 to n:\n    Show i."),
        ("For x in xs:\n    Show x.", "Repeat for x in xs:\n    Show x."),
        ("Repeat x in xs:\n    Show x.", "Repeat for x in xs:\n    Show x."),
        ("Repeat forever:\n    Break.", "While true:\n    Break."),
        ("While (x) > 1 (decreasing x):\n    Break.", "While x > 1:\n    Break."),
        ("If a then:\n    Show 1.\nElse:\n    Show 2.", "If a:\n    Show 1.\nOtherwise:\n    Show 2."),
        ("If a: Show 1. Show 2.", "If a:\n    Show 1.\nShow 2."),
        ("If a:\nShow 1.\nShow 2.", "If a:\n    Show 1.\nShow 2."),
        (
            "If (a): Show 1.\nElse if b: Show 2.\nelif c: Show 3.",
            "If a:\n    Show 1.\nOtherwise If b:\n    Show 2.\nOtherwise If c:\n    Show 3.",
        ),
        ("Return 1 if c.", "If c:\n    Return 1."),
        ("Call f with x and y.", "f(x, y)."),
        ("Call f with Give x, y.", "f(x, y)."),
        ("Call f.", "f()."),
        ("xs.f(y).", "f(xs, y)."),
        ("Show 1 to console.", "Show 1."),
        ("Show 1 to the console.", "Show 1."),
        ("Show 1 to f.", "f(1)."),
        ("show(1).", "Show 1."),
        ("Assert c.", "Assert that c."),
        ("Require that c.", "Assert that c."),
        ("Let xs be [] with capacity 10.", "Let xs be []."),
        ("Let x be 1 Let y be 2", "Let x be 1.\nLet y be 2."),
        ("    Show 1.\n  Show 2.", "Show 1.\nShow 2."),
        ("Let x: List of Real be [].", "Let x: Seq of Float be []."),
        ("Let x: (Seq of (Vec of Boolean)) be [].", "Let x: Seq of (Seq of Bool) be []."),
        ("Let x: Int where x > 1 be y.", "Let x: Int be y."),
        ("Let size be 1. Let lower be 2. Let count be 3.", "Let size be 1.\nLet lower be 2.\nLet count be 3."),
    ],
)
def test_means_the_same(text: str, canonical: str) -> None:
    same(text, canonical)


def test_assignment_asks_what_the_text_above_binds_in_any_block() -> None:
    main = parse("## Main\nIf c:\n    x = 1.\nx = 2.\nRepeat for i from 1 to 2:\n    i = i + 1.").main
    assert isinstance(main[0], If) and isinstance(main[0].branches[0][1][0], Let)
    assert isinstance(main[1], Set)
    assert "Let i be i + 1." in print_program(parse("## Main\nRepeat for i from 1 to 2:\n    i = i + 1."))


def test_functions_do_not_see_what_others_bind() -> None:
    program = parse("## To f (a: Int):\n    a = 1.\n    b = 2.\n## Main\nb = 3.")
    assert isinstance(program.functions[0].body[0], Set)
    assert isinstance(program.functions[0].body[1], Let)
    assert isinstance(program.main[0], Let)


@pytest.mark.parametrize(
    ("head", "params", "returns"),
    [
        ("f", (), None),
        ("f ()", (), None),
        ("f (a: Int)", (Param("a", Type("Int")),), None),
        ("f (a: Int, b: Float) -> Bool", (Param("a", Type("Int")), Param("b", Type("Float"))), Type("Bool")),
        ("f (a: Int) and (b: Float)", (Param("a", Type("Int")), Param("b", Type("Float"))), None),
        ("f (a: Int) from (b: Float)", (Param("a", Type("Int")), Param("b", Type("Float"))), None),
        ("f (a: Int) to (b: Float)", (Param("a", Type("Int")), Param("b", Type("Float"))), None),
        ("f (a: mutable Seq of Int)", (Param("a", Type("Seq", Type("Int")), True),), None),
    ],
)
def test_function_heads(head: str, params: tuple[Param, ...], returns: Type | None) -> None:
    program = parse(f"## To {head}:\n    Return.\n")
    assert program.functions == (Function("f", params, returns, (Return(None),)),)


def test_functions_may_stand_in_main_and_the_last_definition_wins() -> None:
    program = parse("## Main\nShow 1.\nTo f ():\n    Return 1.\nShow 2.\n## To f ():\n    Return 2.\n")
    assert [f.name for f in program.functions] == ["f"]
    assert "Return 2." in print_program(program)
    assert len(program.main) == 2


def test_natives_and_statements_after_a_function_are_main() -> None:
    program = parse("## To native exp (x: Float) -> Float\n## To f ():\n    Return 1.\nShow f().")
    assert program.natives == (Native("exp", (Param("x", Type("Float")),), Type("Float")),)
    assert program.function("exp") is program.natives[0] and program.function("g") is None
    assert len(program.main) == 1


def test_contracts_become_asserts() -> None:
    text = "## To f (x: Int):\n    Requires x > 0.\n    Ensures x < 9.\n    If x > 5:\n        Return 1.\n    Show x.\n"
    lines = print_program(parse(text)).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        *("Assert that x > 0.", "If x > 5:", "Assert that x < 9.", "Return 1.", "Show x.", "Assert that x < 9."),
    ]


def test_an_empty_block_is_a_comment() -> None:
    loop = parse("## Main\nWhile c:\n    # nothing\nShow 1.").main[0]
    assert isinstance(loop, While) and loop.body == ()


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("Frobnicate x.", "2:1", "expected a statement"),
        ("Shw x.", "2:1", 'did you mean "Show"?'),
        ("5.", "2:1", "expected a statement"),
        (":", "2:1", "expected a statement"),
        ("program", "2:1", "expected a statement"),
        ("x is 5.", "2:1", '"Let x be" binds'),
        ("Let push be 1.", "2:5", "can't name"),
        ("Let Length be 1.", "2:5", "can't name"),
        ("Let 5 be 1.", "2:5", "expected the name"),
        ("Let x 1.", "2:7", 'expected "be"'),
        ("Let x: Float be 1.5.", "2:17", "the literal is a Real"),
        ("Let x: Real be 1.", "2:16", "the literal is a Int"),
        ("Let x: Int be true.", "2:15", "the literal is a Bool"),
        ("Let x: Flot be y.", "2:8", 'did you mean "Float"?'),
        ("Let x: Map of Int to Int be y.", "2:8", "not part of a tensor program"),
        ("Set x 5.", "2:7", 'expected "to"'),
        ("Set 5 to 6.", "2:5", "can't be set"),
        ("Set item 1 of f(x) to 6.", "2:5", "can't be changed"),
        ("xs[1] = 5.", "2:1", "use Set"),
        ("Push 1 into xs.", "2:8", 'expected "to"'),
        ("Push 1 to 2.", "2:11", "can't be changed"),
        ("Pop xs.", "2:5", 'expected "from"'),
        ("If x\n    Show 1.", "3:5", 'expected ":"'),
        ("While x:\nShow 1.", "3:1", "indented block"),
        ("Repeat for i from 1 to 3:\nShow 1.", "3:1", "indented block"),
        ("Repeat for i over xs:\n    Show i.", "2:14", 'expected "from"'),
        ("Repeat for (a, b) in xs:\n    Show a.", "2:12", "a tuple of loop variables"),
        ("To f (a):\n    Return.", "2:8", 'expected ":"'),
        ("To f (a: Int) and (a: Int):\n    Return.", "2:20", 'two parameters are named "a"'),
        ("To f ():\nReturn.", "3:1", "indented block"),
        ("While c:\n    Show 1.\n        # deeper\n    Show 2.", "4:9", "unexpected indentation"),
        ("Increase x by 1.", "2:1", "not part of a tensor program"),
        ("Show 5 meters.", "2:8", "the unit meters is not part of a tensor program"),
        ("Let x be 2 + -3.5 seconds.", "2:19", "the unit seconds is not part of a tensor program"),
        ("Inspect x:\n    Show 1.", "2:1", "not part of a tensor program"),
        ("Check that x is y.", "2:1", "not part of a tensor program"),
        ("Spawn a Worker.", "2:1", "not part of a tensor program"),
    ],
)
def test_refused_with_its_place(text: str, place: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(f"## Main\n{text}", "t.lg")
    first = str(caught.value.problems[0])
    assert first.startswith(f"t.lg:{place}:") and words in first


def test_all_problems_are_told_at_once_in_order() -> None:
    text = (
        "## Main\nLet x be .\nShow 1.\nWhile x\n    Show ).\nShow y is z.\n## To f (a: Int)\n    Show a.\nPush to x.\n"
    )
    with pytest.raises(SourceError) as caught:
        parse(text)
    lines = [p.place.line for p in caught.value.problems if p.place]
    assert lines == [2, 5, 6, 8, 9]


def test_thousands_of_problems_are_not_all_told() -> None:
    with pytest.raises(SourceError) as caught:
        parse("## Main\n" + "Shw.\n" * 3000)
    assert len(caught.value.problems) == 20


def test_blocks_nested_too_deep_are_refused() -> None:
    text = "".join(" " * i + "If c:\n" for i in range(500)) + " " * 500 + "Show 1.\n"
    with pytest.raises(SourceError, match="nested deeper"):
        parse("## Main\n" + text)


def test_several_files_are_one_text_and_places_name_theirs() -> None:
    program = parse_files([("a.lg", "## To f ():\n    Return 1.\n"), ("b.lg", "## Main\n\nShow f().\n")])
    span = program.main[0].span
    assert (span.file, span.line, span.column) == ("b.lg", 3, 1)
    assert program.functions[0].span.file == "a.lg"
    with pytest.raises(SourceError, match=r"b\.lg:2:6"):
        parse_files([("a.lg", "## Main\nShow 1.\n"), ("b.lg", "## Main\nShow ).\n")])


def test_a_block_may_go_on_in_the_next_file() -> None:
    assert len(parse_files([("a.lg", "## Main\nShow 1.\n"), ("b.lg", "Show 2.\n")]).main) == 2


def test_inputs_are_the_names_never_bound() -> None:
    program = parse(
        "## To f (x: Int):\n    Push n to cache.\n    Return x + late.\n"
        "## Main\nLet a be w.\nSet item 1 of table to a.\nSet only_set to 1.\nLet late be 1.\n"
        "Repeat for i from 1 to rows:\n    Let inner be i.\nShow inner + x.\n"
    )
    found = free_names(program)
    assert set(found) == {"w", "n", "cache", "table", "rows", "x"}
    assert (found["rows"].line, found["rows"].column) == (9, 24)
