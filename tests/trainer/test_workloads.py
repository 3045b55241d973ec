"""Do the workloads give what the trainer expects, and can users write their own?"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.accepted import Case
from tests.test_accepted_judgements import attempt
from tests.trainer.runs import OWN, curve, small, summary, trained
from tests.trainer.runs import recipe as recipe_file
from ttastats.base.errors import TtastatsError
from ttastats.recording.run_log import Clock
from ttastats.trainer import experiment, workloads
from ttastats.trainer.network import build_network, learning_rate_share, load_data, warm_up
from ttastats.trainer.parallel import Team
from ttastats.trainer.settings import Overrides, complete_settings, setup_suffix
from ttastats.trainer.workloads import imported_sources
from ttastats.trainer.workloads.contract import Data, Recipe, make_hook


@pytest.fixture
def recipe() -> Recipe:
    return workloads.load_workload("digits").recipe


def test_a_file_of_the_users_own_is_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "my_line.py"
    path.write_text(OWN)
    (run,) = trained(tmp_path, Overrides(device="cpu"), str(path))
    assert run.outcome.reached
    (row,) = summary([run])
    assert (row["benchmark"], row["reached"]) == ("my-line", 1)


@pytest.mark.parametrize(
    ("name", "weights"), [("digits", 77754), ("digits-lm", 28657), ("digits-small", 3610)]
)
def test_digits_and_networks_have_the_documented_sizes(name: str, weights: int) -> None:
    workload = workloads.load_workload(name)
    data = workload.data(None)
    assert (len(data.train_targets), len(data.eval_targets)) == (1198, 599)
    assert data.digest() == workload.data(None).digest()
    inputs, targets = workload.dummy(5)
    assert inputs.shape[1:] == data.train_inputs.shape[1:]
    assert (inputs.dtype, targets.dtype) == (data.train_inputs.dtype, data.train_targets.dtype)
    model = workload.model(workload.recipe.values["width"])
    assert sum(tensor.numel() for tensor in model.parameters()) == weights


def test_shifted_digits_keep_their_inner_pixels() -> None:
    workload = workloads.load_workload("digits")
    images = torch.arange(1.0, 3 * 64 + 1).reshape(3, 1, 8, 8)
    shifted = workload.augment(images, torch.Generator().manual_seed(1))
    assert shifted.shape == images.shape
    for before, moved in zip(images, shifted, strict=True):
        inner = set(before[0, 1:-1, 1:-1].flatten().tolist())
        assert inner <= set(moved.flatten().tolist()) <= set(before.flatten().tolist())


#: Draws from every generator, and changes what a step can change of a network and of a file.
LEAKY = """
import random
import numpy as np
import torch
from torch import nn
from ttastats.trainer.workloads.contract import Data, Recipe

RECIPE = Recipe(
    metric="accuracy", higher_is_better=True, target=1.0, epochs=2, batch_size=16, lr=0.1,
)
OF_TORCH, OF_NUMPY, OF_PYTHON = torch.Generator(), np.random.default_rng(5), random.Random(5)
STEPS, EPOCHS = [], set()

def data():
    x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
    return Data(x, (x[:, 0] > 0).long(), x, (x[:, 0] > 0).long())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lines = nn.Linear(3, 2 + random.randrange(2))
        self.register_buffer("mean", torch.zeros(()), persistent=False)
        self.calls = np.random.randint(3)

    def forward(self, x):
        self.calls += 1
        self.mean += x.mean() / self.calls
        self.lines.bias.requires_grad_(self.calls < 9)
        return self.lines(x + self.mean)

def model():
    return Net()

def augment(inputs, rng=OF_TORCH):
    noise = torch.randn(1, generator=OF_TORCH) + OF_NUMPY.normal() + OF_PYTHON.gauss(0, 1)
    STEPS.append(float(noise))
    return inputs + noise + random.gauss(0, 1) + np.random.normal() + len(STEPS) / 100

def schedule(epoch):
    EPOCHS.add(epoch)
    return 1.0
