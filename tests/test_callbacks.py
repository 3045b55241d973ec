"""Trainings of the real frameworks record themselves; each is skipped where it is not installed.

To run them all: `pip install transformers accelerate lightning keras` beside the other tools.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ttastats as tta
from tests.programs import python, wait_until
from ttastats.base.errors import TtastatsError
from ttastats.recording import record as recording
from ttastats.recording import run_log
from ttastats.recording.record import Following
from ttastats.recording.run_log import Clock

ASKED: dict[str, Any] = {"benchmark": "digits", "target": 1e-9, "system": "here", "seed": 5}
#: What a framework warns of is not ours to mend.
quiet = pytest.mark.filterwarnings("ignore")


def rows(logs: Path) -> list[dict[str, Any]]:
    """Return the evaluations of all runs, in their order."""
    output = logs.parent / "runs.parquet"
    tta.ingest([logs], output)
    table = tta.read(output).collect().sort("source", "eval_index", "metric")
    return table.rows(named=True)


class TestFollowing:
    def test_metrics_are_taken_by_name(self, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        following = Following(logs, also=["loss", "absent"], **ASKED | {"metric": "acc"})
        assert not logs.exists()
        assert not following.record_evaluation({"acc": 1.0}, epoch=0)  # a check before the training
        following.begin(seed=1, learning_rate=0.1)
        assert not following.record_evaluation({"other": 1.0}, epoch=1)
        assert following.record_evaluation({"acc": 0.5, "loss": 2.0, "time": 9.0}, epoch=1)
        following.end()
        assert not following.record_evaluation({"acc": 1.0}, epoch=2)
        recorded = rows(logs)
        assert [(row["metric"], row["value"], row["epoch"]) for row in recorded] == [
            ("acc", 0.5, 1.0),
            ("loss", 2.0, 1.0),
        ]
        assert recorded[0]["seed"] == 5  # what is asked comes before what the framework knows
        assert '"learning_rate":0.1' in recorded[0]["extra"].replace(" ", "")

    def test_a_metric_that_was_never_logged_is_named_with_the_others(self, tmp_path: Path) -> None:
        following = Following(tmp_path, **ASKED | {"metric": "acc"})
        following.begin()
        following.record_evaluation({"eval_acc": 1.0, "eval_loss": 1.0})
        with pytest.warns(RuntimeWarning, match="no evaluation logged 'acc'; logged: eval_acc, "):
            following.end()

    def test_a_bad_target_is_refused_before_the_training(self, tmp_path: Path) -> None:
        with pytest.raises(TtastatsError, match="is not a quality target"):
            Following(tmp_path, **ASKED | {"metric": "acc", "target": "high"})

    def test_a_training_that_broke_off_unseen_failed_when_it_was_last_heard_of(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [100.0]
        monkeypatch.setattr(recording, "Clock", lambda: Clock(wall=lambda: now[0]))
        logs = tmp_path / "logs"
        for _ in range(2):  # a script makes a callback for each training
            following = Following(logs, **ASKED | {"metric": "acc"})
            following.begin()
            now[0] += 5
            following.record_evaluation({"acc": 0.5}, epoch=1)
            now[0] += 7
            following.hear()
            now[0] += 1000
        following.end()
        ends = [(row["run_status"], row["run_seconds"]) for row in rows(logs)]
        assert ends == [("exception", pytest.approx(12)), ("success", pytest.approx(1012))]

    def test_a_resumed_training_has_no_time_to_the_target(self, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        for after in (None, 0, 2):
            following = Following(logs, **ASKED | {"metric": "acc", "target": 0.9})
            following.begin(after=after)
            following.record_evaluation({"acc": 0.95}, epoch=1 + (after or 0))
            following.end()
        rows(logs)
        report = tta.summary(logs.parent / "runs.parquet")
        assert [row["n"] for row in report.rows] == [2]
        assert "begins_late" in {note.code for note in report.notes}
        (problem,) = tta.problems(logs.parent / "runs.parquet", codes=["begins_late"]).rows
        assert problem["message"] == "the run goes on with a training after 2 epochs or steps"

    def test_each_training_is_a_run(self, tmp_path: Path) -> None:
        following = Following(tmp_path / "logs", **ASKED | {"metric": "acc"})
        for _ in range(2):
            following.begin()
            following.record_evaluation({"acc": 0.5}, epoch=1)
            following.end()
        assert len(rows(tmp_path / "logs")) == 2


def parts_of(logs: Path) -> list[tuple[str, float | None, float]]:
    """Return how each log ends, after how much of the training it begins, its last epoch."""
    parts = []
    for log in sorted(logs.rglob("result_*.txt")):
        said = {event["key"]: event for event in run_log.read_events(log.read_text())}
        begins = said.get("resumed_at", {"value": None})["value"]
        runs = [row for row in rows(logs) if row["source"].endswith(log.name)]
        late = {row["clock_zero"] for row in runs} == {"unknown"}
        assert late is bool(begins)
        parts.append((runs[-1]["run_status"], begins, runs[-1]["epoch"]))
    return parts


@quiet
class TestHuggingFace:
    def trained(self, logs: Path, **more: Any) -> Any:
        transformers = pytest.importorskip("transformers", reason="transformers is not installed")
        torch = pytest.importorskip("torch", reason="training needs PyTorch")
        from ttastats.callbacks.hugging_face import Record

        class Model(torch.nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
                guess = self.layer(x).squeeze(-1)
                return {"loss": ((guess - labels) ** 2).mean(), "logits": guess}

        data = [{"x": torch.ones(4) * i, "labels": torch.tensor(float(i))} for i in range(16)]
        arguments = transformers.TrainingArguments(
            output_dir=str(logs.parent / "out"), num_train_epochs=3, eval_strategy="epoch",
            per_device_train_batch_size=4, use_cpu=True, report_to="none", disable_tqdm=True,
            save_strategy=more.pop("saves", "no"), learning_rate=1e-3,
        )  # fmt: skip
        resumes = more.pop("resumes", False)
        record = Record(logs, metric="eval_loss", **{**ASKED, **more})
        trainer = transformers.Trainer(
            Model(), arguments, train_dataset=data, eval_dataset=data, callbacks=[record]
        )
        trainer.train(resume_from_checkpoint=resumes)
        return trainer

    def test_a_resumed_training_says_where_it_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        transformers = pytest.importorskip("transformers", reason="transformers is not installed")
        step, steps = transformers.Trainer.training_step, [0]

        def breaking(*given: Any, **named: Any) -> Any:
            steps[0] += 1
            if steps[0] == 10:
                raise RuntimeError("CUDA out of memory")
            return step(*given, **named)

        monkeypatch.setattr(transformers.Trainer, "training_step", breaking)
        with pytest.raises(RuntimeError):
            self.trained(tmp_path / "logs", saves="epoch")
        self.trained(tmp_path / "logs", saves="epoch", resumes=True)
        assert parts_of(tmp_path / "logs") == [("exception", None, 2), ("aborted", 2, 3)]

    def test_every_evaluation_is_recorded(self, tmp_path: Path) -> None:
        trainer = self.trained(tmp_path / "logs", also=["eval_runtime"])
        trainer.evaluate()  # after the training: no part of the run
        losses = [row for row in rows(tmp_path / "logs") if row["metric"] == "eval_loss"]
        logged = [entry for entry in trainer.state.log_history if "eval_loss" in entry][:3]
        assert [row["value"] for row in losses] == [entry["eval_loss"] for entry in logged]
        assert [(row["epoch"], row["step"]) for row in losses] == [(1, 4), (2, 8), (3, 12)]
        assert {row["global_batch_size"] for row in losses} == {4}
        assert {row["run_status"] for row in losses} == {"aborted"}
        assert {row["higher_is_better"] for row in losses} == {False}


#: Two workers, of which only the first meets the target by its own metric.
OF_EACH_WORKER = """
import pathlib
import sys
import lightning.pytorch as lightning
import torch
from ttastats.callbacks.lightning import Record

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        return (self.layer(batch) ** 2).mean()

    def validation_step(self, batch, _):
        self.log("loss", float(self.global_rank), on_epoch=True, sync_dist=False)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

