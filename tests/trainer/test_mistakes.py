"""Does a mistake in a workload file end with its file, line and cause, before it counts?"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.trainer.runs import events, trained
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.trainer.loop import Oddity
from ttastats.trainer.session import FinishedRun
from ttastats.trainer.settings import Overrides

GOOD = """
import random, sys
import numpy as np
import torch
from torch import nn
from ttastats.trainer.workloads.contract import Data, Recipe

RECIPE = Recipe(
    metric="accuracy", higher_is_better=True, target=0.97, epochs=2, batch_size=40, lr=0.5,
)

def data():
    x = torch.randn(400, 2, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long()
    return Data(x, y, x[:100], y[:100])

def model():
    return nn.Linear(2, 2)
"""
DATA = "return Data(x, y, x[:100], y[:100])"
LABELS = "y = (x[:, 0] > 0).long()"
COLUMN = "y = (x[:, 0] > 0).long()[:, None]"
SQUARES = "def loss(outputs, targets):\n    return (outputs[:, 0] - targets).square().mean()\n"
#: Labels in a column, and a loss that takes them so.
FIRST = """
rows = data

def data():
    x, y, eval_x, eval_y = rows().tensors
    return Data(x, y[:, None], eval_x, eval_y[:, None])

def loss(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets[:, 0])

"""

#: What is put in the place of what, the text of the line that is named, its function, the cause.
MISTAKES: dict[str, tuple[str, str, str, str, str]] = {
    "an exception in a later step": (
        "", "def augment(inputs, step):\n    if step == 5:\n        raise ValueError('boom')\n"
        "    return inputs\n", "raise ValueError", "augment", "ValueError: boom"),
    "too few labels to train": (
        DATA, "return Data(x, y[:300], x[:100], y[:100])", "return Data", "data",
        "train_inputs has 400 samples, train_targets has 300"),
    "too few labels to evaluate": (
        DATA, "return Data(x, y, x[:100], y[:99])", "return Data", "data",
        "eval_inputs has 100 samples, eval_targets has 99"),
    "a layer too wide": (
        "nn.Linear(2, 2)", "nn.Linear(3, 2)", "def model", "model", "RuntimeError: mat1 and mat2"),
    "no samples to train": (
        DATA, "return Data(x[:0], y[:0], x[:100], y[:100])", "return Data", "data",
        "train_inputs has no samples"),
    "no samples to evaluate": (
        DATA, "return Data(x, y, x[:0], y[:0])", "return Data", "data",
        "eval_inputs has no samples"),
    "a tuple": (DATA, "return x, y, x, y", "def data", "data", "returned a tuple, not a Data"),
    "arrays": (
        DATA, "return Data(x.numpy(), y, x, y)", "return Data", "data",
        "train_inputs is a ndarray of shape (400, 2), not a tensor"),
    "a part of the data missing": (
        DATA, "return Data(x, y, x)", "return Data", "data", "TypeError"),
    "no network": ("nn.Linear(2, 2)", "None", "def model", "model", "returned None, not a torch"),
    "a vector as quality": (
        "", "def evaluate(model, data):\n    return model(data.eval_inputs)\n", "def evaluate",
        "evaluate", "returned a Tensor of shape (100, 2), not one number"),
    "no quality": (
        "", "def evaluate(model, data):\n    pass\n", "def evaluate", "evaluate", "returned None"),
    "an accuracy of all pairs": (
        "def model", FIRST + "def model", "def data():\n    x, y, eval_x",
        "data, by the default score", "not one number for each of 100"),
    "squares of a column": (
        "", SQUARES + "def score(outputs, targets):\n    return (outputs - targets[:, None])\n",
        "def score", "score", "returned a Tensor of shape (100, 2), not"),
    "doubles": (LABELS, LABELS + "; x = x.double()", "def model", "model", "RuntimeError: mat1"),
    "a column of labels": (
        LABELS, COLUMN, "def data", "data, by the default loss", "RuntimeError: 0D or 1D target"),
    "out of memory": (
        "", "def augment(inputs):\n    raise torch.OutOfMemoryError('CUDA out of memory')\n",
        "raise torch", "augment", "OutOfMemoryError: CUDA out of memory"),
    "sys.exit": ("def data", "sys.exit(0)\ndef data", "sys.exit", "", "cannot be run: SystemExit"),
    "sys.exit in a step": (
        "", "def augment(inputs):\n    sys.exit(0)\n", "sys.exit", "augment", "SystemExit: 0"),
    "a loss for each sample": (
        "", SQUARES.replace(".mean()", ""), "def loss", "loss", "returned a Tensor of shape (40,)"),
    "a loss without a gradient": (
        "", "def loss(outputs):\n    return outputs.detach().mean()\n",
        "def loss", "loss", "the mean over the batch as a tensor with its gradient"),
    "no optimizer": (
        "", "def optimizer(model):\n    torch.optim.SGD(model.parameters())\n", "def optimizer",
        "optimizer", "returned None, not an optimizer"),
    "no rate": ("", "def schedule():\n    pass\n", "def schedule", "schedule", "returned None"),
    "no augmented inputs": ("", "def augment(x):\n    pass\n", "def augment", "augment", "None"),
    "batches without targets": (
        "", "def batches(data):\n    yield from data.train_inputs.split(40)\n", "def batches",
        "batches", "yielded something else than a pair"),
    "no batches": ("", "def batches(data):\n    return []\n", "def batches", "batches", "no batch"),
    "an accuracy of 48": (
        "", "def evaluate(model, data):\n    return 48.02\n", "def evaluate", "evaluate",
        "accuracy is 48.02, which is not from 0 to 1"),
    "a mistake of syntax": ("def model", "def model(:", "def model(:", "", "cannot be run: Syntax"),
    "no target": ("target=0.97, ", "", "RECIPE = Recipe(", "", "missing 1 required keyword-only"),
}  # fmt: skip


def run(folder: Path, text: str, **changes: Any) -> FinishedRun:
    path = folder / "mine.py"
    path.write_text(text)
    (made,) = trained(folder / "logs", Overrides(changes, device="cpu"), str(path))
    return made


def edited(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new) if old else GOOD + new


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_file_line_and_cause(name: str, tmp_path: Path) -> None:
    old, new, line, function, cause = MISTAKES[name]
    text = edited(old, new)
    number = text[: text.index(line)].count("\n") + 1
    with pytest.raises(TtastatsError) as refused:
        run(tmp_path, text)
    place = f"{tmp_path / 'mine.py'}, line {number}"
    assert refused.value.where == (f"{place}, in {function}" if function else place)
    assert cause in refused.value.what
    assert "internal error" not in str(refused.value)


def test_the_traceback_begins_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(TtastatsError) as refused:
        run(tmp_path, GOOD + "def augment(inputs):\n    return inputs.nothing\n")
    first, second, *_ = str(refused.value.remedy).splitlines()
    assert first == "Traceback (most recent call last):"
    assert "mine.py" in second
    assert "in augment" in second
    (stop,) = (e for e in events_of(tmp_path) if e["key"] == "run_stop")
    assert stop["metadata"]["status"] == "aborted"  # in its warm-up


@pytest.mark.parametrize("command", ["train", "sweep", "profile"])
def test_commands_show_place_cause_and_traceback(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(GOOD + "def augment(inputs):\n    return inputs.nothing\n")
    result = CliRunner().invoke(app, [command, str(path), "--device", "cpu"])
    assert isinstance(result.exception, TtastatsError)
    line = len(path.read_text().splitlines())
    assert f"{path}, line {line}, in augment: AttributeError: 'Tensor'" in str(result.exception)
    assert "Traceback (most recent call last):" in str(result.exception)


def events_of(folder: Path) -> list[dict[str, Any]]:
    return events(next(folder.rglob("result_0.txt")))


@pytest.mark.parametrize("changes", [{"target": 96.0}, {"target": 1.01}])
@pytest.mark.parametrize("own", ["", "def evaluate():\n    return 0.5\n"])
def test_a_target_that_no_share_reaches_is_refused(
    changes: dict[str, float], own: str, tmp_path: Path
) -> None:
    with pytest.raises(TtastatsError, match="accuracy is a number from 0 to 1") as refused:
        run(tmp_path, GOOD + own, **changes)
    assert refused.value.where == "--target"


@pytest.mark.parametrize(
    ("text", "changes", "warning"),
    [
        (GOOD + "def losses(outputs, targets):\n    pass\n", {}, "did you mean loss?"),
        (GOOD + "def evaluation(model, data):\n    pass\n", {}, "did you mean evaluate?"),
        (GOOD, {"lr": 1e38}, "seed 0: the loss is nan from epoch"),
        (GOOD + "def evaluate():\n    return float('nan')\n", {}, "accuracy is nan from epoch 1 "),
        (
            GOOD + "def batches(data):\n    parts = (of[:200].split(40) for of in data.tensors)\n"
            "    yield from zip(next(parts), next(parts))\n",
            {}, "batches returns 5 per epoch; 10",
        ),
    ],
)  # fmt: skip
def test_what_is_hardly_meant_is_said_once_and_trained(
    text: str, changes: dict[str, Any], warning: str, tmp_path: Path
) -> None:
    with pytest.warns(Oddity) as caught:
        run(tmp_path, text, **changes)
    assert [warning in str(one.message) for one in caught] == [True]


STEP = "def step(model, inputs):\n    model(inputs)\n"


@pytest.mark.parametrize(
    ("text", "changes", "reached"),
    [
        (GOOD, {"lr": 0.0, "target": 0.999}, False),  # never reached
        (GOOD.replace(LABELS, LABELS.replace("long()", "float()")) + SQUARES, {"lr": 0.0}, False),
        (GOOD.replace("better=True", "better=False"), {"lr": 0.0}, True),  # which nobody can know
        (GOOD + STEP, {"target": 0.999}, False),  # a step that tells no loss
        (GOOD + "def evaluate(data):\n    return torch.tensor(0.9)\n", {"target": 0.9}, True),
    ],
)
def test_what_is_right_runs_without_a_word(
    text: str, changes: dict[str, Any], reached: bool, tmp_path: Path
) -> None:
    with warnings.catch_warnings(action="error"):
        made = run(tmp_path, text, **changes)
    assert made.outcome.reached is reached
    assert len(made.outcome.checkpoints) == (1 if reached else 2)


def test_the_log_has_the_batch_that_was_trained_on(tmp_path: Path) -> None:
    run(tmp_path, GOOD, batch_size=4096)
    (logged,) = (e["value"] for e in events_of(tmp_path) if e["key"] == "global_batch_size")
    assert logged == 400
