"""Programs of the language that compute no tensor: sorts, sieves, recursion, searches, puzzles, texts.

Each `ordinary/NAME.lg` shows what the function `NAME` here gives, which reaches it another way where there is one: a
library's sort, a closed form, exact fractions. None of them is a tensor program, and the compiler says so in its own
words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest
from lifting import Facts, agree, lifted

from spatial.cli import main
from spatial.logos.interpret import interpret
from spatial.logos.parser import parse
from spatial.logos.printer import print_program

FOLDER = Path(__file__).parent / "ordinary"
NAMES = sorted(path.stem for path in FOLDER.glob("*.lg"))


def bubble_sort() -> list[object]:
    seed, xs = 42, []
    for _ in range(60):
        seed = (seed * 1103515245 + 12345) % 2**31
        xs.append(seed % 100)
    return [sorted(xs)]


def insertion_sort() -> list[object]:
    return [sorted([31, -4, 15, 9, 26, 5, 35, 8, 9, 79, 3, 2, 38, 46])]


def merge_sort() -> list[object]:
    v, xs = 0.5, []
    for _ in range(200):
        v = 3.9 * v * (1.0 - v)
        xs.append(v)
    return [f"{x:.6f}" for x in sorted(xs)]


def quick_sort() -> list[object]:
    return [sorted(i * i * 7919 % 1009 for i in range(1, 301))]


def quick_sort_in_place() -> list[object]:
    return [sorted((i * 7919 + i * i) % 997 - 500 for i in range(1, 501))]


def heap_sort() -> list[object]:
    return [sorted(i * 37 % 101 for i in range(1, 101))]


def primes(last: int) -> list[int]:
    return [n for n in range(2, last + 1) if all(n % d for d in range(2, math.isqrt(n) + 1))]


def sieve() -> list[object]:
    return [len(primes(2000)), primes(2000)]


def trial_division() -> list[object]:
    return [*primes(60), [2, 2, 2, 3, 3, 5, 7, 11, 13], [71, 839, 1471, 6857]]


def greatest_divisor() -> list[object]:
    return [math.gcd(1071, 462), math.lcm(*range(1, 41)), math.gcd(2**100, 6**60)]


@lru_cache
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def fibonacci() -> list[object]:
    return [fib(22), fib(300)]


def hanoi() -> list[object]:
    """By the rule of the smallest disc: disc d moves at the odd multiples of 2^(d-1), always one way round."""
    lines: list[object] = []
    pegs = dict.fromkeys(range(1, 7), 0)
    for t in range(1, 2**6):
        disc = (t & -t).bit_length()
        goal = (pegs[disc] + (2 if disc % 2 else 1)) % 3 if 6 % 2 else (pegs[disc] + (1 if disc % 2 else 2)) % 3
        # Pegs in a ring A, B, C: of an even tower the odd discs go to the next, the even ones to the one before.
        lines.append(f"disc {disc}: {'ABC'[pegs[disc]]} to {'ABC'[goal]}")
        pegs[disc] = goal
    return [*lines, "63 moves"]


def ackermann() -> list[object]:
    rows = (lambda n: n + 1, lambda n: n + 2, lambda n: 2 * n + 3)
    return [*(row(n) for row in rows for n in range(5)), 2 ** (4 + 3) - 3]


def n_body() -> list[object]:
    mass, places = [1.0, 0.1, 0.01], [0 + 0j, 1 + 0j, -2 + 0.5j]
    speeds = [0 + 0j, 0.1 + 1j, 0 - 0.7j]

    def energy() -> str:
        moving = sum(0.5 * m * abs(v) ** 2 for m, v in zip(mass, speeds, strict=True))
        pairs = itertools.combinations(range(3), 2)
        return f"{moving - sum(mass[i] * mass[j] / abs(places[i] - places[j]) for i, j in pairs):.9f}"

    def kick() -> None:
        for i, j in itertools.permutations(range(3), 2):
            way = places[j] - places[i]
            speeds[i] += mass[j] * way / abs(way) ** 3 * 0.005

    lines: list[object] = [energy()]
    for _ in range(500):
        kick()
        places[:] = [p + v * 0.01 for p, v in zip(places, speeds, strict=True)]
        kick()
    return [*lines, energy(), *(f"{p.real:.9f} {p.imag:.9f}" for p in places)]


def mandelbrot() -> list[object]:
    def sign(point: complex) -> str:
        z, n = 0j, 0
        while n < 50 and z.real * z.real + z.imag * z.imag <= 4:
            z, n = z * z + point, n + 1
        return "#" if n == 50 else "+" if n > 5 else "."

    return ["".join(sign(complex(c / 20 - 2, r / 10 - 1)) for c in range(51)) for r in range(21)]


def determinant() -> list[object]:
    """By elimination over exact fractions."""
    m = [[Fraction((i * j * 31 + i * i * 17 + j**3) % 23 - 11) for j in range(1, 9)] for i in range(1, 9)]
    whole = Fraction(1)
    for k in range(8):
        pivot = next(i for i in range(k, 8) if m[i][k])
        m[k], m[pivot] = m[pivot], m[k]
        whole *= m[k][k] * (1 if pivot == k else -1)
        for i in range(k + 1, 8):
            factor = m[i][k] / m[k][k]
            m[i] = [a - factor * b for a, b in zip(m[i], m[k], strict=True)]
    return [int(whole), -6, 0]


def collatz() -> list[object]:
    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    best = max(range(1, 3001), key=steps)
    return [f"{best}: {steps(best)}"]


def binary_search() -> list[object]:
    return [math.isqrt(i) if i and math.isqrt(i) ** 2 == i else 0 for i in range(31)]


def string_building() -> list[object]:
    words = ["madam", "step", "on", "no", "pets"]
    same = [f"{w:>8} reads both ways" if w == w[::-1] else f"{w:>8} reads {w[::-1]:^7}|" for w in words]
    table = "".join("".join(f"{i * j} " for j in (1, 2, 3)) + "\n" for i in (1, 2, 3))
    return [", ".join(words), *same, table, "0.3333 2.00 true [1, 2.5]"]


def tail_sums() -> list[object]:
    n = 20000
    return [n * (n + 1) * (2 * n + 1) // 6, n * (n + 1) // 2, "false"]


def permutations() -> list[object]:
    return [list(p) for p in sorted(set(itertools.permutations([1, 2, 2, 3, 4])))]


def queens() -> list[object]:
    def safe(places: tuple[int, ...]) -> bool:
        return all(abs(a - b) != j - i for (i, a), (j, b) in itertools.combinations(enumerate(places), 2))

    return [sum(map(safe, itertools.permutations(range(n)))) for n in range(1, 7)]


def knapsack() -> list[object]:
    things = list(zip([12, 2, 1, 4, 1, 9, 7], [4, 2, 1, 10, 2, 11, 6], strict=True))
    packs = [p for n in range(8) for p in itertools.combinations(things, n)]
    best = [max(sum(v for _, v in p) for p in packs if sum(w for w, _ in p) <= room) for room in range(21)]
    return [best[-1], best]


def edit_distance() -> list[object]:
    @lru_cache
    def distance(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(distance(a[1:], b[1:]) + (a[0] != b[0]), distance(a[1:], b) + 1, distance(a, b[1:]) + 1)

    pairs = [("kitten", "sitting"), ("", "abc"), ("intention", "execution"), ("same", "same")]
    return [distance(*pair) for pair in pairs]


def game_of_life() -> list[object]:
    alive = {(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)}
    near = [d for d in itertools.product((-1, 0, 1), repeat=2) if d != (0, 0)]
    cells = list(itertools.product(range(8), repeat=2))
    for _ in range(13):
        around = {(r, c): sum(((r + i) % 8, (c + j) % 8) in alive for i, j in near) for r, c in cells}
        alive = {cell for cell in cells if around[cell] == 3 or (around[cell] == 2 and cell in alive)}
    return ["".join("o" if (r, c) in alive else "-" for c in range(8)) for r in range(8)]


def factorial() -> list[object]:
    return [math.factorial(20), math.factorial(200), sum(map(int, str(math.factorial(50))))]


def power_mod() -> list[object]:
    return [
        pow(3, 1000000, 1000000007),
        pow(2, 9007199254740993, 2147483647),
        pow(123456789, 987654321, 998244353),
    ]


def pascal() -> list[object]:
    return [[math.comb(n, k) for k in range(n + 1)] for n in range(15)]


def roman() -> list[object]:
    numerals = {1: "I", 4: "IV", 9: "IX", 14: "XIV", 40: "XL", 90: "XC", 400: "CD"}
    numerals |= {1994: "MCMXCIV", 2026: "MMXXVI", 3999: "MMMCMXCIX"}
    return [f"{n:>5} {text}" for n, text in numerals.items()]


def shortest_paths() -> list[object]:
    """By relaxing every edge as often as there are places."""
    edges: dict[tuple[int, int], float] = {}
    for i in range(7):
        edges[i, (i + 1) * 3 % 7] = 1.5 * (i + 1)
        edges[i, (i + 1) * 5 % 7] = 10.0 / (i + 1)
    rows: list[object] = []
    for start in range(7):
        far = [math.inf] * 7
        far[start] = 0.0
        for _ in range(7):
            for (a, b), length in edges.items():
                far[b] = min(far[b], far[a] + length)
        rows.append("".join(f"{v:.3f} " for v in far))
    return rows


def bank_queue() -> list[object]:
    line: list[int] = []
    served: list[int] = []
    for t in range(1, 21):
        if t % 3 and len(line) < 4:
            line.append(t)
        elif line:
            served.append(line.pop(0))
    return [served, len(line), [2], 1]


def integer_root() -> list[object]:
    return [math.isqrt(2 * 10**100), 314159265358979323846264338327950288419716939937510]


def bisection() -> list[object]:
    a, b, steps = 1.0, 2.0, 0
    while b - a > 1e-9:
        m, steps = (a + b) / 2, steps + 1
        a, b = (a, m) if (m**3 - m - 2) * (a**3 - a - 2) <= 0 else (m, b)
    return [f"{steps} {a:.8f}"]


ANSWERS: dict[str, Callable[[], list[object]]] = {
    f.__name__: f
    for f in (
        *(ackermann, bank_queue, binary_search, bisection, bubble_sort, collatz, determinant, edit_distance),
        *(factorial, fibonacci, game_of_life, greatest_divisor, hanoi, heap_sort, insertion_sort, integer_root),
        *(knapsack, mandelbrot, merge_sort, n_body, pascal, permutations, power_mod, queens, quick_sort),
        *(quick_sort_in_place, roman, shortest_paths, sieve, string_building, tail_sums, trial_division),
    )
}


def source(name: str) -> str:
    return (FOLDER / f"{name}.lg").read_text(encoding="utf-8")


def test_every_program_has_its_answer() -> None:
    assert sorted(ANSWERS) == NAMES
    assert len(NAMES) > 25


@pytest.mark.parametrize("name", NAMES)
def test_a_program_shows_what_it_should(name: str) -> None:
    want = [str(line) for line in ANSWERS[name]()]
    program = parse(source(name), f"{name}.lg")
    for form in (program, parse(print_program(program))):
        lines: list[str] = []
        interpret(form, {}, (), lines.append)
        assert lines == want


TABLES = ("knapsack",)
"""Programs that do compute a tensor: a table, remade step by step."""


@pytest.mark.parametrize("name", TABLES)
def test_a_program_of_a_table_lifts_and_shows_the_same(name: str) -> None:
    agree(source(name), Facts(open_inputs=True), {}, ())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TABLES])
def test_what_no_chip_can_run_of_it_is_told(name: str) -> None:
    text = source(name)
    found = lifted(parse(text, f"{name}.lg"), Facts(open_inputs=True), ())
    assert found.graph is None
    assert found.missing
    for missing in found.missing:
        assert missing.why
        assert missing.file == f"{name}.lg"
        assert 0 < missing.line <= len(text.splitlines())


@pytest.mark.parametrize("name", ["bisection", "hanoi", "string_building"])
def test_the_compiler_says_so_and_writes_nothing(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.bundle"
    target = str(Path(__file__).parents[2] / "targets" / "reference.yaml")
    assert main(["compile", str(FOLDER / f"{name}.lg"), "--target", target, "-o", str(out)]) == 1
    told = capsys.readouterr().err
    assert f"{name}.lg:" in told
    assert "is missing; " in told
    assert not out.exists()
