"""One thread for each test, as the commands have it, and nothing that takes long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _needs_torch() -> None:
    pytest.importorskip("torch", reason="recording needs PyTorch")


@pytest.fixture(autouse=True)
def _small_peaks(_needs_torch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure peaks by small products and copies: how high they are is no matter here."""
    from ttastats.trainer.profiler import machine

    monkeypatch.setattr(machine, "_SIDE", {"cpu": 64})
    monkeypatch.setattr(machine, "_COPIED", {"cpu": 2**16})


@pytest.fixture(autouse=True)
def _one_thread(_needs_torch: None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