if __name__ == "__main__":
    data = torch.utils.data.DataLoader(torch.ones(16, 4), batch_size=4)
    record = Record(
        sys.argv[1], benchmark="b", metric="loss", target=0.5, stop_at_target=True, system="s",
    )
    trainer = lightning.Trainer(
        max_epochs=4, accelerator="cpu", devices=2, strategy="ddp", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, callbacks=[record],
    )
    end = "broke off"
    try:
        trainer.fit(Model(), data, data)
        end = f"ended after {trainer.current_epoch}"
    finally:
        pathlib.Path(f"{sys.argv[1]}.{trainer.global_rank}").write_text(end)
"""


@quiet
class TestLightning:
    def trained(self, logs: Path, **more: Any) -> list[float]:
        lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
        torch = pytest.importorskip("torch", reason="training needs PyTorch")
        from ttastats.callbacks.lightning import Record

        values: list[float] = []
        fails = more.pop("fails", False)

        class Model(lightning.LightningModule):  # type: ignore[name-defined,misc]
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def training_step(self, batch: Any, _: int) -> Any:
                if fails and self.current_epoch == 1:
                    raise ArithmeticError
                return (self.layer(batch).squeeze(-1) ** 2).mean()

            def validation_step(self, batch: Any, _: int) -> None:
                loss = (self.layer(batch).squeeze(-1) ** 2).mean()
                self.log("val/loss", loss, on_epoch=True, on_step=False)

            def on_validation_end(self) -> None:
                if not self.trainer.sanity_checking:
                    values.append(float(self.trainer.callback_metrics["val/loss"]))

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), lr=0.01)

        data = torch.utils.data.DataLoader(torch.ones(16, 4), batch_size=4)
        half, epochs = more.pop("val_check_interval", 1.0), more.pop("max_epochs", 2)
        record = Record(logs, metric="val/loss", **{**ASKED, **more})
        trainer = lightning.Trainer(
            max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, callbacks=[record],
            val_check_interval=half, default_root_dir=logs.parent,
        )  # fmt: skip
        saved = logs.parent / "saved.ckpt"
        trainer.fit(Model(), data, data, ckpt_path=saved if saved.exists() else None)
        trainer.save_checkpoint(saved)
        return values

    def test_a_resumed_training_says_where_it_goes_on(self, tmp_path: Path) -> None:
        for epochs in (2, 3):
            self.trained(tmp_path / "logs", max_epochs=epochs)
        assert parts_of(tmp_path / "logs") == [("aborted", None, 2), ("aborted", 2, 3)]

    def test_workers_stop_together_at_a_metric_that_each_has_of_its_own(
        self, tmp_path: Path
    ) -> None:
        pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
        script = tmp_path / "script.py"
        script.write_text(OF_EACH_WORKER)
        process = python(script, tmp_path / "logs")
        assert process.returncode == 0, process.stderr
        ends = [tmp_path / f"logs.{rank}" for rank in (0, 1)]
        wait_until(lambda: all(end.exists() and end.read_text() for end in ends))
        assert {end.read_text() for end in ends} == {"ended after 1"}
        assert parts_of(tmp_path / "logs") == [("success", None, 1)]

    @pytest.mark.parametrize(
        ("interval", "epochs", "steps"),
        [(1.0, [1, 2], [4, 8]), (0.5, [0.5, 1, 1.5, 2], [2, 4, 6, 8])],
    )
    def test_every_validation_is_recorded(
        self, interval: float, epochs: list[float], steps: list[int], tmp_path: Path
    ) -> None:
        values = self.trained(tmp_path / "logs", val_check_interval=interval)
        recorded = rows(tmp_path / "logs")
        assert [row["value"] for row in recorded] == values
        assert [row["epoch"] for row in recorded] == epochs
        assert [row["step"] for row in recorded] == steps
        assert {row["metric"] for row in recorded} == {"val/loss"}
        assert {row["run_status"] for row in recorded} == {"aborted"}

    def test_a_failed_training_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(ArithmeticError):
            self.trained(tmp_path / "logs", fails=True)
        (row,) = rows(tmp_path / "logs")
        assert (row["epoch"], row["run_status"]) == (1, "exception")
        (log,) = (tmp_path / "logs").rglob("result_0.txt")
        assert '"reason": "ArithmeticError' in log.read_text()


@quiet
class TestKeras:
    def trained(self, logs: Path, **more: Any) -> Any:
        keras = pytest.importorskip("keras", reason="keras is not installed")
        np = pytest.importorskip("numpy")
        from ttastats.callbacks.keras import Record

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        x, y = np.ones((16, 4)), np.ones(16)
        first = more.pop("initial_epoch", 0)
        record = Record(logs, metric="val_loss", also=["loss"], **{**ASKED, **more})
        return model.fit(
            x, y, epochs=3, validation_data=(x, y), callbacks=[record], verbose=0, batch_size=4,
            initial_epoch=first,
        )  # fmt: skip

    def test_a_resumed_training_says_where_it_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KERAS_BACKEND", "torch")
        monkeypatch.setenv("KERAS_HOME", str(tmp_path))
        for first in (0, 2):
            self.trained(tmp_path / "logs", initial_epoch=first)
        assert parts_of(tmp_path / "logs") == [("aborted", None, 3), ("aborted", 2, 3)]

    def test_every_epoch_is_recorded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KERAS_BACKEND", "torch")
        monkeypatch.setenv("KERAS_HOME", str(tmp_path))
        history = self.trained(tmp_path / "logs").history
        recorded = rows(tmp_path / "logs")
        for metric in ("val_loss", "loss"):
            values = [row["value"] for row in recorded if row["metric"] == metric]
            assert values == pytest.approx(history[metric])
        assert [row["epoch"] for row in recorded if row["metric"] == "loss"] == [1, 2, 3]


@quiet
@pytest.mark.parametrize("framework", [TestHuggingFace, TestLightning, TestKeras])
def test_training_stops_at_the_target_if_asked(
    framework: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    framework().trained(tmp_path / "logs", target=1e9, stop_at_target=True)
    recorded = rows(tmp_path / "logs")
    assert {(row["epoch"], row["run_status"]) for row in recorded} == {(1, "success")}
