"""What packages write is read: TensorBoard, MLflow, W&B, Hugging Face, Lightning, Keras, Hydra.

They are large and change often, so they are not among the tools of this project. A test whose
package is absent is skipped; `pip install ".[writers]"` installs them all, as CI does. Each writes
in a process of its own, whose Python may be another: TTASTATS_WRITERS names it.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from tests.programs import call
from ttastats import ingest
from ttastats.cli import app
from ttastats.table.store import read_tables

PYTHON = os.environ.get("TTASTATS_WRITERS", sys.executable)


@cache
def has(module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return call(PYTHON, "-c", code).returncode == 0


def written(folder: Path, module: str, code: str, **environment: str) -> None:
    """Write into a folder with a package, or skip."""
    if not has(module):
        pytest.skip(f"{module} is not installed for {PYTHON}")
    folder.mkdir()
    program = f"folder = {str(folder)!r}\n{textwrap.dedent(code)}"
    environment = {**os.environ, "PYTHONPATH": "", **environment}
    process = call(PYTHON, "-c", program, env=environment, cwd=folder)
    assert process.returncode == 0, process.stderr[-2000:]


LIGHTNING = """
    import lightning.pytorch as pl, torch
    from lightning.pytorch.loggers import CSVLogger

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
        def training_step(self, batch, _):
            loss = self.layer(batch[0]).square().mean()
            self.log("train_loss", loss)
            return loss
        def validation_step(self, batch, _):
            self.log("val_acc", (self.current_epoch + 1) / 4)
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 1)), 4)
    trainer = pl.Trainer(
        max_epochs=3, logger=CSVLogger(folder), accelerator="cpu", num_sanity_val_steps=0,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        log_every_n_steps=1,
    )
    trainer.fit(Model(), data, data)
"""


def test_the_csv_logger_of_lightning(tmp_path: Path) -> None:
    written(tmp_path / "pl", "lightning", LIGHTNING)
    account = ingest([tmp_path / "pl"], tmp_path / "x.parquet", workers=1)
    assert (account.runs, account.rejected) == (1, ())
    rows = read_tables([account.output]).select("metric", "value", "step", "epoch", "seconds")
    scores = [("val_acc", (n + 1) / 4, 2 * n + 1, float(n), None) for n in range(3)]
    assert rows.collect().rows() == scores


#: Six trainings, two setups with three seeds each: one was restarted, and one crashed.
TRAININGS = """
    def trainings():
        for optimizer, rate in (("adam", 0.3), ("sgd", 0.15)):
            for seed in range(3):
                values = [1 - (1 - rate) ** (step + 1) + seed / 256 for step in range(12)]
                sessions, crashed = [(0, values)], (optimizer, seed) == ("sgd", 2)
                if (optimizer, seed) == ("adam", 1):
                    sessions = [(0, values[:7]), (5, values[5:])]
                yield optimizer, seed, [(0, values[:5])] if crashed else sessions, crashed
"""
TENSORBOARD_SETUPS = """
    import time
    from {module} import SummaryWriter
    for number, (optimizer, seed, sessions, _) in enumerate(trainings()):
        for first, values in sessions:
            writer = SummaryWriter(f"{{folder}}/run{{number}}")
            writer.add_hparams({{"optimizer": optimizer, "seed": seed}}, {{"hparam/acc": 0}})
            for step, value in enumerate(values, first):
                writer.add_scalar("val/acc", value, step)
            writer.close()
            time.sleep(1.1 if first == 0 and len(sessions) > 1 else 0)  # files are named by seconds
"""
SETUPS = {
    "tensorboardX": ("tensorboardX", "val/acc", TENSORBOARD_SETUPS.format(module="tensorboardX")),
    "tensorboard": (
        "tensorboard", "val/acc", TENSORBOARD_SETUPS.format(module="torch.utils.tensorboard")
    ),
    "lightning": ("lightning", "val_acc", """
    from lightning.pytorch.loggers import CSVLogger
    for optimizer, seed, sessions, crashed in trainings():
        logger = CSVLogger(folder)
        settings = {"optim": {"optimizer": optimizer}, "betas": (0.9, 0.99), "seed": seed}
        logger.log_hyperparams(settings)
        for step, value in enumerate(sessions[0][1]):
            logger.log_metrics({"val_acc": value, "epoch": step}, step)
        for first, values in sessions[1:]:
            for step in range(7, 12):
                logger.log_metrics({"val_acc": values[step - first], "epoch": step}, step)
        logger.save()
"""),
    "keras": ("keras", "val_acc", """
    import os
    from keras.callbacks import CSVLogger
    for optimizer, seed, sessions, _ in trainings():
        os.makedirs(f"{folder}/{optimizer}/seed_{seed}")
        for first, values in sessions:
            logger = CSVLogger(f"{folder}/{optimizer}/seed_{seed}/training.csv", append=first > 0)
            logger.set_model(None)
            logger.on_train_begin()
            start = 7 if first else 0  # training goes on behind the last epoch that was logged
            for epoch, value in enumerate(values[start - first :], start):
                logger.on_epoch_end(epoch, {"loss": 1 - value, "val_acc": value, "val_loss": 1.0})
            logger.on_train_end()
