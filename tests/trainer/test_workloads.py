"""Do the workloads give what the trainer expects, and can a user bring one?"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from tests.trainer.runs import trained  # noqa: E402
from ttastats.clock import Clock  # noqa: E402
from ttastats.errors import TtastatsError  # noqa: E402
from ttastats.trainer import after, workloads  # noqa: E402
from ttastats.trainer.network import build, warm_up  # noqa: E402
from ttastats.trainer.optimisation import Schedule  # noqa: E402
from ttastats.trainer.parallel import Team  # noqa: E402
from ttastats.trainer.settings import Options, settings_of, setup_suffix  # noqa: E402
from ttastats.trainer.workloads.contract import LearningRate  # noqa: E402

OWN = '''
"""A line through points."""
import torch
from torch import nn
from ttastats.trainer.workloads.contract import Data, LearningRate, Recipe

RECIPE = Recipe(
    metric="mean_squared_error", higher_is_better=False, target=0.01, epochs=20,
    schedule_epochs=20, warmup_epochs=0.0, batch_size=8, width=1, optimizer="sgd",
    learning_rates={"sgd": LearningRate(0.1, 8, "linear", 0.0)},
    train_samples=64, eval_samples=16,
)

def data(folder):
    x = torch.linspace(-1, 1, 80)[:, None]
    return Data(x[::5].repeat(4, 1), 2 * x[::5].repeat(4, 1) + 1, x[::5], 2 * x[::5] + 1)

def dummy(samples):
    return torch.zeros(samples, 1), torch.zeros(samples, 1)

def model(width):
    return nn.Linear(1, 1)

def loss(outputs, targets):
    return nn.functional.mse_loss(outputs, targets)

def score(outputs, targets):
    return (outputs - targets).square().mean(dim=1)
'''


def test_a_file_of_the_users_own_is_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "my_line.py"
    path.write_text(OWN)
    options = Options(device="cpu")
    (made,) = trained(tmp_path, options, str(path))
    assert made.outcome.reached
    (row,) = after.summary_of([made]).rows
    assert (row["benchmark"], row["reached"]) == ("my-line", 1)


def test_a_file_that_lacks_something_is_told_what(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN.replace("def model(", "def network(").replace("def dummy(", "def other("))
    with pytest.raises(TtastatsError, match="does not define model, dummy"):
        workloads.load(str(path))


@pytest.mark.parametrize(
    "text", ["1 / 0", "def (", "import no_such_package_at_all", "raise OSError"]
)
def test_a_file_that_cannot_be_run_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(TtastatsError, match="cannot be run") as caught:
        workloads.load(str(path))
    assert caught.value.where == str(path)


def test_unknown_workloads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="digits, digits-lm, cifar10"):
        workloads.load("imagenet")
    with pytest.raises(TtastatsError, match="no such file"):
        workloads.load(str(tmp_path / "mine.py"))


@pytest.mark.parametrize("name", ["digits", "digits-lm"])
def test_the_digits_are_1797_of_which_599_are_held_out(name: str) -> None:
    workload = workloads.load(name)
    data = workload.data(None)
    assert (len(data.train_targets), len(data.eval_targets)) == (1198, 599)
    assert data.digest() == workload.data(None).digest()
    inputs, targets = workload.dummy(5)
    assert inputs.shape[1:] == data.train_inputs.shape[1:]
    assert (inputs.dtype, targets.dtype) == (data.train_inputs.dtype, data.train_targets.dtype)


def test_the_default_network_has_the_documented_size() -> None:
    sizes = {
        name: sum(p.numel() for p in workload.model(workload.recipe.width).parameters())
        for name in ("digits", "digits-lm")
        for workload in [workloads.load(name)]
    }
    assert sizes == {"digits": 77754, "digits-lm": 28657}


def test_the_language_model_does_not_see_the_pixel_it_foretells() -> None:
    workload = workloads.load("digits-lm")
    torch.manual_seed(0)
    model = workload.model(16).eval()
    inputs, _ = workload.dummy(1)
    changed = inputs.clone()
    changed[0, 40] = (changed[0, 40] + 1) % 17
    with torch.no_grad():
        same = (model(inputs) == model(changed)).all(dim=2)[0]
    assert same[:40].all()
    assert not same[40]


def test_shifted_digits_keep_their_inner_pixels() -> None:
    workload = workloads.load("digits")
    images = torch.arange(1.0, 3 * 64 + 1).reshape(3, 1, 8, 8)
    shifted = workload.augment(images, torch.Generator().manual_seed(1))
    assert shifted.shape == images.shape
    for before, moved in zip(images, shifted, strict=True):
        inner = set(before[0, 1:-1, 1:-1].flatten().tolist())
        assert inner <= set(moved.flatten().tolist()) <= set(before.flatten().tolist())


def test_warming_up_leaves_no_trace() -> None:
    workload = workloads.load("digits")
    settings = settings_of(Options(width=8, device="cpu"), workload, "digits", 3)
    network = build(workload, settings, Team(0, 1, torch.device("cpu")))
    before = {name: tensor.clone() for name, tensor in network.bare.state_dict().items()}
    rng = torch.get_rng_state()
    warm_up(network)
    assert all(torch.equal(before[k], v) for k, v in network.bare.state_dict().items())
    assert torch.equal(rng, torch.get_rng_state())
    assert not network.optimizer.state
    assert all(parameter.grad is None for parameter in network.bare.parameters())
    assert network.bare.training


def test_the_learning_rate_rises_then_falls_to_zero() -> None:
    schedule = Schedule(peak=0.4, warmup_epochs=5, epochs=24)
    assert [schedule.at(epoch) for epoch in (0, 2.5, 5, 14.5, 24, 30)] == pytest.approx(
        [0, 0.2, 0.4, 0.2, 0, 0]
    )
    assert Schedule(1.0, 0.0, 10).at(0) == 1.0
    assert Schedule(1.0, 2.0, 2).at(2) == 1.0


def test_the_learning_rate_follows_the_batch_size() -> None:
    assert LearningRate(0.05, 64, "linear", 0.0).scaled_to(256) == pytest.approx(0.2)
    assert LearningRate(0.05, 64, "sqrt", 0.0).scaled_to(256) == pytest.approx(0.1)


def test_one_thread_is_the_default_on_a_cpu() -> None:
    workload = workloads.load("digits")
    settings = settings_of(Options(device="cpu"), workload, "digits", 0)
    assert settings.threads == 1
    assert (settings.batch_size, settings.width, settings.target) == (64, 16, 0.97)
    assert setup_suffix(settings, workload) == ""


def test_a_setup_is_named_by_what_differs_from_the_recipe() -> None:
    workload = workloads.load("digits")
    options = Options(
        batch_size=512, precision="bf16", compiled=True, workers=2, device="cpu", epochs=5
    )
    settings = settings_of(options, workload, "digits", 0)
    assert setup_suffix(settings, workload) == "-batch512-bf16-compile-workers2-epochs5"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(optimizer="lion", device="cpu"), "no learning rate for 'lion'"),
        (Options(batch_size=2, workers=3, device="cpu"), "cannot be shared by 3 workers"),
    ],
)
def test_impossible_options_are_refused(options: Options, message: str) -> None:
    with pytest.raises(TtastatsError, match=message):
        settings_of(options, workloads.load("digits"), "digits", 0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(TtastatsError, match="no CUDA device"):
        settings_of(Options(device="cuda"), workloads.load("digits"), "digits", 0)


class TestClock:
    def clock(self) -> tuple[Clock, list[str]]:
        seen: list[str] = []
        wall, cpu = iter([10.0, 11.0, 12.5, 20.0]), iter([1.0, 2.0, 5.0])
        clock = Clock(
            finish_device=lambda: seen.append("finished"),
            wall=lambda: next(wall),
            cpu=lambda: next(cpu),
            epoch=lambda: 1000.0,
        )
        return clock, seen

    def test_only_the_seconds_between_start_and_stop_count(self) -> None:
        clock, _ = self.clock()
        assert clock.counted().wall == 0.0
        assert clock.start().time_ms == 1_001_000
        clock.stop()
        assert (clock.counted().wall, clock.counted().cpu) == (1.5, 1.0)

    def test_a_correction_of_the_system_clock_moves_nothing(self) -> None:
        clock, _ = self.clock()
        clock.epoch = lambda: -5.0
        assert clock.start().time_ms == 1_001_000

    def test_the_device_finishes_before_each_stamp(self) -> None:
        clock, seen = self.clock()
        clock.start()
        clock.stamp()
        assert seen == ["finished", "finished"]
