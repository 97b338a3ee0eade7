"""What task creators import is light: they run on every command, shell completion included."""

import subprocess
import sys

import pytest

MODULES = ("spec", "store", "fingerprint", "models", "weight_files", "weights", "executor", "lock", "doit_support",
           "publish", "layout")  # fmt: skip
HEAVY = ("numpy", "gguf", "ml_dtypes", "mpmath", "spatial.ir", "spatial.passes", "spatial.lift", "spatial.logos")


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_module_of_the_build_loads_nothing_heavy(module):
    code = f"import sys, spatial.build.{module}; print(*(m for m in {HEAVY} if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