"""


def test_a_run_is_decided_by_its_seed_wherever_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "leaky.py"
    path.write_text(LEAKY)
    options = Overrides(device="cpu")
    runs = trained(tmp_path / "whole", options, str(path), seeds=(3, 4))
    namespace = workloads.load_workload(str(path)).namespace
    assert len(namespace["STEPS"]) == 10  # those of the last run, without its warm-up
    random.seed(9)
    workloads.load_workload.cache_clear()  # as in another process
    (resumed,) = trained(tmp_path / "resumed", options, str(path), seeds=(4,))
    assert curve(resumed) == curve(runs[1]) != curve(runs[0])


def test_warming_up_meets_the_end_of_the_schedule(tmp_path: Path) -> None:
    path = tmp_path / "leaky.py"
    path.write_text(LEAKY)
    settings = complete_settings(Overrides(device="cpu"), str(path), 3)
    team = Team(0, 1, torch.device("cpu"))
    data = load_data(settings, team)
    network = build_network(settings, team, data)
    warm_up(network, data)
    assert network.workload.namespace["EPOCHS"] == {0.0, 2.0}


def test_samples_that_make_no_batch_are_refused(tmp_path: Path) -> None:
    options = small(drop_last=True, batch_size=2000)
    with pytest.raises(TtastatsError, match="1,198 samples are fewer than a batch of 2,000"):
        trained(tmp_path, options)


def test_the_learning_rate_rises_then_falls_to_zero() -> None:
    shares = [learning_rate_share(epoch, 5, 24) for epoch in (0, 2.5, 5, 14.5, 24, 30)]
    assert shares == pytest.approx([0, 0.5, 1, 0.5, 0, 0])
    assert learning_rate_share(0, warmup_epochs=0.0, epochs=10) == 1.0
    assert learning_rate_share(2, warmup_epochs=2.0, epochs=2) == 1.0


def test_a_setup_is_named_by_what_differs_from_the_recipe() -> None:
    settings = complete_settings(Overrides(device="cpu"), "digits", 0)
    assert settings.threads == 1
    assert (settings.batch_size, settings.width, settings.target) == (64, 16, 0.96)
    assert setup_suffix(Overrides(), settings) == ""
    changed = {
        "batch_size": 512, "precision": "bf16", "compile": True, "workers": 2, "epochs": 5,
        "width": 16, "nesterov": False,
    }  # fmt: skip
    options = Overrides(changed, device="cpu")
    suffix = setup_suffix(options, complete_settings(options, "digits", 0))
    expected = {"batch512", "bf16", "compile", "workers2", "epochs5", "no_nesterov"}
    assert set(suffix.removeprefix("-").split("-")) == expected


@pytest.mark.parametrize("system", [None, "machine", "m" * 100])
def test_a_setup_of_many_changes_has_a_short_name_of_its_own(
    system: str | None, tmp_path: Path
) -> None:
    many = {"warmup_epochs": 1.23456, "momentum": 0.123456, "schedule_epochs": 12.3456}
    options = small(**many, compile=True, channels_last=True, epochs=9.8765, batch_size=12345)
    ask = experiment.Request("digits", tmp_path, "Test", system)
    rates = {"lr": [0.1, 0.2]}
    setups = experiment.plan_runs(ask, options, range(1), rates).setups.values()
    names = [place.system for place in setups]
    assert len(set(names)) == 2
    assert all(len(name) <= 100 for name in names)
    assert all(name.startswith((system or "")[:60]) for name in names)


REFUSED = (
    small(optimizer="lion"), small(batch_size=2, workers=3), small(precision="fp8"),
    small(learning_rate=1.0), small(epochs=0), small(device="cuda"), small(width=0),
    small(threads=-1), small(target=97.0),
)  # fmt: skip
#: What recipes are completed with: schedules last as long as the run, rates fit the batch size.
COMPLETED: tuple[dict[str, Any], ...] = (
    {}, {"epochs": 5}, {"epochs": 90}, {"epochs": 90, "schedule_epochs": 8},
    {"evaluate_every": "end"}, {"batch_size": 512}, {"batch_size": 512, "lr": 0.2},
    {"optimizer": "adamw", "batch_size": 256},
)  # fmt: skip
WRITTEN = (
    "target=97%", "lr=1e-3", "batch_size=64", "nesterov=false", "optimizer=adamw",
    "evaluate_every=0.5", "evaluate_every=end", "batch_size=6.4", "lr=high", "nesterov=no",
    "momentun=0.9", "evaluate_every=never",
)  # fmt: skip


def of_settings(recipe: Recipe) -> Iterator[Any]:
    """Yield the settings of recipes, and why some are refused."""
    for changes in COMPLETED:
        yield [changes, recipe.complete(changes)]
    for text in WRITTEN:
        yield [text, attempt(recipe.parse_value, *text.split("="))]
    for options in REFUSED:
        yield [options, attempt(complete_settings, options, "digits", 0)]


def test_settings_are_completed_as_accepted(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert Case("pieces", "of_workloads", lambda: of_settings(recipe)).is_as_accepted()


#: Owns all of its training: groups of weights, batches, schedule, step, evaluation.
WHOLE = """
import torch
from torch import nn
from ttastats.trainer.workloads.contract import Data, Recipe

