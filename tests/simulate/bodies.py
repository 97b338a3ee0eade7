"""Bodies written by hand as records, for the tests of the simulator."""

from __future__ import annotations

from spatial.ir.affine import Affine, parse_affine
from spatial.ir.body import (
    Access,
    Body,
    Cell,
    Convert,
    Engine,
    InPort,
    Items,
    Loop,
    Matmul,
    Op,
    Operand,
    OutPort,
    Page,
    Queue,
    Stage,
    State,
    Step,
)


def form(text: str | int) -> Affine:
    found = parse_affine(str(text))
    assert found is not None, text
    return found


def forms(*texts: str | int) -> tuple[Affine, ...]:
    return tuple(form(t) for t in texts)


def at(operand: str, s: str | int, r: str | int, c: str | int, **more: object) -> Access:
    return Access(operand, (form(s), form(r), form(c)), **more)  # type: ignore[arg-type]


def load(name: str, queue: str, depth: int, access: Access, loops: tuple[int, ...] = (), **more: object) -> Stage:
    return Stage(name, "load", loops, outs=(OutPort(queue, depth),), access=access, **more)  # type: ignore[arg-type]


def add(x: object, y: object) -> Op:
    return Op("add", (x, y))  # type: ignore[arg-type]


def mul(x: object, y: object) -> Op:
    return Op("mul", (x, y))  # type: ignore[arg-type]


def matmul(a: int = 0, b: int = 1, transpose: bool = False) -> Matmul:
    return Matmul(Page(a), Page(b), transpose)


def product(m: int, k: int, n: int, rows: int, sites: int, prec: str = "f32", out: str = "", cap: int = 2) -> Body:
    """A product [m, k] @ [k, n] over dense tables, pages of `rows` lines, items (row page, column page) over sites."""
    out = out or ("f32" if prec in ("f32", "bf16") else "i32")
    deep, across, down = -(-k // 32), -(-n // 32), -(-m // rows)
    turns = -(-across // sites)
    items = Items((down, across), (down, turns), forms("t0", f"{sites}*t1 + sx"))
    acc = State("acc", (rows, 32), out, 0, 0, 1, add(Cell(0), matmul()))
    return Body(
        (
            Operand("a", prec, "dense", (1, m, k), "in"),
            Operand("b", prec, "dense", (1, k, n), "in"),
            Operand("out", out, "dense", (1, m, n), "out"),
        ),
        (sites, 1),
        items,
        (
            Queue("qa", (rows, 32), prec, cap),
            Queue("qb", (32, 32), prec, cap),
            Queue("qo", (rows, 32), out, cap),
        ),
        (
            load("la", "qa", 1, at("a", 0, f"{rows}*i0", "32*l1"), (deep,)),
            load("lb", "qb", 1, at("b", 0, "32*l1", "32*i1"), (deep,)),
            Stage(
                "mm", "matmul", (deep,), (InPort("qa", 1), InPort("qb", 1)), (OutPort("qo", 0, (), Cell(0)),), (acc,)
            ),
            Stage("st", "store", (), (InPort("qo", 0),), access=at("out", 0, f"{rows}*i0", "32*i1")),
        ),
        (
            Engine("mover0", (Loop(down * turns * deep, (Step("la", 1), Step("lb", 1))),)),
            Engine("compute", (Step("mm", -1),)),
            Engine("mover1", (Step("st", -1),)),
        ),
    )


def q8_product(m: int, k: int, n: int, rows: int, sites: int, cap: int = 4) -> Body:
    """x [m, k] @ Q8_0 weight [k, n], read as stored: integers made floats, a product per block, scaled and added."""
    deep, across, down = k // 32, -(-n // 32), -(-m // rows)
    turns = -(-across // sites)
    items = Items((down, across), (down, turns), forms("t0", f"{sites}*t1 + sx"))
    block = State("block", (rows, 32), "f32", 1, 0.0, 1, add(Cell(0), matmul()))
    total = State("total", (rows, 32), "f32", 0, 0.0, 1, add(Cell(0), mul(Page(0), Convert("f32", Page(1)))))
    return Body(
        (
            Operand("x", "f32", "flat", (1, m, k), "in"),
            Operand("w", "q8_0", "q8_0", (1, k, n), "in"),
            Operand("out", "f32", "flat", (1, m, n), "out"),
        ),
        (sites, 1),
        items,
        (
            Queue("qx", (rows, 32), "f32", cap),
            Queue("qv", (32, 32), "i8", cap),
            Queue("qf", (32, 32), "f32", cap),
            Queue("qs", (1, 32), "f16", cap),
            Queue("qp", (rows, 32), "f32", cap),
            Queue("qo", (rows, 32), "f32", cap),
        ),
        (
            load("lx", "qx", 1, at("x", 0, f"{rows}*i0", "32*l1"), (deep,)),
            load("lv", "qv", 1, at("w", 0, "32*l1", "32*i1", plane="values"), (deep,)),
            load("ls", "qs", 1, at("w", 0, "l1", "32*i1", plane="scales"), (deep,)),
            Stage("cv", "generic", (deep,), (InPort("qv", 1),), (OutPort("qf", 1, (), Convert("f32", Page(0))),)),
            Stage("mm", "matmul", (deep,), (InPort("qx", 1), InPort("qf", 1)),
                  (OutPort("qp", 1, (), Cell(0)),), (block,)),
            Stage("sc", "generic", (deep,), (InPort("qp", 1), InPort("qs", 1)),
                  (OutPort("qo", 0, (), Cell(0)),), (total,)),
            Stage("st", "store", (), (InPort("qo", 0),), access=at("out", 0, f"{rows}*i0", "32*i1")),
        ),
    )  # fmt: skip


def q8_prefill(m: int, k: int, n: int, sites: int, cap: int = 4) -> Body:
    """x [m, k] @ Q8_0 weight [k, n] by dequantising pages inside the section, pages of 32 rows."""
    deep, across, down = k // 32, -(-n // 32), -(-m // 32)
    turns = -(-across // sites)
    items = Items((down, across), (down, turns), forms("t0", f"{sites}*t1 + sx"))
    acc = State("acc", (32, 32), "f32", 0, 0.0, 1, add(Cell(0), matmul()))
    return Body(
        (
            Operand("x", "f32", "dense", (1, m, k), "in"),
            Operand("w", "q8_0", "q8_0", (1, k, n), "in"),
            Operand("out", "f32", "dense", (1, m, n), "out"),
        ),
        (sites, 1),
        items,
        (
            Queue("qx", (32, 32), "f32", cap),
            Queue("qv", (32, 32), "i8", cap),
            Queue("qf", (32, 32), "f32", cap),
            Queue("qs", (1, 32), "f16", cap),
            Queue("qo", (32, 32), "f32", cap),
        ),
        (
            load("lx", "qx", 1, at("x", 0, "32*i0", "32*l1"), (deep,)),
            load("lv", "qv", 1, at("w", 0, "32*l1", "32*i1", plane="values"), (deep,)),
            load("ls", "qs", 1, at("w", 0, "l1", "32*i1", plane="scales"), (deep,)),
            Stage("cv", "generic", (deep,), (InPort("qv", 1), InPort("qs", 1)),
                  (OutPort("qf", 1, (), mul(Convert("f32", Page(0)), Page(1))),)),
            Stage("mm", "matmul", (deep,), (InPort("qx", 1), InPort("qf", 1)),
                  (OutPort("qo", 0, (), Cell(0)),), (acc,)),
            Stage("st", "store", (), (InPort("qo", 0),), access=at("out", 0, "32*i0", "32*i1")),
        ),
    )  # fmt: skip
