"""Folders of TensorBoard, W&B, Lightning and Hydra in a bucket are read as those on a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tests import made_stores as made
from ttastats.ingestion.ingest import ingest
from ttastats.table import store

SETUPS = [(name, seed) for name in ("adam", "sgd") for seed in range(2)]
CSV = "epoch,step,val_acc\n" + "".join(f"{n},{10 * n},0.{5 + n}\n" for n in range(3))


def lightning(optimizer: str, seed: int) -> dict[str, bytes]:
    number = SETUPS.index((optimizer, seed))
    place = f"lightning_logs/version_{number}"
    return {
        f"{place}/metrics.csv": CSV.encode(),
        f"{place}/hparams.yaml": f"optimizer: {optimizer}\nseed: {seed}\n".encode(),
    }


def hydra(optimizer: str, seed: int) -> dict[str, bytes]:
    place = f"multirun/{SETUPS.index((optimizer, seed))}"
    return {
        f"{place}/metrics.csv": CSV.encode(),
        f"{place}/.hydra/config.yaml": f"optimizer: {optimizer}\nseed: {seed}\n".encode(),
        f"{place}/.hydra/overrides.yaml": f"- seed={seed}\n".encode(),
    }


def tensorboard(optimizer: str, seed: int) -> dict[str, bytes]:
    first = 1_700_000_000.0
    start = made.first_event(first)
    values = [made.scalar(first + n, n, val__acc=0.5 + n / 10) for n in range(3)]
    place = f"runs/{optimizer}/seed_{seed}"
    name = "events.out.tfevents"
    half = {
        f"{place}/{name}.1700000000.host.1.0": start + b"".join(values[:2]),
        f"{place}/{name}.1700000002.host.2.0": made.first_event(first + 2) + values[2],
    }
    return {**half, f"{place}/config.json": f'{{"optimizer": "{optimizer}"}}'.encode()}


def wandb(optimizer: str, seed: int) -> dict[str, bytes]:
    name = f"{optimizer}{seed}"
    config = {"optimizer": optimizer, "seed": seed}
    records = [made.run_record(name, "digits", config, 1_700_000_000)]
    rows = [{"_step": n, "_runtime": n, "val/acc": 0.5 + n / 10} for n in range(3)]
    records += [made.history(row) for row in rows] + [made.exit_record(0, 3)]
    place = f"wandb/offline-run-20240101_00000{SETUPS.index((optimizer, seed))}-{name}"
    return {f"{place}/run-{name}.wandb": made.wandb_store(records)}


@pytest.fixture(params=["memory", "s3"])
def bucket(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the URL of a folder in a bucket, of a server on the loopback address for S3."""
    if request.param == "memory":
        yield "memory://bucket/team/logs"
        fsspec.filesystem("memory").rm("/bucket", recursive=True)
        return
    request.getfixturevalue("s3")
    yield "s3://bucket/team/logs"


@pytest.mark.parametrize("files_of", [lightning, hydra, tensorboard, wandb])
def test_a_folder_in_a_bucket_is_read_as_on_a_disk(
    files_of: Any, bucket: str, tmp_path: Path
) -> None:
    remote = fsspec.core.url_to_fs(bucket)[0]
    for optimizer, seed in SETUPS:
        for name, content in files_of(optimizer, seed).items():
            place = tmp_path / "logs" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            remote.pipe_file(f"{bucket.partition('://')[2]}/{name}", content)
    block = {"metric": "val_acc"} if files_of is hydra else None
    there = ingest([bucket], tmp_path / "there.parquet", block=block, workers=1)
    here = ingest([tmp_path / "logs"], tmp_path / "here.parquet", block=block, workers=1)
    assert there.runs == here.runs == 4
    assert there.problem_counts() == here.problem_counts()
    assert there.counts() == here.counts()
    rows = [
        store.read_tables([account.output])
        .drop("source", "run_id", "duplicate_of")
        .sort("entry", "seed", "eval_index")
        .collect()
        for account in (there, here)
    ]
    differ = [name for name in rows[0].columns if not rows[0][name].equals(rows[1][name])]
    assert differ == [], rows[0].select(differ).rows()[:2] + rows[1].select(differ).rows()[:2]
    names = rows[0].select("entry", "seed").unique(maintain_order=True).rows()
    assert [(entry.split("=")[-1].split("/")[-1], seed) for entry, seed in names] == SETUPS
    assert not ingest([bucket], there.output, block=block, workers=1).written