"""),
    "transformers": ("transformers", "eval_accuracy", """
    import os
    from transformers import TrainerState
    for optimizer, seed, sessions, crashed in trainings():
        history = []
        for first, values in sessions:
            history = [entry for entry in history if entry["step"] <= first]
            for step, value in enumerate(values, first + 1):
                history.append({"eval_accuracy": value, "epoch": step / 2, "step": step})
            place = f"{folder}/{optimizer}-lr1e-3-s{seed}/checkpoint-{step}"
            os.makedirs(place)
            state = TrainerState(global_step=step, max_steps=12, log_history=list(history))
            state.save_to_json(f"{place}/trainer_state.json")
"""),
    "mlflow": ("mlflow", "val/acc", """
    import mlflow
    mlflow.set_tracking_uri("file:" + folder + "/mlruns")
    mlflow.set_experiment("digits")
    for optimizer, seed, sessions, crashed in trainings():
        run_id = None
        for first, values in sessions:
            mlflow.start_run(run_id=run_id)
            run_id = mlflow.active_run().info.run_id
            if not first:
                mlflow.log_params({"optimizer": optimizer, "seed": seed, "width": 8})
            start = 7 if first else 0
            for step, value in enumerate(values[start - first :], start):
                mlflow.log_metric("val/acc", value, step=step)
            mlflow.end_run("FAILED" if crashed else "FINISHED")
"""),
    "wandb": ("wandb", "val.acc", """
    import wandb
    for optimizer, seed, sessions, crashed in trainings():
        run = wandb.init(
            project="digits", config={"optimizer": optimizer, "seed": seed, "width": 8}
        )
        for value in [sessions[0][1], *(values[2:] for _, values in sessions[1:])]:
            for each in value:
                run.log({"val": {"acc": each}})
        run.finish(exit_code=int(crashed))
"""),
    "hydra": ("hydra", "val_acc", """
    import sys, hydra
    from hydra.core.config_store import ConfigStore
    from hydra.core.hydra_config import HydraConfig

    ConfigStore.instance().store("config", {"optimizer": {"name": "adam"}, "seed": 0, "width": 8})

    @hydra.main(version_base=None, config_name="config")
    def main(config):
        of_all = {(name, seed): sessions for name, seed, sessions, _ in trainings()}
        with open(HydraConfig.get().runtime.output_dir + "/log.csv", "w") as log:
            log.write("step,val_acc\\n")
            for first, values in of_all[config.optimizer.name, config.seed]:
                start = 7 if first else 0
                for step, value in enumerate(values[start - first :], start):
                    log.write(f"{step},{value}\\n")

    sys.argv = ["app", "-m", "optimizer.name=adam,sgd", "seed=0,1,2", f"hydra.sweep.dir={folder}"]
    main()
"""),
}  # fmt: skip
OF_MLFLOW = SETUPS["mlflow"][2].replace('"file:"', '"sqlite:///"').replace("mlruns", "mlflow.db")
SETUPS["mlflow-db"] = ("sqlalchemy", "val/acc", OF_MLFLOW)


@pytest.mark.parametrize("name", SETUPS)
def test_two_setups_of_three_seeds_come_to_a_verdict(name: str, tmp_path: Path) -> None:
    """One of the runs was restarted, and one crashed: it counts as failed."""
    module, metric, code = SETUPS[name]
    texts = f"{textwrap.dedent(TRAININGS)}{textwrap.dedent(code)}"
    if name == "tensorboard" and not has("torch"):
        pytest.skip("torch is not installed")
    more = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}
    more |= {"KERAS_BACKEND": "torch", "KERAS_HOME": str(tmp_path / "home")}
    logs, table = tmp_path / "logs", tmp_path / "logs.parquet"
    written(logs, module, texts, **more)
    options = ["--metric", metric] if name == "hydra" else []
    assert command("ingest", logs, "-o", table, *options).exit_code == 0
    rows = read_tables([table]).collect()
    whole = rows.filter(pl.col("entry").str.contains("adam"), metric=metric, seed=0)["value"]
    assert whole.to_list() == pytest.approx([1 - 0.7**step for step in range(1, 13)], rel=1e-6)
    runs = rows.unique(["run_id", "source"])
    names = runs.select("entry", "seed").rows()
    pairs = sorted((entry.split("=")[-1].removesuffix("-lr1e-3"), seed) for entry, seed in names)
    assert pairs == [(optimizer, seed) for optimizer in ("adam", "sgd") for seed in range(3)]
    entries = sorted(set(runs["entry"]))
    assert len(entries) == 2
    sides = [f"entry={entry}" for entry in entries]
    if name not in {"keras", "transformers"}:  # which record no settings
        column = {"lightning": "optim.optimizer", "hydra": "name"}.get(name, "optimizer")
        sides = [f"{column}=adam", f"{column}=sgd"]
    answer = command(
        "compare", table, "--a", sides[0], "--b", sides[1], "--target", f"{metric}>=0.79",
        "--in", "epochs" if name == "keras" else "steps", "-f", "json",
    )  # fmt: skip
    assert answer.exit_code == 0
    (row,) = json.loads(answer.stdout)["rows"]
    assert (row["n_a"], row["reached_a"], row["n_b"], row["reached_b"]) == (3, 3, 3, 2)
    assert (row["setups_a"], row["setups_b"]) == (1, 1)


def command(*words: str | Path) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])
