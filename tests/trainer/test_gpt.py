"""Does the small GPT learn a text, of the user's or of Python's own, without looking ahead?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.runs import curve, names_of, recipe, small, trained
from ttastats.base.errors import TtastatsError
from ttastats.trainer.workloads import digits_lm
from ttastats.trainer.workloads.contract import Data

gpt = names_of("gpt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "texts" / "deeper"
    place.mkdir(parents=True)
    (place.parent / "a.txt").write_text("the quick brown fox jumps over the lazy dog. " * 20)
    (place / "b.txt").write_text("the lazy dog sleeps. " * 20)
    (place / "c.md").write_text("is no text")
    return place.parent


def test_a_text_is_learned_and_the_same_seed_gives_the_same_curve(folder: Path) -> None:
    options = small(
        width=16, layers=1, heads=2, context=16, batch_size=8, precision="fp32", dropout=0.1,
        epochs=4.0, warmup_epochs=1.0, lr=0.02, compile=False,
        data=str(folder),
    )  # fmt: skip
    first, second = (
        trained(folder.parent / place, options, recipe("gpt"))[0] for place in ("x", "y")
    )
    assert curve(first) == curve(second)
    assert curve(first)[-1][1] < curve(first)[0][1] < math.log(256)


def test_without_a_folder_the_text_is_pythons_help() -> None:
    data = gpt.data(None, 64)
    assert len(data.train_inputs) > 5 * len(data.eval_inputs) > 1000
    assert b"Python" in bytes(data.train_inputs[:500].flatten().tolist())


def test_each_byte_is_predicted_from_the_bytes_before(folder: Path) -> None:
    data = gpt.data(folder, 16)
    assert torch.equal(data.train_inputs[:, 1:], data.train_targets[:, :-1])
    assert torch.equal(data.train_inputs[1:, 0], data.train_targets[:-1, -1])
    assert b"lazy dog sleeps" in (held_out := bytes(data.eval_inputs.flatten().tolist()))
    assert b"is no text" not in held_out
    parts = list(gpt.batches(data, torch.Generator().manual_seed(2), 5, 16))
    assert len(parts) == len(data.train_inputs) // 5
    assert all(torch.equal(inputs[:, 1:], targets[:, :-1]) for inputs, targets in parts)
    few = Data(*(tensor[:3] for tensor in data.tensors))
    assert [len(inputs) for inputs, _ in gpt.batches(few, torch.Generator(), 5, 16)] == [3]


@pytest.mark.parametrize("workload", [gpt, digits_lm])
def test_a_later_byte_or_pixel_changes_nothing_before_it(workload: Any) -> None:
    values = {"layers": 2, "heads": 4, "context": 64, "dropout": 0.5} if workload is gpt else {}
    net = workload.model(width=16, **values).eval()
    text, other = (torch.arange(64) % 17).repeat(2, 1, 1)
    other[0, 7] = 16
    with torch.no_grad():
        same = (net(text) == net(other)).all(dim=2)[0]
    assert same[:7].all()
    assert not same[7]


def test_the_network_has_the_size_of_nanogpts() -> None:
    values = gpt.RECIPE.values
    with torch.device("meta"):
        net = gpt.model(
            *(values[name] for name in ("width", "layers", "heads", "context", "dropout"))
        )
    assert sum(tensor.numel() for tensor in net.layers.parameters()) == 6 * (12 * 384**2 + 13 * 384)


def test_too_little_text_and_heads_that_do_not_fit_are_refused(folder: Path) -> None:
    with pytest.raises(TtastatsError, match="bytes are too few for a context of 256"):
        gpt.data(folder, 256)
    with pytest.raises(TtastatsError, match="0 bytes are too few"):
        gpt.data(folder / "none", 16)
    with pytest.raises(TtastatsError, match="is not divisible by 3 heads"):
        gpt.model(width=16, layers=1, heads=3, context=8, dropout=0.0)
