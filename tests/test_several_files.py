"""Runs in several files or stores: which files hold them, and which are read again."""

from __future__ import annotations

import json
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
import pytest

from tests import made_logs
from tests.made_stores import first_event, scalar, text
from ttastats import ingest
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats.dialect import PART_OF_A_RUN, Log
from ttastats.ingestion import registry
from ttastats.ingestion.account import Account
from ttastats.ingestion.containers import Archive, Disk, Memory, Remote
from ttastats.table import store


class Pages:
    """A made-up format: `N.page` holds a score; the last page of a folder tells the run."""

    name = "pages"

    def recognises(self, head: bytes, path: str) -> bool:
        return path.endswith(".page")

    def parse(self, log: Log) -> Iterator[Run | Problem]:
        pages = [name for name in log.listing(log.folder) if name.endswith(".page")]
        if log.name == pages[-1]:
            scores = [float(log.companion(log.folder / page) or b"nan") for page in pages]
            rows = (Evaluation(n, "score", score, score, None) for n, score in enumerate(scores))
            yield Run(benchmark="book", evaluations=tuple(rows))


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    known = {**registry.dialects(), "pages": Pages()}
    monkeypatch.setattr(registry, "dialects", lambda: known)
    monkeypatch.setattr(registry, "_recognisers", registry._recognisers.__wrapped__)
    return made_logs.write(tmp_path / "book", {"a/1.page": "1", "a/2.page": "2", "b/1.page": "5"})


def values(table: Path) -> dict[str, list[float]]:
    rows = store.read_tables([table]).collect()
    return {
        Path(source).parent.name: part["value"].to_list()
        for (source,), part in rows.group_by("source", maintain_order=True)
    }


