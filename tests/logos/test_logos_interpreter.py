"""What expressions mean: operators, builtins, natives; and every run-time error, with its place."""

import math
from typing import Any

import pytest

from spatial.errors import SourceError
from spatial.logos.interpret import interpret
from spatial.logos.parser import parse


def shown(text: str, **inputs: Any) -> list[str]:
    """What the program shows."""
    lines: list[str] = []
    interpret(parse(text, "t.lg"), inputs, ["prog", "12"], lines.append)
    return lines


def value(expr: str, **inputs: Any) -> str:
    """What `Show expr` shows."""
    return shown(f"## Main\nShow {expr}.", **inputs)[0]


def fault(text: str, **inputs: Any) -> str:
    """The run-time error a program stops on."""
    with pytest.raises(SourceError) as caught:
        shown(text, **inputs)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("7 / -2", "-3"),
        ("-7 / -2", "3"),
        ("7.0 / 2", "3.5"),
        ("7 / 2.0", "3.5"),
        ("-7 // 2", "-4"),
        ("7 // -2", "-4"),
        ("7.5 // 2", "3"),
        ("-7.5 // 2", "-4"),
        ("-0.0 // 2", "-0"),
        ("0.3 // 0.1", "2"),
        ("-7 % 3", "-1"),
        ("7 % -3", "1"),
        ("-7 % -3", "-1"),
        ("2 ** 10", "1024"),
        ("2 ** 100", str(2**100)),
        ("2.0 ** -1", "0.5"),
        ("2 ** 0.5", "1.4142135623730951"),
        ("(0 - 8.0) ** 0.5", "NaN"),
        ("0.0 ** -1", "inf"),
        ("-0.0 ** -1", "-inf"),
        ("10.0 ** 400", "inf"),
        ("9223372036854775807 + 1", "9223372036854775808"),
        ("-9223372036854775808 / -1", "9223372036854775808"),
        ("9223372036854775807 * 9223372036854775807 / 9223372036854775807", "9223372036854775807"),
        ("1e308 * 10", "inf"),
        ("-1e308 * 10", "-inf"),
        ("infinity - infinity", "NaN"),
        ("1 + 2.5", "3.5"),
        ("-0.0", "-0"),
        ("0.0 == -0.0", "true"),
        ("1 == 1.0", "true"),
        ("2 ** 53 + 1 == 2.0 ** 53", "false"),
        ("2 ** 53 + 1 > 2.0 ** 53", "true"),
        ("nan == nan", "false"),
        ("nan != nan", "true"),
        ("nan < 1", "false"),
        ("true == 1", "false"),
        ('"1" == 1', "false"),
        ("nothing == false", "false"),
        ("nothing == nothing", "true"),
        ("[1, [2]] == [1.0, [2]]", "true"),
        ("[nan] == [nan]", "false"),
        ("[1] == [1, 2]", "false"),
        ("1 < 2 < 3", "true"),
        ("1 < 3 < 2", "false"),
        ("2 is between 2 and 3", "true"),
        ("4 is even", "true"),
        ("-3 is odd", "false"),
        ("9 is divisible by 3", "true"),
        ("0.1 + 0.2 is approximately 0.3", "true"),
        ("1.0 is approximately 1.001", "false"),
        ("infinity is approximately infinity", "true"),
        ("6 and 3", "true"),
        ("0 or 0.0", "false"),
        ("not nothing", "true"),
        ('not ""', "true"),
        ("not []", "true"),
        ("not [0]", "false"),
        ("nan and true", "true"),
        ("false and undefined_name", "false"),
        ("true or undefined_name", "true"),
        ("6 & 3", "2"),
        ("6 | 3", "7"),
        ("6 ^ 3", "5"),
        ("~5", "-6"),
        ("-1 & 255", "255"),
        ("true & false", "false"),
        ("true | false", "true"),
        ("true ^ true", "false"),
        ("1 shifted left by 63", "-9223372036854775808"),
        ("1 shifted left by 64", "1"),
        ("-8 shifted right by 1", "-4"),
        ("3 shifted left by 2", "12"),
        ('"n=" + 3', "n=3"),
        ('3.0 + "x"', "3x"),
        ('"a" + [1, true]', "a[1, true]"),
        ("1 combined with 2", "12"),
        ("nothing combined with true", "nothingtrue"),
        ("[1] + [2.5]", "[1, 2.5]"),
        ("[1] followed by [2]", "[1, 2]"),
        ("[1, 2] * 2", "[1, 2, 1, 2]"),
        ("2 * [0]", "[0, 0]"),
        ("[1] * -1", "[]"),
        ("3 copies of 0", "[0, 0, 0]"),
        ("0 copies of 1", "[]"),
        ("2 in [1, 2]", "true"),
        ("3 not in [1, 2]", "true"),
        ("1.0 in [1, 2]", "false"),
        ("0.3 in [0.1 + 0.2]", "true"),
        ('"abc" contains "bc"', "true"),
        ("length of [1, 2, 3]", "3"),
        ('length of "aé"', "3"),
        ('item 2 of "aé"', "é"),
        ("copy of [1, [2]]", "[1, [2]]"),
        ("[] of Int", "[]"),
        ("a new Seq of (Seq of Float)", "[]"),
    ],
)
def test_operators(expr: str, expected: str) -> None:
    assert value(expr) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("sqrt(4)", "2"),
        ("sqrt(-1)", "NaN"),
        ("sqrt(2)", "1.4142135623730951"),
        ("abs(-3)", "3"),
        ("abs(-2.5)", "2.5"),
        ("abs(-9223372036854775808)", "9223372036854775808"),
        ("min(2, 3)", "2"),
        ("max(2, 3)", "3"),
        ("max(2, 1.5) / 4", "0.5"),  # a Float operand makes the result a Float
        ("max(nan, 1)", "1"),
        ("min(1, nan)", "1"),
        ("floor(-2.5)", "-3"),
        ("ceil(-2.5)", "-2"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(0.49999999999999994)", "0"),
        ("floor(7)", "7"),
        ("floor(1e300)", "9223372036854775807"),
        ("round(-infinity)", "-9223372036854775808"),
        ("ceil(nan)", "0"),
        ("pow(2, 3)", "8"),
        ("pow(2, -1)", "0.5"),
        ("pow(2, 100)", str(2**100)),
        ("pow(2.0, 0.5)", "1.4142135623730951"),
        ("pow(0, -1)", "inf"),
        ('parseInt(" 12 ")', "12"),
        ('parseInt("-5") + 1', "-4"),
        ('parseFloat("1e3")', "1000"),
        ('parseFloat(" -.5 ")', "-0.5"),
        ("count_ones(7)", "3"),
        ("count_ones(-1)", "64"),
        ("chr(65)", "A"),
        ("format(2.0)", "2"),
        ("repeatSeq([0], 2)", "[[0], [0]]"),
        ("length([1])", "1"),
        ("copy([1])", "[1]"),
        ("args()", "[prog, 12]"),
        ("parseInt(item 2 of args()) + 1", "13"),
    ],
)
def test_builtins(expr: str, expected: str) -> None:
    assert value(expr) == expected


