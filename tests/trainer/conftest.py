"""One pair of real runs for all tests of the trainer."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ttastats.trainer.session import FinishedRun

if not find_spec("torch"):  # then only what the command says of that can be tested
    collect_ignore_glob = ["test_[!t]*.py", "test_trace_flops.py"]


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> list[FinishedRun]:
    """Return two real runs of the small network, trained to 85 %."""
    from tests.trainer.runs import small, trained

    root = tmp_path_factory.mktemp("two_runs")
    return trained(root, small(target=0.85, epochs=30), seeds=(0, 1))
