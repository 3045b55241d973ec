"""Does the same trainer work on a GPU?"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")
if not torch.cuda.is_available():
    pytest.skip("no GPU is present", allow_module_level=True)

from tests.trainer.runs import small, summary, trained  # noqa: E402
from tests.trainer.test_cifar10 import write_binary  # noqa: E402


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_digits_reach_their_target_on_a_gpu(precision: str, tmp_path: Path) -> None:
    options = small(device="cuda", width=16, epochs=30, target=0.95, precision=precision)
    made = trained(tmp_path, options, seeds=(0, 1))
    (row,) = summary(made)
    assert (row["n"], row["reached"]) == (2, 2)


def test_cifar10_trains_on_a_gpu_with_channels_last(tmp_path: Path) -> None:
    options = small(
        device="cuda", width=16, batch_size=40, data=str(write_binary(tmp_path / "bin")),
        channels_last=True, precision="bf16",
    )  # fmt: skip
    (made,) = trained(tmp_path / "logs", options, "cifar10")
    assert len(made.outcome.checkpoints) == 2


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU is present, two are needed")
def test_two_gpus_share_a_run(tmp_path: Path) -> None:
    (made,) = trained(tmp_path, small(device="cuda", workers=2))
    assert '"key": "communication"' in made.log.read_text()
