"""What lies beside a log, and where the log lies, is read as was accepted: both are random here.

A run may be told by several files, in folders of several forms; of each file it is told what it
says, so that one and the same run is told once.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests import made_stores as stores
from tests.accepted import Case, at_random, cases
from tests.test_random_logs import told
from tests.test_random_rounds import SYSTEMS
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry

Files = dict[str, bytes]


def session(draw: random.Random, first: int, clock: float, *, timed: bool) -> bytes:
    """Return a session of a run: its rows from a step on, by a clock of its own or going on."""
    config = {"lr": 0.1, "seed": 3} if draw.random() < 0.7 else {}
    group = {"group": "g"} if draw.random() < 0.5 else {}
    begun = draw.choice([0, 1_700_000_000])
    records = [stores.run_record("abc", draw.choice(["proj", ""]), config, begun, 0, **group)]
    for step in range(first, first + draw.randrange(1, 4)):
        row: dict[str, Any] = {
            "_step": step,
            "val/acc": 0.1 * step,
            "_timestamp": 1_700_000_009.0 + step,
        }
        if timed and draw.random() < 0.9:
            row["_runtime"] = clock + 2.5 * (step - first + 1)
        if draw.random() < 0.1:
            del row["_step"]
        row |= draw.choice([{}, {"epoch": step, "trainer/global_step": 10 * step}])
        records.append(stores.history(row))
    if draw.random() < 0.5:
        end = {"_step": first + 2, "_runtime": clock + 9, "val/acc": 0.7}
        records.append(stores.summary_record(end | draw.choice([{}, {"_wandb": {"runtime": 30}}])))
    if draw.random() < 0.6:
        records.append(stores.exit_record(draw.choice([0, 1]), draw.choice([8, 40])))
    if draw.random() < 0.3:  # of a kind that tells nothing here, and one of no run
        records.insert(draw.randrange(len(records)), stores.field(7, stores.field(1, 3)))
    return stores.wandb_store(records)


def sessions(draw: random.Random) -> Files:
    """Return the folders of the sessions of a run, and of another run."""
    files: Files = {}
    timed, goes_on = draw.random() < 0.8, draw.random() < 0.5
    first = 1
    for number in range(draw.choice([1, 2, 2, 3])):
        name = draw.choice(["run", "run", "offline-run"])
        folder = f"/w/wandb/{name}-2024010{number + 1}_100000-abc"
        clock = 7.5 * number if goes_on else 0.0
        store = session(draw, first, clock, timed=timed)
        if number == 0 or draw.random() < 0.8:
            files[f"{folder}/run-abc.wandb"] = store
        files[f"{folder}/files/requirements.txt"] = b"wandb"
        last = {"_step": draw.choice([1, 9]), "_runtime": 50.0, "val/acc": 0.9}
        if draw.random() < 0.4:
            files[f"{folder}/files/wandb-summary.json"] = json.dumps(last).encode()
        if draw.random() < 0.4:
            files[f"{folder}/files/config.yaml"] = (
                b"wandb_version: 1\nlr:\n  value: 0.2\nplain: 3\n"
            )
        first += draw.choice([1, 2, 3])
    files["/w/wandb/run-20240101_100000-other/run-other.wandb"] = session(draw, 1, 0.0, timed=True)
    alone = json.dumps({"_step": 4, "_runtime": 20.5, "val": {"acc": 0.5}}).encode()
    files["/w/wandb/run-20240105_100000-alone/files/wandb-summary.json"] = draw.choice(
        [alone, b"["]
    )
    old = b'{"_step": 1, "val/acc": 0.5, "_timestamp": 1700000100}\n\nno JSON\n{}\n'
    old += b'{"_step": 2, "f1": 1}'
    files["/w/wandb/run-20190101_100000-old/wandb-history.jsonl"] = draw.choice(
        [old, b"\xef\xbb\xbf" + old]
    )
    if draw.random() < 0.5:
        files["/w/wandb/run-20190101_100000-old/wandb-summary.json"] = alone
    return files


def scalars(draw: random.Random, begun: float, first: int) -> bytes:
    data = stores.first_event(begun) if draw.random() < 0.9 else b""
    for number in range(draw.randrange(1, 4)):
        values = draw.choice([{"epoch_accuracy": 0.5}, {"acc": 0.7, "epoch": 2.0}, {"loss": 1.0}])
        data += stores.scalar(begun + 2.0 * number, first + 10 * number, **values)
    return data + (stores.hparams(begun) if draw.random() < 0.1 else b"")


def halves(draw: random.Random) -> Files:
    """Return event files in folders side by side: halves of a run, or separate runs."""
    files: Files = {}
    for folder in draw.sample(["", "train/", "validation/", "Val/", "test/", "other/"], 3):
        for number in range(draw.choice([1, 1, 2])):
            name = draw.choice(["events.out.tfevents.17000{}0000.host", "events.out.tfevents.{}"])
            place = f"/t/run/{folder}{name.format(draw.randrange(10))}"
            files[place] = scalars(draw, 1.7e9 + 50 * number, draw.choice([0, 10, 20]))
    if draw.random() < 0.3:
        files["/t/run/17000.5/events.out.tfevents.1700000000.host"] = stores.first_event(
            1.7e9
        ) + stores.hparams(1.7e9)
    if draw.random() < 0.3:
        files["/t/run/train/my.tfevents.old"] = b"none at all"
    return files


RESULT = b"".join(
    b':::MLLOG {"time_ms": %d, "key": "%s", "value": %s, "metadata": {%s}}\n' % one
    for one in (
        (1_000, b"submission_benchmark", b'"resnet"', b""),
        (2_000, b"run_start", b"null", b""),
        (9_000, b"eval_accuracy", b"0.76", b'"epoch_num": 4'),
        (9_500, b"run_stop", b"null", b'"status": "success"'),
    )
)
#: Folders above the results of a round, among them some that have but the name of one.
TOPS = ("training_results_v4.0", "training_results_v5.0", "hpc_results_v1.0", "results", "v0.5.0",
        "training_results_v9.9", "mine", "x/training_results_v4.1/closed",
        "v0.7/results/y")  # fmt: skip


def places(draw: random.Random) -> Files:
    """Return results of a round, and of no round, with what describes them."""
    files: Files = {}
    for _ in range(3):
        top, owner = f"/r/{draw.choice(TOPS)}", draw.choice(["/Lab", "/Lab/entry", ""])
        system = draw.choice(["/results/sys8", "/results", "", "/results/sys8"])
        folder = f"{top}{owner}{system}{draw.choice(['/resnet', '/bert', '/odd', ''])}"
        files[f"{folder}/result_0.txt"] = RESULT
        if draw.random() < 0.5:
            files[f"{top}{owner}/systems/sys8.json"] = draw.choice(SYSTEMS)
        if draw.random() < 0.3:
            files[f"{top}{owner}/results/sys8/entry.json"] = draw.choice(SYSTEMS)
        if draw.random() < 0.3:
            files[f"{folder}/scaling.json"] = b'{"scaling_factor": 1.04}'
        if draw.random() < 0.3:
            files[f"{folder}/power/result_{draw.randrange(3)}/node_0.txt"] = b""
    top = draw.choice([*TOPS[:2], "training_results_v0.6"])
    ended = draw.choice(['{"value": 0.5, "metadata": {"timestamp": 2500.5}}', '{"value": 0.5}'])
    files[f"/r/{top}/Lab/results/sys8/minigo/result_0.txt"] = "".join(
        f":::MLL {time}.5 {key}: {body}\n"
        for time, key, body in (
            (1_000, "submission_benchmark", '{"value": "minigo"}'),
            (1_001, "run_start", '{"value": null}'),
            (1_050, "run_stop", '{"value": null, "metadata": {"status": "aborted"}}'),
            (1_060, "eval_result", ended),
        )
    ).encode()
    return files


def checkpoints(draw: random.Random) -> Files:
    """Return states of a trainer: of a run, of its checkpoints, and of another run."""
    entries = [{"step": 10 * n, "epoch": 0.5 * n, "eval_accuracy": 0.1 * n} for n in range(1, 6)]
    files: Files = {}
    for folder in draw.sample(["", "checkpoint-9/", "checkpoint-30/", "checkpoint-200/",
                               "last-checkpoint/", "other/"], 4):  # fmt: skip
        known = entries[: draw.choice([0, 1, 3, 3, 5])]
        if draw.random() < 0.15:
            known = [{"step": 10, "eval_accuracy": 0.9}]
        done, planned = draw.choice([(50, 50), (50, 60), (50, 0), (1, 1)])
        state = {"log_history": known, "global_step": done, "max_steps": planned}
        text = json.dumps(state).encode()
        files[f"/h/out/{folder}trainer_state.json"] = draw.choice([text] * 9 + [b"{", b"[]"])
    return files


def mlruns(draw: random.Random) -> Files:
    """Return the folder of an MLflow run, whose description may be missing, and files of no run."""
    run = f"/m/mlruns/1/{'0123456789abcdef' * 2}"
    files = {
        f"{run}/meta.yaml": b"run_id: a\nlifecycle_stage: active\nstatus: 3\n"
                            b"start_time: 1700000000000\n",
        f"{run}/metrics/eval/acc": b"1700000001500 0.5 1\n1700000002500 0.7 2\n1700000003500 nan 3",
        f"{run}/params/lr": b"0.1", f"{run}/tags/mlflow.runName": b"named",
        "/m/mlruns/1/meta.yaml": b"name: mine\nexperiment_id: 1\n",
        "/m/mlruns/1/short/metrics/acc": b"1700000001500 0.5",
    }  # fmt: skip
    return {path: data for path, data in files.items() if draw.random() < 0.75}


MAKERS: tuple[tuple[Callable[[random.Random], Files], int], ...] = (
    (sessions, 16), (halves, 20), (places, 16), (checkpoints, 24), (mlruns, 8),
)  # fmt: skip


def read(files: Files, seed: int) -> Iterator[str]:
    """Yield what each of some files tells, with its name; blank if it is of no kind."""
    round_ = None if seed % 4 else "v4.1"
    for path, data in files.items():
        dialect = registry.recognise(data, path)
        if dialect is not None:
            log = log_from_bytes(data, path, files, round=round_)
            for item in dialect.parse(log):
                more = list(item.extra) if isinstance(item, Run) else []
                yield f"{path} {told(item)} {more}"


# -------------------------------------------------------------------------------- what are they?

EVENT = stores.first_event(1.7e9)
HEADS = (
    b'', b'PK\x03\x04timesteps.npy results.npy',
    b"PK\x03\x04" + b" " * 4096 + b"timesteps.npy results.npy", b'timesteps.npy results.npy',
    b'PK\x03\x04timesteps.npy', b'{', b'\n {"author": 1, "framework": 2, "hardware": 3}',
    b'x{"author": 1, "framework": 2, "hardware": 3}', b'{"author": 1, "framework": 2}',
    b'\xef\xbb\xbfepoch\thours\ttop1Accuracy\n', b'epoch\thours', b'epoch hours\n',
    b'hours\tf1Score\n1\t2', b'{"log_history": [], "global_step": 1}',
    b'{"best_metric": null, "log_history": [{"step": 1}]}',
    b'lifecycle_stage: active\nrun_id: x\n', b" " * 9000 + b"lifecycle_stage: active",
    b'artifact_uri: x\n', b'SQLite format 3\x00', b'SQLite format 3', b':::MLLOG {}',
    b'x\n:::MLLOG {}', b" " * 70_000 + b":::MLLOG {}", b':::MLL 1.5 run_start: {}',
    b':::MLPv0.5.0 resnet 1.5 (a.py:7) run_start', b':::MLP', b'#{"t_start": 1.5}\nr,l,t\n',
    b'r,l,t\n1,2,3\n', b'#{"env_id": "x"}\n', EVENT, EVENT[:10],
    b'\x18\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', b':W&B\xe1\xbe\x00', b':W&B', b':W&',
    b':W&C\xe1\xbe\x00', b'{"_step": 1, "_runtime": 2.5}', b'{"_step": 1}\n{"_step": 2}',
    b'a,b\n1,2\n', b'words alone\n',
    b"\nepoch\thours\ttop1Accuracy\n", b'\n\n{"author": 1, "framework": 2, "hardware": 3}',
    b'#{"t', b" " * 1100 + b'#{"t_start": 1.5}', b'#{"x": "' + b"y" * 1100 + b'", "t_start": 1.5}',
)  # fmt: skip
PATHS = (
    "/x/evaluations.npz", "/x/a.npz", "/x/run.tsv", "/x/trainer_state.json", "/x/meta.yaml",
    "/m/0123456789abcdef0123456789abcdef/metrics/acc", "/x/mlflow.db", "/x/result_0.txt",
    "/x/0.monitor.csv", "/x/monitor.csv", "/x/events.out.tfevents.1700000000.host",
    "/x/run-abc.wandb", "/x/files/wandb-summary.json", "/x/wandb-history.jsonl", "/x/a.json",
)  # fmt: skip


def recognised() -> Iterator[str]:
    for head in HEADS:
        kinds: dict[str, list[str]] = {}
        for path in PATHS:
            try:
                found = registry.recognise(head, path)
            except TtastatsError as error:
                kinds.setdefault(error.what, []).append(path)
                continue
            kinds.setdefault(found.name if found else "nothing", []).append(path)
        yield f"{head[:50]!r} {len(head)} {json.dumps(kinds)}"


@cases("random_logs", recognised=recognised, **at_random(MAKERS, read))
def test_logs_in_random_folders_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
