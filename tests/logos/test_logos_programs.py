"""Whole programs with what they show."""

import math

import pytest

from spatial.logos.interpret import interpret
from spatial.logos.parser import parse
from spatial.logos.printer import print_program

SIEVE = """
## To primes (limit: Int) -> Seq of Int:
    Let flags be (limit + 1) copies of true.
    Let found be a new Seq of Int.
    Repeat for n from 2 to limit:
        If item n of flags:
            Push n to found.
            Let k be n * n.
            While k is at most limit:
                Set item k of flags to false.
                Set k to k + n.
    Return found.

## Main
Show primes(50).
"""

SORTING = """
## To sort_in_place (xs: mutable Seq of Int):
    Repeat for i from 2 to length of xs:
        Let key be item i of xs.
        Let j be i - 1.
        While j > 0 and item (max(j, 1)) of xs > key:
            Set item (j + 1) of xs to item j of xs.
            Set j to j - 1.
        Set item (j + 1) of xs to key.

## To merged (a: Seq of Int) and (b: Seq of Int) -> Seq of Int:
    Let out be a new Seq of Int.
    Let i be 1.
    Let j be 1.
    While i <= length of a or j <= length of b:
        If j > length of b:
            Push item i of a to out.
            i += 1.
        Otherwise If i > length of a:
            Push item j of b to out.
            j += 1.
        Otherwise If item i of a <= item j of b:
            Push item i of a to out.
            i += 1.
        Otherwise:
            Push item j of b to out.
            j += 1.
    Return out.

## To sorted (xs: Seq of Int) -> Seq of Int:
    Let n be length of xs.
    If n < 2: Return xs.
    Let half be n / 2.
    Return merged(sorted(items 1 through half of xs), sorted(items (half + 1) through n of xs)).

## Main
Let xs be [5, 3, 9, -1, 3, 0].
Show sorted(xs).
sort_in_place(xs).
Show xs.
"""

HANOI = """
## To hanoi (n: Int, from_: Text, to_: Text, via: Text) -> Int:
    If n equals 0: Return 0.
    Let before be hanoi(n - 1, from_, via, to_).
    Return before + 1 + hanoi(n - 1, via, to_, from_).

## To fib (n: Int) -> Int:
    Return n if n < 2.
    Return fib(n - 1) + fib(n - 2).

## Main
Show "hanoi of {5}: {hanoi(5, \\"a\\", \\"c\\", \\"b\\")}, fib: {fib(20):>8}".
Let mutable big be 1.
Repeat for i from 1 to 30:
    Set big to big * i.
Show "30! = {big}".
"""

N_BODY = """
## Note
Two bodies, a leap-frog step, no units.

## To accelerate (xs: Seq of Float, vs: mutable Seq of Float, dt: Float):
    Repeat for i from 1 to length of xs:
        Repeat for j from 1 to length of xs:
            If i is not j:
                Let d be item j of xs - item i of xs.
                Let pull be d / (abs(d) ** 3 + 0.01).
                Set item i of vs to item i of vs + pull * dt.

## Main
Let xs be [0.0, 1.0, 3.0].
Let vs be 3 copies of 0.0.
Repeat for t from 1 to 10:
    accelerate(xs, vs, 0.01).
    Repeat for i from 1 to 3:
        xs[i] += item i of vs * 0.01.
Show "{xs[1]:.6} {xs[2]:.6} {xs[3]:.6}".
Show item 1 of vs + item 2 of vs + item 3 of vs is approximately 0.0.
"""

MATMUL = """
## To matmul (a: Seq of (Seq of Float)) and (b: Seq of (Seq of Float)) -> Seq of (Seq of Float):
    Let c be a new Seq of (Seq of Float).
    Repeat for i from 1 to length of a:
        Let row be a new Seq of Float.
        Repeat for j from 1 to length of item 1 of b:
            Let acc be 0.0.
            Repeat for k from 1 to length of b:
                Set acc to acc + item k of item i of a * item j of item k of b.
            Push acc to row.
        Push row to c.
    Return c.

## Main
Show matmul([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.5]]).
"""

ATTENTION = """
## To native exp (x: Float) -> Float

## To softmax (xs: Seq of Float) -> Seq of Float:
    Let top be item 1 of xs.
    Repeat for x in xs:
        Set top to max(top, x).
    Let total be 0.0.
    Let out be a new Seq of Float.
    Repeat for x in xs:
        Let e be exp(x - top).
        Set total to total + e.
        Push e to out.
    Repeat for i from 1 to length of out:
        Set item i of out to item i of out / total.
    Return out.

## Main
Set item (position + 1) of cache to [1.0, 0.5].
Let scores be a new Seq of Float.
Repeat for t from 1 to position + 1:
    Push item 1 of (item t of cache) * 2.0 + item 2 of (item t of cache) to scores.
Let weights be softmax(scores).
Repeat for w in weights:
    Show "{w:.4}".
"""


def leap_frog() -> list[str]:
    """What N_BODY shows, by the same steps in Python."""
    xs, vs = [0.0, 1.0, 3.0], [0.0, 0.0, 0.0]
    for _ in range(10):
        for i in range(3):
            for j in range(3):
                if i != j:
                    d = xs[j] - xs[i]
                    vs[i] += d / (abs(d) ** 3 + 0.01) * 0.01
        xs = [x + v * 0.01 for x, v in zip(xs, vs, strict=True)]
    return [" ".join(f"{x:.6f}" for x in xs), "true"]


def weights() -> list[str]:
    """What ATTENTION shows for the cache below, written at position 2."""
    scores = [0.0, 0.75, 2.5]
    total = sum(math.exp(s - 2.5) for s in scores)
    return [f"{math.exp(s - 2.5) / total:.4f}" for s in scores]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SIEVE, ["[2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]"]),
        (SORTING, ["[-1, 0, 3, 3, 5, 9]"] * 2),
        (HANOI, ["hanoi of 5: 31, fib:     6765", "30! = 265252859812191058636308480000000"]),
        (N_BODY, leap_frog()),
        (MATMUL, ["[[19, 23], [43, 52]]"]),
        (ATTENTION, weights()),
    ],
    ids=["sieve", "sorting", "recursion", "n-body", "matmul", "attention"],
)
def test_programs(text: str, expected: list[str]) -> None:
    inputs = {"cache": [[0.0, 0.0], [0.25, 0.25], [0.0, 0.0]], "position": 2} if text is ATTENTION else {}
    for source in (text, print_program(parse(text))):
        lines: list[str] = []
        interpret(parse(source), inputs, (), lines.append)
        assert lines == expected
