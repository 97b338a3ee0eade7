"""Random programs in place: what lifts computes what the interpreter says, what does not is refused with a place."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from lifting import Facts, Table, agree, ints, lifted, parse

from spatial.errors import SourceError
from spatial.logos.interpret import interpret

N = 6
FACTS = Facts(
    {"n": N}, {"a": Table((N,), "int", (-9, 9)), "b": Table((N,), "int", (1, N)), "p": Table((1,), "int", (0, N))}
)

NAMES = st.sampled_from(["x", "y"])
READ = st.sampled_from(["x", "y", "a"])


@st.composite
def index(draw: st.DrawFn, variables: list[str]) -> str:
    """A sum of a variable and a constant, mostly in range."""
    form = draw(st.sampled_from(["v", "v", "v", "n + 1 - v", "v + 1", "c", "v % 3 + 1", "v / 2 + 1", "item v of b"]))
    var = draw(st.sampled_from(variables))
    return form.replace("v", var).replace("c", str(draw(st.integers(1, N))))


@st.composite
def value(draw: st.DrawFn, variables: list[str], scalars: list[str]) -> str:
    kind = draw(st.integers(0, 6))
    one = f"item ({draw(index(variables))}) of {draw(READ)}"
    if kind == 0:
        return one
    if kind == 1 and scalars:
        return f"{draw(st.sampled_from(scalars))} + {one}"
    if kind == 2:
        return f"max({one}, {draw(st.integers(-3, 3))})"
    other = f"item ({draw(index(variables))}) of {draw(READ)}"
    return f"{one} {draw(st.sampled_from(['+', '-', '*']))} {other}"


@st.composite
def statements(draw: st.DrawFn, variables: list[str], scalars: list[str], depth: int, pad: str) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.integers(0, 8))
        if kind <= 2:
            target = draw(NAMES)
            lines.append(f"{pad}Set item ({draw(index(variables))}) of {target} to {draw(value(variables, scalars))}.")
        elif kind == 3:
            target, place = draw(NAMES), draw(index(variables))
            added = draw(value(variables, scalars))
            lines.append(f"{pad}Set item ({place}) of {target} to item ({place}) of {target} + {added}.")
        elif kind == 4:
            lines.append(f"{pad}Set s to s + {draw(value(variables, []))}.")
        elif kind == 5:
            lines.append(f"{pad}Set t to {draw(value(variables, scalars))}.")
        elif kind == 6:
            lines.append(f"{pad}If item ({draw(index(variables))}) of {draw(READ)} > {draw(st.integers(-3, 3))}:")
            lines += draw(statements(variables, scalars, 0, pad + "    "))
        elif depth:
            var = "ijk"[len(variables)]
            first, last = draw(
                st.sampled_from(
                    [("1", "n"), ("1", "n - 1"), ("2", "n - 1"), ("1", "3"), ("1", "n / 2"), ("1", "item 1 of p")]
                )
            )
            lines.append(f"{pad}Repeat for {var} from {first} to {last}:")
            lines += draw(statements([*variables, var], [*scalars, "s", "t"], depth - 1, pad + "    "))
        else:
            lines.append(f"{pad}Set item ({draw(index(variables))}) of y to {draw(value(variables, scalars))}.")
    return lines


@st.composite
def programs(draw: st.DrawFn) -> str:
    lines = ["## Main", "Let x be copy of a.", "Let y be n copies of 0.", "Let s be 0.", "Let t be 0."]
    for _ in range(draw(st.integers(1, 3))):
        last = draw(st.sampled_from(["n", "n - 1", "n - 1", "n / 2", "item 1 of p"]))
        lines.append(f"Repeat for i from 1 to {last}:")
        lines += draw(statements(["i"], ["t"], 1, "    "))
    return "\n".join(lines) + "\n"


@given(programs(), st.integers(0, 1000))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_what_lifts_is_what_the_source_means(source: str, seed: int) -> None:
    inputs = {"a": ints(seed, -9, 9, N), "b": ints(seed + 1, 1, N, N), "p": ints(seed, 0, N, 1)}
    program = parse(source, "random.lg")
    try:
        interpret(program, {"n": N, **{k: v.tolist() for k, v in inputs.items()}}, output=lambda _: None)
    except SourceError:
        assume(False)
    found = lifted(program, FACTS, ("x", "y", "s", "t"))
    if found.graph is None:
        assert all(m.why and m.line for m in found.missing)
        return
    agree(program, FACTS, inputs, ("x", "y", "s", "t"), graph=found.graph)
