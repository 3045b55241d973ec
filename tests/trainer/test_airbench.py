"""Are the two airbench recipes those that were published, as far as a CPU can tell?"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.trainer.runs import curve, names_of, recipe, small, trained
from tests.trainer.test_cifar10 import write_binary
from ttastats.base.errors import TtastatsError
from ttastats.trainer import loop, workloads
from ttastats.trainer.network import (
    Network,
    build_network,
    make_optimizers,
    steps_per_epoch,
)
from ttastats.trainer.parallel import Team
from ttastats.trainer.settings import Overrides, complete_settings
from ttastats.trainer.workloads.contract import Data

NAMES = ("airbench94", "airbench96")
airbench94, airbench96 = map(names_of, NAMES)
CPU = torch.device("cpu")
BIASES = ("whiten.bias", "main.whiten.bias")


def some_data(samples: int) -> Data:
    rng = torch.Generator().manual_seed(0)
    images = torch.randn(samples, 3, 32, 32, generator=rng)
    labels = torch.randint(0, 10, (samples,), generator=rng)
    return Data(images, labels, images, labels)


def network(name: str, data: Data, **changes: object) -> Network:
    options = Overrides({"precision": "fp32", "compile": False, **changes}, device="cpu")  # type: ignore[dict-item]
    return build_network(complete_settings(options, recipe(name), 0), Team(0, 1, CPU), data)


def flops(of: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        of()
    return counter.get_total_flops()


@pytest.mark.parametrize(("name", "published", "weights"), [
    ("airbench94", 0.29e15, 1_972_792),
    ("airbench96", 3.1e15, 10_065_520),
])  # fmt: skip
def test_a_run_takes_the_published_operations(name: str, published: float, weights: int) -> None:
    net = network(name, some_data(2))
    assert sum(tensor.numel() for tensor in net.bare.parameters()) == weights
    settings = net.settings
    net.bare.to("meta")  # counts operations and carries none out
    net.optimizers = make_optimizers(net.bare, net.workload, settings)
    images = torch.empty(settings.batch_size, 3, 32, 32, device="meta")
    labels = torch.empty(settings.batch_size, dtype=torch.long, device="meta")
    every = settings.values.get("proxy_every", 1)

    def of_a_step(epoch: float) -> float:
        rng = torch.Generator()
        return sum(
            flops(lambda step=step: net.train_step(images, labels, rng, epoch, step))  # type: ignore[misc]
            for step in range(every)
        ) / every  # fmt: skip

    biased = settings.values.get("whiten_bias_epochs", settings.epochs)
    steps = steps_per_epoch(50_000, settings)
    training = steps * (
        biased * of_a_step(0.5) + (settings.epochs - biased) * of_a_step(biased + 0.5)
    )
    six_views = 6 * flops(lambda: net.evaluating(images)) / len(images) * 10_000
    assert training + six_views == pytest.approx(published, rel=0.03)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_curve(name: str, tmp_path: Path) -> None:
    setup: dict[str, Any] = {
        "width": 8, "batch_size": 20, "epochs": 1.4, "precision": "fp32", "compile": False,
        "data": str(write_binary(tmp_path / "bin")),
    }  # fmt: skip
    options = small(**setup, evaluate_every=1.0)
    first, second = (trained(tmp_path / place, options, recipe(name))[0] for place in ("a", "b"))
    assert [checkpoint.epoch for checkpoint in first.outcome.checkpoints] == [1, 1.4]
    assert curve(first) == curve(second)
    losses = [loss for loss, _ in curve(first)]
    assert losses[-1] < losses[0]
    (as_published,) = trained(tmp_path / "c", small(**setup), recipe(name))
    assert [checkpoint.epoch for checkpoint in as_published.outcome.checkpoints] == [1.4]
    with pytest.raises(TtastatsError, match="supports one GPU only"):
        network(name, some_data(4), workers=2)


@pytest.mark.parametrize("name", NAMES)
def test_the_whitening_bias_is_trained_after_the_warm_up(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainable: list[bool] = []
    take_steps = loop._take_steps

    def watched(net: Network, *given: Any) -> Any:
        (bias,) = (p for key, p in net.bare.named_parameters() if key in BIASES)
        before = bias.detach().clone()
        taken = take_steps(net, *given)
        trainable.append(not torch.equal(before, bias))
        return taken

    monkeypatch.setattr(loop, "_take_steps", watched)
    setup = {"width": 8, "batch_size": 20, "precision": "fp32", "compile": False, "epochs": 4}
    options = small(**setup, evaluate_every=1.0, data=str(write_binary(tmp_path / "bin")))
    trained(tmp_path / "logs", options, recipe(name))
    assert trainable == [True, True, True, name == "airbench96"]


@pytest.mark.parametrize("name", NAMES)
def test_half_precision_is_that_of_all_but_the_norms(name: str, tmp_path: Path) -> None:
    workload = workloads.load_workload(recipe(name))
    folder = write_binary(tmp_path / "bin")
    data = workload.data(folder, device=CPU, **workload.recipe.complete({}))
    net = network(name, data, precision="fp16").bare
    norms = [module for module in net.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    assert data.train_inputs.dtype == torch.float16
    assert data.train_inputs.float().mean().abs() < 0.2
    assert {norm.bias.dtype for norm in norms} == {torch.float32}
    rest = {id(tensor) for norm in norms for tensor in norm.parameters()}
    assert {p.dtype for p in net.parameters() if id(p) not in rest} == {torch.float16}


def test_the_first_layer_whitens_the_patches_of_the_images() -> None:
    data = some_data(64)
    mixed = torch.einsum("cd,ndhw->nchw", torch.tensor([[1.0, 0.9, 0], [0, 1, 0.5], [0, 0, 2]]),
                         data.train_inputs)  # fmt: skip
    net = airbench94.Whitened((8, 16, 16), layers=2, norm_momentum=0.4).fit_whitening(
        mixed, torch.float32
    )
    seen = torch.nn.functional.conv2d(mixed, net.whiten.weight)
    assert torch.equal(seen[:, :12], -seen[:, 12:])
    flat = seen[:, :12].transpose(0, 1).flatten(1)
    covariance = flat @ flat.T / flat.shape[1]
    assert torch.allclose(covariance, torch.eye(12), atol=0.02)


def test_muon_moves_along_all_directions_alike() -> None:
    gradient = torch.randn(16, 144, generator=torch.Generator().manual_seed(1))
    for matrix in (gradient, gradient.T):
        strengths = torch.linalg.svdvals(airbench94._orthogonalise(matrix).float())
        assert 0.3 < float(strengths.min()) < float(strengths.max()) < 1.7


def test_an_image_is_mirrored_in_every_second_epoch() -> None:
    data = some_data(6)
    seen = [
        {
            int(label): image
            for images, labels in airbench94.batches(
                Data(data.train_inputs, torch.arange(6), *data.tensors[2:]),
                torch.Generator().manual_seed(epoch), epoch, 3, 0, 7,
            )
            for image, label in zip(images, labels, strict=True)
        }
        for epoch in range(3)
    ]  # fmt: skip
    mirrored = 0
    for label, original in enumerate(data.train_inputs):
        assert torch.equal(seen[0][label], seen[1][label].flip(-1))
        assert torch.equal(seen[0][label], seen[2][label])
        mirrored += not torch.equal(seen[0][label], original)
    assert 0 < mirrored < 6


def test_batches_of_96_go_on_from_epoch_to_epoch() -> None:
    data = some_data(10)
    numbered = Data(data.train_inputs, torch.arange(10), *data.tensors[2:])
    endless = airbench96.batches(numbered, torch.Generator().manual_seed(0), 4, 0, 8, 3)
    labels = torch.cat([y for _, y in itertools.islice(endless, 5)])
    assert sorted(labels[:10].tolist()) == sorted(labels[10:].tolist()) == list(range(10))


def test_weights_end_as_their_slow_mean() -> None:
    weight = torch.nn.Linear(1, 1, bias=False).requires_grad_(False)
    optimizer = airbench96._Lookahead([{"params": list(weight.parameters())}], weight, lr=0.1)
    weight.weight.data.fill_(1.0)
    optimizer.pull_to_slow(0.5)
    weight.weight.data.fill_(3.0)
    optimizer.pull_to_slow(0.5)
    assert float(weight.weight) == 2.0
    weight.weight.data.fill_(9.0)
    optimizer.pull_to_slow(1.0)
    assert float(weight.weight) == 2.0


def test_the_rate_of_96_rises_for_a_tenth_of_the_time_and_falls_to_zero() -> None:
    rates = [airbench96.schedule(epoch, 45) for epoch in (0, 2.25, 4.5, 24.75, 45)]
    assert rates == pytest.approx([0.2, 0.6, 1.0, 0.5, 0.0])