RECIPE = Recipe(
    metric="error", higher_is_better=False, target=0.001, epochs=2.5, batch_size=16,
    drop_last=True, evaluate_every=0.5, lr=0.5, bias_factor=0.1, precision="float64",
)
SEEN = []

def data(device):
    x = torch.linspace(-1, 1, 70, device=device, dtype=torch.float64)[:, None]
    return Data(x, 2 * x + 1, x[::7], 2 * x[::7] + 1)

def model(data):
    line = nn.Linear(1, 1).double()
    line.bias.data.fill_(data.train_targets.mean())  # looks at the data
    return line

def optimizer(model, lr, bias_factor):
    return [torch.optim.SGD([model.weight], lr=lr),
            torch.optim.SGD([model.bias], lr=lr * bias_factor)]

def schedule(epoch, epochs, group):
    return 1 - epoch / epochs

def batches(data, rng, epoch, batch_size):
    order = torch.randperm(64, generator=rng)
    if epoch % 2:
        order = order.flip(0)
    for part in order.split(batch_size):
        yield data.train_inputs[part], data.train_targets[part]

def augment(inputs, epoch, step):
    SEEN.append((epoch, step))
    return inputs

def step(model, inputs, targets, optimizers):
    loss = (model(inputs) - targets).square().mean()
    for one in optimizers:
        one.zero_grad()
    loss.backward()
    for one in optimizers:
        one.step()
    return loss

def evaluate(model, data):
    return (model(data.eval_inputs) - data.eval_targets).abs().max()
