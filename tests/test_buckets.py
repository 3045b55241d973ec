"""Folders of logs in a bucket are read as those on a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tests import made_logs
from tests.conftest import FIXTURES
from ttastats.ingestion.ingest import ingest
from ttastats.table import store

SETUPS = [(name, seed) for name in ("adam", "sgd") for seed in range(2)]
CSV = "epoch,step,val_acc\n" + "".join(f"{n},{10 * n},0.{5 + n}\n" for n in range(3))


def trainings(place: str, settings: str) -> dict[str, bytes]:
    """Return four logs in folders of their own, each with a file of settings beside it."""
    files = {}
    for number, (optimizer, seed) in enumerate(SETUPS):
        folder = f"{place}{number}"
        files[f"{folder}/metrics.csv"] = CSV.encode()
        files[f"{folder}/{settings}"] = f"optimizer: {optimizer}\nseed: {seed}\n".encode()
    return files


def fixtures(kind: str) -> dict[str, bytes]:
    """Return the files of a kind of logs, by their paths."""
    files = (path for path in (FIXTURES / kind).glob("*/**/*") if path.is_file())
    return {path.relative_to(FIXTURES / kind).as_posix(): path.read_bytes() for path in files}


FOLDERS = {
    "lightning": trainings("lightning_logs/version_", "hparams.yaml"),
    "hydra": trainings("multirun/", ".hydra/config.yaml"),
    **{kind: fixtures(kind) for kind in ("tfevents", "wandb", "mlflow", "hf-trainer")},
}


@pytest.fixture(params=["memory", "s3"])
def bucket(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the URL of a folder in a bucket, of a server on the loopback address for S3."""
    if request.param == "memory":
        yield "memory://bucket/team/logs"
        fsspec.filesystem("memory").rm("/bucket", recursive=True)
        return
    request.getfixturevalue("s3")
    yield "s3://bucket/team/logs"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_in_a_bucket_is_read_as_on_a_disk(name: str, bucket: str, tmp_path: Path) -> None:
    files = FOLDERS[name]
    made_logs.write(tmp_path / "logs", files)
    remote = fsspec.core.url_to_fs(bucket)[0]
    for path, content in files.items():
        remote.pipe_file(f"{bucket.partition('://')[2]}/{path}", content)
    block = {"metric": "val_acc"} if name == "hydra" else None
    there = ingest([bucket], tmp_path / "there.parquet", block=block, workers=1)
    here = ingest([tmp_path / "logs"], tmp_path / "here.parquet", block=block, workers=1)
    assert there.problem_counts() == here.problem_counts()
    assert there.counts() == here.counts()
    rows = [
        store.read_tables([account.output])
        .drop("source", "run_id", "duplicate_of", "problems")
        .sort("entry", "seed", "source_digest", "metric", "eval_index")
        .collect()
        for account in (there, here)
    ]
    assert rows[0].equals(rows[1])
    if name in {"lightning", "hydra"}:
        names = rows[0].select("entry", "seed").unique(maintain_order=True).rows()
        assert [(entry.split("=")[-1], seed) for entry, seed in names] == SETUPS
    assert not ingest([bucket], there.output, block=block, workers=1).written
