"""Trainings of the real frameworks record themselves; each is skipped where it is not installed.

To run them all: `pip install transformers accelerate lightning keras` beside the other tools.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ttastats as tta
from ttastats.base.errors import TtastatsError
from ttastats.recording.record import Following

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

    def test_each_training_is_a_run(self, tmp_path: Path) -> None:
        following = Following(tmp_path / "logs", **ASKED | {"metric": "acc"})
        for _ in range(2):
            following.begin()
            following.record_evaluation({"acc": 0.5}, epoch=1)
            following.end()
        assert len(rows(tmp_path / "logs")) == 2


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
            save_strategy="no", learning_rate=1e-3,
        )  # fmt: skip
        record = Record(logs, metric="eval_loss", **{**ASKED, **more})
        trainer = transformers.Trainer(
            Model(), arguments, train_dataset=data, eval_dataset=data, callbacks=[record]
        )
        trainer.train()
        return trainer

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
        half = more.pop("val_check_interval", 1.0)
        record = Record(logs, metric="val/loss", **{**ASKED, **more})
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, callbacks=[record],
            val_check_interval=half, default_root_dir=logs.parent,
        )  # fmt: skip
        trainer.fit(Model(), data, data)
        return values

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
        record = Record(logs, metric="val_loss", also=["loss"], **{**ASKED, **more})
        return model.fit(
            x, y, epochs=3, validation_data=(x, y), callbacks=[record], verbose=0, batch_size=4
        )

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