"""


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "whole.py"
    path.write_text(WHOLE)
    return path


def test_a_workload_may_own_its_whole_training(whole: Path, tmp_path: Path) -> None:
    (run,) = trained(tmp_path, Overrides(device="cpu"), str(whole))
    checkpoints = run.outcome.checkpoints
    assert [checkpoint.epoch for checkpoint in checkpoints][:3] == [0.5, 1.0, 1.5]
    assert [checkpoint.samples for checkpoint in checkpoints][:3] == [32, 64, 96]
    assert checkpoints[-1].epoch <= 2.5
    assert checkpoints[-1].quality < checkpoints[0].quality < 2
    workload = workloads.load_workload(str(whole))
    seen = workload.namespace["SEEN"]
    assert len(seen) == checkpoints[-1].step
    assert seen[:5] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 4)]
    # Values of the trainer's own ways are gone where the file has its own.
    with pytest.raises(TtastatsError, match="no value 'momentum'"):
        workload.recipe.parse_value("momentum", "0.8")
    assert workload.recipe.parse_value("bias_factor", "2") == 2.0
    assert workload.recipe.complete({})["optimizer"] == "own"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN.replace("def model(", "def network("), "does not define model"),
        ("1 / 0", "cannot be run"),
        ("def (", "cannot be run"),
        (
            WHOLE.replace("lr, bias_factor)", "lr, bias)"),
            "which is neither an argument nor in RECIPE",
        ),
        (WHOLE.replace("lr=0.5, ", "lr=0.5, inputs=3, "), "reserved names for values: inputs"),
        (WHOLE + "def dummy(samples): ...", "dummy needs the numbers of samples"),
        (None, "no such file"),
    ],
)
def test_a_file_that_is_no_workload_is_named_at_once(
    text: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(TtastatsError, match=message) as caught:
        workloads.load_workload(str(path))
    assert str(caught.value.where).partition(", line ")[0] == str(path)


def test_a_workload_is_what_its_file_holds_wherever_it_lies(whole: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text(WHOLE)
    first, second = (
        complete_settings(Overrides(device="cpu"), str(path), 0) for path in (whole, elsewhere)
    )
    assert first.identifying_values() == second.identifying_values()
    assert first.setup_digest() == second.setup_digest()


def test_a_function_that_tells_no_parameters_is_called_by_place(recipe: Recipe) -> None:
    outputs, targets = torch.tensor([[0.2, 0.8]], requires_grad=True), torch.tensor([1])
    for function in (torch.nn.CrossEntropyLoss(), torch.nn.functional.cross_entropy):
        loss = make_hook("loss", function, recipe)(outputs, targets, epoch=1)
        assert loss.item() == pytest.approx(0.4375, abs=1e-3)
    assert make_hook("score", torch.eq, recipe)(targets, targets, epoch=1).tolist() == [True]


def test_the_digest_of_any_data_is_made_of_what_is_still_on_the_host() -> None:
    digests = set()
    for kind in (torch.float32, torch.bfloat16, torch.uint8, torch.bool):
        samples = torch.arange(6).reshape(3, 2).to(kind)
        here = Data(samples, samples, samples, samples)
        there = here.to_device(torch.device("meta"))  # from which nothing can be copied back
        assert there.train_inputs.device.type == "meta"
        made_there = Data(*there.tensors, raw=here.tensors).to_device(torch.device("meta"))
        assert here.digest() == there.digest() == made_there.digest()
        digests.add(here.digest())
    assert len(digests) == 4


def test_the_check_before_anything_begins_is_given_the_recipe(whole: Path, tmp_path: Path) -> None:
    check = "\ndef check(folder, bias_factor):\n    assert bias_factor < 1, 'too high'\n"
    whole.write_text(WHOLE + check)
    ask = experiment.Request(str(whole), tmp_path / "logs", "Test", "machine")
    experiment.plan_runs(ask, Overrides(device="cpu"), range(1))
    with pytest.raises(TtastatsError, match="in check: AssertionError: too high"):
        experiment.plan_runs(ask, Overrides(device="cpu"), range(1), {"bias_factor": [0.1, 1.0]})


#: A file with those that it imports, directly or not, and others beside it.
FILES = {
    "mine.py": "import math, torch\nfrom parts.rates import RATE\nimport ttastats.base.errors\n",
    "parts/__init__.py": "",
    "parts/rates.py": "from . import deep\nfrom .deep import nothing\nRATE = 1\n",
    "parts/deep.py": "def later():\n    from late import here\n",
    "late.py": "import mine\nhere = 1\n",
    "unrelated.py": "other = 1\n",
    "ttastats/base/errors.py": "# a checkout",
}


def test_what_a_file_imports_from_beside_it_is_found_once_even_if_it_cannot_be_parsed(
    tmp_path: Path,
) -> None:
    for late in (FILES["late.py"], "def ("):
        for name, text in (FILES | {"late.py": late}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        names = ("parts/__init__.py", "parts/rates.py", "parts/deep.py")
        expected = sorted([late, *(FILES[name] for name in names)])
        assert imported_sources(tmp_path / "mine.py") == tuple(expected)


def test_a_workload_is_what_other_workloads_give_it_but_not_the_trainer(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ttastats.trainer.workloads import digits_small\n"
        "from ttastats.trainer.workloads.contract import Recipe\n"
        "from ttastats.base.errors import TtastatsError\n"
    )
    sources = imported_sources(tmp_path / "mine.py")
    assert len(sources) == 2  # digits_small and digits
    assert any("real handwritten digits" in text for text in sources)


@pytest.mark.parametrize("name", ["diabetes", "modules"])
def test_the_examples_reach_their_target(name: str, tmp_path: Path) -> None:
    path = recipe_file(name)
    (run,) = trained(tmp_path, Overrides(device="cpu"), path)
    assert run.outcome.reached
    assert len(Path(path).read_text().splitlines()) < 50


def test_only_the_seconds_between_start_and_stop_count() -> None:
    finished: list[bool] = []
    wall, cpu = iter([10.0, 11.0, 12.5]), iter([1.0, 2.0])
    clock = Clock(
        finish_device=lambda: finished.append(True),
        wall=lambda: next(wall),
        cpu=lambda: next(cpu),
        epoch=lambda: 1000.0,
    )
    assert clock.counted().wall == 0.0
    clock.epoch = lambda: -5.0  # a correction of the system's clock moves nothing
    assert clock.start().time_ms == 1_001_000
    clock.stop()
    assert (clock.counted().wall, clock.counted().cpu) == (1.5, 1.0)
    assert len(finished) == 2  # the device, before each stamp
