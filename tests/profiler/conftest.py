"""One thread for each test, as in the commands, and small measurements."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if not find_spec("torch"):
    collect_ignore_glob = ["*"]


@pytest.fixture(autouse=True)
def _one_thread_and_small_peaks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Measure peaks by small products and copies: how high they are is no matter here."""
    import torch

    from ttastats.trainer.profiler import timing

    monkeypatch.setattr(timing, "_SIDE", {"cpu": 64})
    monkeypatch.setattr(timing, "_COPIED", {"cpu": 2**16})
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