def test_another_file_of_a_run_makes_its_logs_be_read_again(book: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.parquet"
    ingest([book], output, workers=1)
    (book / "a" / "3.page").write_text("3.0")  # the page that told the run is none any more
    account = ingest([book], output, workers=1)
    assert (account.runs, account.parts) == (2, 2)
    assert values(output) == {"a": [1.0, 2.0, 3.0], "b": [5.0]}
    (book / "a" / "1.page").write_text("0.5")
    ingest([book], output, workers=1)
    assert values(output)["a"] == [0.5, 2.0, 3.0]
    (book / "a" / "3.page").unlink()
    ingest([book], output, workers=1)
    assert values(output) == {"a": [0.5, 2.0], "b": [5.0]}
    account = ingest([book], output, workers=1)
    assert (account.written, account.parts) == (False, 1)


def _trial(folder: Path) -> Path:
    """Write a trial of AlgoPerf in its CSV file, and another copy of it as an event file."""
    folder = folder / "mine/study_0/ogbg_jax/trial_1"
    folder.mkdir(parents=True)
    rows = "".join(f"{60.0 * n},{100 * n},{50.0 * n},{0.1 * n}\n" for n in range(1, 4))
    names = "accumulated_submission_time,global_step,score,validation/mean_average_precision\n"
    (folder / "eval_measurements.csv").write_text(names + rows)
    events = first_event(1e9) + b"".join(
        scalar(1e9 + 60.0 * n, 100 * n, validation__mean_average_precision=0.1 * n)
        for n in range(1, 4)
    )
    (folder / "events.out.tfevents.1700000000.host").write_bytes(events)
    return folder


def test_a_run_in_a_csv_file_and_in_an_event_file_beside_it_is_one_run(tmp_path: Path) -> None:
    folder = _trial(tmp_path / "logs")
    output = tmp_path / "x.parquet"
    account = ingest([tmp_path / "logs"], output, workers=1)
    assert (account.runs, account.parts) == (1, 1)
    assert account.problem_counts() == {PART_OF_A_RUN: 1}
    (source,) = store.read_tables([output]).collect()["source"].unique()
    assert source.endswith("eval_measurements.csv")
    (folder / "eval_measurements.csv").unlink()
    assert (ingest([tmp_path / "logs"], output, workers=1).runs, account.rejected) == (1, ())


def test_an_event_file_that_is_named_or_alone_has_times_is_read(tmp_path: Path) -> None:
    folder = _trial(tmp_path / "logs")
    named = ingest([folder / "events.out.tfevents.1700000000.host"], tmp_path / "x.parquet")
    chosen = ingest([tmp_path / "logs"], tmp_path / "y.parquet", dialect="tfevents")
    assert (named.runs, named.parts, chosen.runs, chosen.parts) == (1, 0, 1, 0)
    csv = folder / "eval_measurements.csv"
    csv.write_text(csv.read_text().replace("score", "points"))
    assert ingest([tmp_path / "logs"], tmp_path / "x.parquet", workers=1).parts == 0


def test_a_part_alone_is_no_run_and_says_what_to_name(book: Path, tmp_path: Path) -> None:
    words = "no run could be read: the file is part of a run in another file"
    with pytest.raises(TtastatsError, match=words) as caught:
        ingest([book / "a" / "1.page"], tmp_path / "x.parquet", workers=1)
    assert caught.value.remedy == "Give the folder of the run."


LAID = {"top/a.txt": "a", "top/below/b.txt": "b", "top/below/c.txt": "c", "top/.hidden": "h"}


def containers(folder: Path) -> Iterator[tuple[Any, PurePosixPath]]:
    """Write the same files into each kind of container; yield the place of `top` in it."""
    made_logs.write(folder, LAID)
    yield Disk(str(folder)), PurePosixPath(str(folder), "top")
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        for name, content in LAID.items():
            archive.writestr(name, content)
    yield Archive(str(folder / "z.zip")), PurePosixPath(str(folder), "z", "top")
    with tarfile.open(folder / "t.tar", "w") as tar:
        tar.add(folder / "top", "top")
    yield Archive(str(folder / "t.tar")), PurePosixPath(str(folder), "t", "top")
    yield Remote(f"file://{folder}", time.time_ns()), PurePosixPath(str(folder), "top")


def test_every_container_lists_what_lies_around_a_log(tmp_path: Path) -> None:
    for container, top in containers(tmp_path):
        assert container.listing(top) == ("a.txt", "below/"), container
        assert container.listing(top / "below") == ("b.txt", "c.txt")
        assert container.listing(top / "nothing") == ()
        assert container.companion(top / "below" / "c.txt") == b"c"
    assert Memory(b"").listing(PurePosixPath("/")) == ()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


def test_a_pointer_of_git_lfs_is_named_with_what_to_do(book: Path, tmp_path: Path) -> None:
    (book / "b" / "1.page").write_bytes(POINTER)  # a name that a log has
    (book / "weights.bin").write_bytes(POINTER)  # one that may be anything
    account = ingest([book], tmp_path / "x.parquet", workers=1)
    (log, other) = sorted(account.problems, key=lambda problem: problem.severity)
    assert "git lfs pull" in log.message
    assert Path(log.source or "").name == "1.page"
    codes = [(problem.code, problem.severity) for problem in (log, other)]
    assert codes == [("lfs_pointer", "error"), ("lfs_pointer", "info")]
    assert account.runs == 1
    with pytest.raises(TtastatsError, match="git lfs pull"):
        ingest([book / "weights.bin"], tmp_path / "y.parquet", workers=1)


# ------------------------------------------- the same run in a trainer's state and in event files

BEGUN = 1_700_000_000.0
NAME = "events.out.tfevents.{:.0f}.host.1.0"


def state(values: list[float], steps: list[int]) -> bytes:
    history: list[dict[str, Any]] = []
    for number, (step, value) in enumerate(zip(steps, values, strict=True), 1):
        history += [
            {"loss": 1 / step, "epoch": number, "step": step},
            {"eval_accuracy": value, "eval_loss": 1 - value, "epoch": number, "step": step},
        ]
    fields = {"log_history": history, "global_step": steps[-1], "max_steps": 30}
    return json.dumps(fields).encode()


def events(values: list[float], steps: list[int], begun: float = BEGUN) -> bytes:
    data = first_event(begun) + text(begun, 0, "args/text_summary", '{"seed": 3}')
    return data + b"".join(
        scalar(begun + step, step, eval__accuracy=value, train__loss=1 / step)
        for step, value in zip(steps, values, strict=True)
    )


def read(folder: Path, files: dict[str, str | bytes]) -> tuple[pl.DataFrame, Account]:
    made_logs.write(folder, files)
    account = ingest([folder], folder.parent / "x.parquet", workers=1)
    return store.read_tables([account.output]).collect(), account


VALUES, STEPS = [0.5, 0.7, 0.8], [10, 20, 30]


def test_a_training_that_was_resumed_is_one_run(tmp_path: Path) -> None:
    """Only checkpoints tell it, and each session has event files in a folder of its own."""
    later = BEGUN + 100
    files: dict[str, str | bytes] = {
        "out/checkpoint-30/trainer_state.json": state(VALUES, STEPS),
        f"out/runs/Jan28_23-42-14_host/{NAME.format(BEGUN)}": events([0.5, 0.7, 0.1], STEPS),
        f"out/runs/Jan28_23-44-14_host/{NAME.format(later)}": events(VALUES[2:], STEPS[2:], later),
    }
    rows, account = read(tmp_path / "logs", files)
    assert account.runs == 1
    accuracy = rows.filter(metric="eval_accuracy")
    assert accuracy["value"].to_list() == VALUES
    assert accuracy["seconds"].to_list() == [10.0, 20.0, 130.0]


def test_event_files_of_another_run_are_a_run(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "out/trainer_state.json": state(VALUES, STEPS),
        f"out/runs/a/{NAME.format(BEGUN)}": events([0.4, 0.6, 0.7], STEPS),
    }
    rows, account = read(tmp_path / "logs", files)
    assert account.runs == 2
    assert rows.filter(dialect="hf-trainer")["seconds"].null_count() == 6
