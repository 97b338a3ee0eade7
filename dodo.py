"""The tasks of this repository; `doit list` names them, `doit` builds the llama deployment."""

from spatial.build.quality import task_bench, task_golden, task_sweep, task_test, task_test_nightly
from spatial.build.tasks import (
    config,
    task_agree,
    task_certify,
    task_deploy,
    task_fetch,
    task_index,
    task_lift,
    task_link,
    task_lower,
    task_pack,
)

__all__ = [
    "DOIT_CONFIG",
    "task_agree",
    "task_bench",
    "task_certify",
    "task_deploy",
    "task_fetch",
    "task_golden",
    "task_index",
    "task_lift",
    "task_link",
    "task_lower",
    "task_pack",
    "task_sweep",
    "task_test",
    "task_test_nightly",
]

DOIT_CONFIG = config()
