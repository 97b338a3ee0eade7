"""Every shipped chip, and one made up on the spot, compiles what a person wrote; what does not fit is told honestly."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from acceptance.deployed import Published, build, make_repository
from sources import Source, compiled, hold, read_sources, sources
from support import REFERENCE

from spatial.build.targets import load_target
from spatial.errors import Refused
from spatial.target import Target

ROOT = Path(__file__).parents[2]
SHIPPED = {p.stem: load_target(p) for p in sorted((ROOT / "targets").glob("*.yaml"))}
OTHERS = ("blackhole-p150", "h100", "wormhole-n300", "xdna2")
SOURCES = read_sources(ROOT / "tests/lowering/programs")
CHOSEN = {"attention_decode", "product_q8", "product_q8_along_n", "gather_q8", "swiglu", "integer_mlp", "cache_row"}
EVERY = 29
TOLD = (ROOT / "docs/targets.md").read_text(encoding="utf-8")


def edit(path: Path, pattern: str, put: str) -> None:
    """Replace the first match of `pattern` in a file; it must have one."""
    text, count = re.subn(pattern, put, path.read_text(encoding="utf-8"), count=1)
    assert count == 1, pattern
    path.write_text(text, encoding="utf-8")


def some() -> list[tuple[Source, str]]:
    """The programs that meet what sets chips apart, and a few of the others, other ones on every chip."""
    return [
        (source, name)
        for n, source in enumerate(SOURCES)
        for k, name in enumerate(OTHERS)
        if source.name in CHOSEN or n % EVERY == k
    ]


@pytest.mark.parametrize(("source", "name"), some(), ids=str)
def test_a_written_source_computes_what_it_says_on_a_shipped_chip(source: Source, name: str):
    hold(compiled(source, SHIPPED[name]), 1)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_every_written_source_computes_what_it_says_on_every_shipped_chip(source: Source, name: str):
    hold(compiled(source, SHIPPED[name]), 1)


def test_a_chip_without_multicast_gets_none_and_one_with_it_does():
    text = (ROOT / "tests/lowering/programs/product_nn.lg").read_text(encoding="utf-8")
    head = re.search(r"^# sizes (.*)$", text, re.MULTILINE)
    assert head
    large = ", ".join(f"{name} = 256" for name in re.findall(r"(\w+) =", head[1]))
    (source, *_) = sources("large", text.replace(head[1], large))

    def kinds(target: Target) -> set[str]:
        return {stage.kind for body in compiled(source, target).program.bodies for stage in body.stages}

    assert "multicast" not in kinds(SHIPPED["h100"])
    assert "multicast" in kinds(SHIPPED["blackhole-p150"])


@pytest.mark.parametrize(("name", "limit"), [("locks", 2), ("descriptors", 2), ("scratch", 2048)])
def test_what_fits_no_site_is_refused_with_need_and_limit(name: str, limit: int):
    source = next(s for s in SOURCES if s.name == "product_ragged")
    with pytest.raises(Refused) as caught:
        compiled(source, replace(SHIPPED["xdna2"], **{name: limit}))
    told = str(caught.value)
    found = re.search(rf"{name} needs (\d+) .*, the chip has {limit}\b", told)
    assert found and int(found[1]) > limit, told
    assert name != "scratch" or "the smallest plan's buffers" in told


def test_q8_tables_are_paged_by_their_blocks_whatever_the_tile():
    tables = [s for s in SOURCES if s.name in ("gather_q8", "product_q8", "product_q8_along_n")]
    for source in tables:
        hold(compiled(source, replace(REFERENCE, name="wide", tile=(64, 64))), 1)
        with pytest.raises(Refused, match="largest page of the chip is 16 x 16"):
            compiled(source, replace(REFERENCE, name="narrow", tile=(16, 16)))
    holds = tuple(form for form in REFERENCE.vector.holds if form != "f16")
    lacking = replace(REFERENCE, name="lacking", vector=replace(REFERENCE.vector, holds=holds))
    with pytest.raises(Refused, match="holds no f16"):
        compiled(tables[0], lacking)


def test_the_shipped_chips_are_told_as_they_are():
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", TOLD.split("## Figures")[0], re.MULTILINE)
    told = {name: [cell.strip() for cell in row.split("|")] for name, row in rows}
    assert told == {
        t.name: [
            f"{t.columns} x {t.rows}",
            str(t.scratch),
            f"{t.matrix.operand}, {t.matrix.float_accumulate}",
            str(round(t.memory.rate * t.clock / 1e9)),
            "yes" if t.network.multicast else "no",
            str(t.chips),
        ]
        for t in SHIPPED.values()
    }


def test_a_new_chip_is_a_new_file(tmp_path: Path):
    """A made-up chip, with a grid, a tile and limits no shipped one has: a deployment is built and checked."""
    root = make_repository(tmp_path / "repository")
    made = root / "targets/mine.yaml"
    shutil.copy(root / "targets/xdna2.yaml", made)
    edit(made, r"columns: \{value: 8", "columns: {value: 3")
    edit(made, r"tile: \{value: \[32, 32\]", "tile: {value: [16, 16]")
    edit(made, r"locks: \{value: 16", "locks: {value: 24")
    edit(made, r"ints: \{value: \[i8, i16\]", "ints: {value: [i8]")
    edit(made, r"    i16: \{value: 8.*\n", "")
    edit(root / "deployments/integers.yaml", "target: reference", "target: mine")
    build(root, "integers")
    published = Published(root / "artifacts")
    told = published.spatial("check", "integers", "--json").json
    assert (told["answer"], told["certified"]) == ("accept", True)
    target = published.open("integers").whole().target
    assert (target.name, target.columns, target.tile, target.locks) == ("mine", 3, (16, 16), 24)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_deployments_build_for_every_shipped_chip(tmp_path: Path, name: str):
    root = make_repository(tmp_path / "repository")
    for deployment in ("tiny", "integers"):
        edit(root / f"deployments/{deployment}.yaml", "target: reference", f"target: {name}")
    build(root, "tiny", "integers")
    for deployment in ("tiny", "integers"):
        told = Published(root / "artifacts").spatial("check", deployment, "--json").json
        assert (told["answer"], told["certified"]) == ("accept", True)