def test_builtins_win_over_functions_of_the_same_name() -> None:
    assert shown("## To max (a: Int) and (b: Int):\n    Return 0.\n## Main\nShow max(1, 2).") == ["2"]


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", 1.0, math.e),
        ("exp", 1000.0, math.inf),
        ("exp", -math.inf, 0.0),
        ("log", 2.0, math.log(2.0)),
        ("log", 0.0, -math.inf),
        ("log", -1.0, math.nan),
        ("sin", 0.5, math.sin(0.5)),
        ("cos", 0.5, math.cos(0.5)),
        ("sin", math.inf, math.nan),
        ("tanh", 0.5, math.tanh(0.5)),
        ("erf", 0.5, math.erf(0.5)),
        ("exp", 0, 1.0),
    ],
)
def test_natives(name: str, x: float, expected: float) -> None:
    program = parse(f"## To native {name} (x: Float) -> Float\n## Main\nLet y be {name}(x).")
    found = interpret(program, {"x": x}).variables["y"]
    assert isinstance(found, float)
    assert repr(found) == repr(expected)


def test_natives_must_be_declared_and_others_give_nothing() -> None:
    assert "## To native exp (x: Float) -> Float" in fault("## Main\nShow exp(1.0).")
    assert shown("## To native other (x: Int) -> Int\n## Main\nShow other(1).") == ["nothing"]
    assert shown("## To exp (x: Float):\n    Return x + 1.\n## Main\nShow exp(1.0).") == ["2"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("Show x.", "2:6", 'undefined variable "x"'),
        ("Set x to 1.", "2:1", 'undefined variable "x"'),
        ("Set item 1 of x to 1.", "2:15", 'undefined variable "x"'),
        ("Show f(1).", "2:6", 'unknown function "f"'),
        ("Show maxx(1, 2).", "2:6", 'did you mean "max"?'),
        ("Show max(1).", "2:6", "max takes 2 arguments, 1 given"),
        ("To f (a: Int):\n    Return a.\nShow f().", "4:6", "f takes 1 argument, 0 given"),
        ("Show 1 / 0.", "2:6", "division by zero; no Int is the quotient; test the divisor first"),
        ("Show 1.0 / 0.", "2:6", "division by zero; Float division by zero is an error too"),
        ("Show 0.0 / -0.0.", "2:6", "division by zero"),
        ("Show 1 // 0.", "2:6", "division by zero"),
        ("Show 1 % 0.", "2:6", "modulo by zero"),
        ("Show 1.5 % 2.", "2:6", "remainder of Float by Int"),
        ("Show 2 ** -1.", "2:6", "negative exponent"),
        ("Show 1 + true.", "2:6", "cannot add Int and Bool"),
        ("Show 2 - nothing.", "2:6", "cannot subtract Nothing from Int"),
        ('Show 2 * "a".', "2:6", "cannot multiply Int by Text"),
        ("Show [1] + 1.", "2:6", "cannot add Seq and Int"),
        ("Show true / 2.", "2:6", "cannot divide Bool by Int"),
        ('Show "a" < "b".', "2:6", "cannot compare Text and Text"),
        ("Show true < 1.", "2:6", "cannot compare Bool and Int"),
        ("Show [1] < [2].", "2:6", "cannot compare Seq and Seq"),
        ("Show 1.0 & 2.", "2:6", "cannot apply & to Float and Int"),
        ("Show 2 ** 70 | 1.", "2:6", "beyond 64 bits"),
        ("Show ~true.", "2:6", "cannot apply ^"),
        ("Show min(2 ** 70, 1).", "2:6", "beyond 64 bits"),
        ("Show sqrt(true).", "2:6", "sqrt takes a number, not a Bool"),
        ("Let xs be [1, 2].\nShow item 3 of xs.", "3:6", "index 3 is out of range; the sequence has 2 items"),
        ("Let xs be [1, 2].\nShow item -3 of xs.", "3:6", "index -3 is out of range"),
        ("Let xs be [1, 2].\nShow xs[0].", "3:6", "index 0 is out of range"),
        ("Let xs be [1, 2].\nLet i be 0.\nShow item i of xs.", "4:6", "index 0 is out of range"),
        ("Show item (1 + 1) of [1].", "2:6", "index 2 is out of range"),
        ("Show item 1.0 of [1].", "2:6", "cannot index a Seq with Float"),
        ("Let i be true.\nShow item i of [1].", "3:6", "cannot index a Seq with Bool"),
        ("Let x be 5.\nShow item 1 of x.", "3:6", "cannot index Int"),
        ("Let xs be [1].\nSet item 2 of xs to 5.", "3:5", "index 2 is out of range; the sequence has 1 items"),
        ("Let xs be [1].\nSet item 1.5 of xs to 5.", "3:5", "cannot index a Seq with Float"),
        ("Let x be 1.\nSet item 1 of x to 5.", "3:5", "cannot set an item of Int"),
        ("Let x be 1.\nPush 5 to x.", "3:1", "cannot push to Int"),
        ("Let x be 1.\nPop from x.", "3:1", "cannot pop from Int"),
        ("Show length of 5.", "2:6", "cannot take the length of Int"),
        ("Show items 1 through 2 of 5.", "2:6", "cannot take items 1 through 2 of Int"),
        ("Show items 1.5 through 2 of [1].", "2:6", "a slice takes a Seq and two Ints"),
        ("Repeat for i from 1 to 2.0:\n    Show i.", "2:1", "cannot count from Int to Float"),
        ("Repeat for i in 5:\n    Show i.", "2:1", "cannot iterate over Int"),
        ("Assert that 1 > 2.", "2:1", "assertion failed; its condition is false here; show the values it compares"),
        ('Show parseInt("x").', "2:6", 'cannot parse "x" as Int'),
        ('Show parseInt("99999999999999999999").', "2:6", "cannot parse"),
        ('Show parseFloat("1_0").', "2:6", "as Float"),
        ("Show chr(55296).", "2:6", "is no character"),
        ("Show 10 ** 400 + 0.5.", "2:6", "too large for a Float"),
        ("To f (n: Int):\n    Return 1 - f(n).\nShow f(1).", "3:16", "calls nested deeper than 2500"),
        ("If c:\n    Let y be 1.\nShow y.", "4:6", 'undefined variable "y"'),
    ],
)
def test_faults_have_places(text: str, place: str, words: str) -> None:
    found = fault(f"## Main\n{text}", **({"c": True} if "If c" in text else {}))
    assert found.startswith(f"t.lg:{place}:") and words in found


def test_a_fault_in_a_function_is_placed_in_it_and_shown_lines_stay() -> None:
    lines: list[str] = []
    program = parse("## To f (x: Int):\n    Let y be 1.\n    Return y / x.\n## Main\nShow 1.\nShow f(0).", "t.lg")
    with pytest.raises(SourceError, match=r"t\.lg:3:12"):
        interpret(program, {}, (), lines.append)
    assert lines == ["1"]


def test_an_error_of_the_output_function_is_left_alone() -> None:
    def broken(_: str) -> None:
        raise IndexError("mine")

    with pytest.raises(IndexError, match="mine"):
        interpret(parse("Show 1."), {}, (), broken)
