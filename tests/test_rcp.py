"""Reference convergence: the official rules, the records they rest on, and what is answered."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from tests.accepted import Case, as_json, cases
from tests.conftest import ROOT, matches_accepted
from tests.made_curves import frame
from tests.questions import Questions, accepted_answers
from tests.test_accepted_judgements import tried
from tests.test_cli import KEYS
from ttastats import api
from ttastats.answers.rcp import convergence_rules
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Evaluation, Run
from ttastats.cli import app
from ttastats.ingestion.ingest import Account
from ttastats.report.answer import Report
from ttastats.table import store as stored

#: How many records the official pruning leaves of each ruleset.
RULESETS = {
    "1.0.0": 18, "2.1.0": 24, "3.0.0": 32, "4.0.0": 36, "4.1.0": 29, "5.0.0": 26, "5.1.0": 33,
    "6.0.0": 22, "6.1.0": 21,
}  # fmt: skip


class TestAgainstTheOfficialChecker:
    """The official package decides, where it is installed."""

    @pytest.fixture
    def official(self) -> Any:
        return pytest.importorskip(
            "mlperf_logging.rcp_checker.rcp_checker", reason="mlperf-logging is not installed"
        )

    @pytest.mark.parametrize("ruleset", RULESETS)
    def test_every_point_is_the_same(self, official: Any, ruleset: str) -> None:
        number = 0
        for benchmark, records in convergence_rules.library()("mlperf", ruleset).items():
            runs = official.submission_runs["training"].get(benchmark)
            if runs is None:
                continue  # dlrm until 2.1.0: the official checker fails on it
            rules = convergence_rules.rules(benchmark, ruleset, runs)
            theirs = official.RCP_Checker("training", ruleset, benchmark, False).pruned_rcp_data
            names = ("BS", "RCP Mean", "RCP Stdev", "Min Epochs")
            ours = [
                (point.batch_size, point.mean, point.std, point.limit)
                for point in convergence_rules.points(records, rules)
            ]
            assert ours == [tuple(one[name] for name in names) for one in theirs.values()]
            number += len(ours)
        assert number == RULESETS[ruleset]

    @pytest.mark.parametrize("seed", range(15))
    def test_made_up_entries_and_records_end_alike(
        self, official: Any, seed: int, tmp_path: Path
    ) -> None:
        rng = np.random.default_rng(seed)
        records = made_records(rng)
        (tmp_path / "rcps_bert.json").write_text(json.dumps(records))
        values = (rng.integers(90, 140, 10) * float(rng.choice([0.8, 1.0, 1.2]))).tolist()
        failed, size = int(rng.choice([0, 0, 0, 1, 2])), int(rng.integers(1, 70))
        for number, value in enumerate(values):
            ends = "aborted" if number < failed else "success"
            write_log(tmp_path / f"result_{number}.txt", value, size, ends)
        bypass = bool(rng.random() < 0.3)
        theirs = official.check_directory(
            str(tmp_path), "training", "5.0.0", False, False,
            rcp_file=io.StringIO(json.dumps(records)), rcp_pass="pruned_rcps", rcp_bypass=bypass,
        )  # fmt: skip
        library = convergence_rules.library(tmp_path)
        own = convergence_rules.rules("bert", "5.0.0", 10)
        ours = convergence_rules.check(
            [round(value, 3) for value in values[failed:]],
            failed,
            size,
            convergence_rules.points(library("mlperf", "5.0.0")["bert"], own),
            own,
            bypass=bypass,
        )
        assert (ours.passed, pytest.approx(ours.factor)) == (theirs[0], theirs[2])
        assert theirs[1].startswith(ours.reason)
        assert ours.bypassed == theirs[1].endswith("rcp_bypass")

    @pytest.mark.parametrize("ruleset", ["3.1.0", "4.0.0", "4.1.0", "5.0.0"])
    @pytest.mark.parametrize("batch_size", [448, 700, 2048])
    def test_stable_diffusion_is_counted_as_in_its_round(
        self, official: Any, ruleset: str, batch_size: int, tmp_path: Path
    ) -> None:
        known = convergence_rules.library()("mlperf", ruleset)["stable_diffusion"]
        mean = float(np.interp(batch_size, *zip(*(
            (one.batch_size, np.mean(one.values)) for one in known), strict=True)))  # fmt: skip
        interval = mean / 8
        folder = tmp_path / f"v{ruleset[:3]}/Org/results/box/stable_diffusion"
        stops = [7, 7, 8, 7, 8, 8, 7, 8, 8, 8]
        for number, stop in enumerate(stops):
            met = stop - (number in (3, 4))  # these trained on after they met the targets
            diffusion_log(folder, number, batch_size, ruleset, interval, met, stop)
        theirs = official.check_directory(
            str(folder), "training", ruleset, False, False, rcp_pass="pruned_rcps"
        )
        table = tmp_path / "table.parquet"
        done = CliRunner().invoke(app, ["ingest", str(tmp_path), "-o", str(table)])
        assert done.exit_code == 0, done.output
        (ours,) = api.rcp(table, draws=100).rows
        assert ours["unit"] == ("steps" if ruleset == "3.1.0" else "samples")
        assert (ours["official_verdict"] == "passed") == theirs[0]
        assert ours["official_factor"] == pytest.approx(theirs[2], rel=1e-12)
        assert theirs[1].startswith(ours["official_reason"])

    @pytest.mark.real
    def test_entries_of_v5_have_the_official_verdict_and_factor(
        self,
        official: Any,
        real_logs: Path,
        ingested_round: Callable[[str], Account],
        tmp_path: Path,
    ) -> None:
        found = api.rcp(ingested_round("v5.0").output, draws=100)
        rows = {f"{row['submitter']}/{row['system']}/{row['benchmark']}": row for row in found.rows}
        folders = sorted((real_logs / "v5.0").glob("*/results/*/*/"))
        assert len(folders) == len(rows) == 201
        for number, folder in enumerate(folders):
            row = rows[f"{folder.parts[-4]}/{folder.parts[-2]}/{folder.name}"]
            published = folder / "scaling.json"
            scaled = (
                json.loads(published.read_text())["scaling_factor"] if published.exists() else 1
            )
            assert row["official_factor"] == pytest.approx(scaled, rel=1e-9), folder
            if number % 6 and not os.environ.get("TTASTATS_LONG"):
                continue
            copy = tmp_path / f"{folder.parts[-4]}_{folder.parts[-2]}_{folder.name}"
            needed_lines(folder, copy)
            passed, message, factor = official.check_directory(
                str(copy), "training", "5.0.0", False, False, rcp_pass="pruned_rcps"
            )
            assert (row["official_verdict"] == "passed") == passed, folder
            assert message.startswith(row["official_reason"]), folder
            assert row["official_factor"] == pytest.approx(factor, rel=1e-12), folder


def made_records(rng: np.random.Generator) -> dict[str, Any]:
    """Return records at a few batch sizes, some of them bent, some without variance."""
    sizes = sorted(rng.choice(range(4, 65), int(rng.integers(1, 7)), replace=False).tolist())
    return {
        f"bert_{size}": {
            "Benchmark": "bert",
            "BS": size,
            "Hyperparams": {},
            "Epochs to converge": [
                float(100 + size / 4 + value)
                for value in rng.integers(-6, 7, 20) * int(rng.integers(0, 2))
                + int(rng.integers(-9, 10))
            ],
        }
        for size in sizes
    }


def write_log(path: Path, epochs: float, batch_size: int, status: str) -> None:
    events = [
        ("submission_benchmark", "bert", {}),
        ("global_batch_size", batch_size, {}),
        ("eval_accuracy", 0.73, {"epoch_num": epochs}),
        ("run_stop", None, {"status": status}),
    ]
    lines = (json.dumps({"key": k, "value": v, "metadata": m}) for k, v, m in events)
    path.write_text("".join(f":::MLLOG {line}\n" for line in lines))


def diffusion_log(
    folder: Path, number: int, batch_size: int, ruleset: str, interval: float, met: int, stop: int
) -> None:
    """Write the log of a run of stable_diffusion, evaluated after its end, the last one first.

    `met` and `stop` number the checkpoints that met the targets and ended the run, from 1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = "step_num" if ruleset == "3.1.0" else "samples_count"
    zero = 1_696_556_568_000
    events: list[tuple[str, Any, int, dict[str, Any]]] = [
        ("submission_benchmark", "stable_diffusion", zero, {}),
        ("submission_division", "closed", zero, {}),
        ("global_batch_size", batch_size, zero, {}),
        ("run_start", None, zero, {}),
    ]
    for checkpoint in range(10, 0, -1):
        at = {count: round(checkpoint * interval)}
        later = zero + 9_000_000 - checkpoint
        fid = (85.0 if checkpoint >= met else 120.0) + number / 10
        events += [
            ("eval_accuracy", fid, later, at | {"metric": "FID"}),
            ("eval_accuracy", 0.17, later, at | {"metric": "CLIP"}),
        ]
    at, end = {count: round(stop * interval)}, zero + stop * 20_000 + number
    events += [
        ("eval_accuracy", 85.0, end, at | {"metric": "FID"}),
        ("eval_accuracy", 0.17, end, at | {"metric": "CLIP"}),
        ("run_stop", None, end, {"status": "success"}),
    ]
    lines = [
        json.dumps({"key": key, "value": value, "time_ms": time, "metadata": metadata})
        for key, value, time, metadata in events
    ]
    text = "".join(f":::MLLOG {line}\n" for line in lines)
    (folder / f"result_{number}.txt").write_text(text)


#: What the official checker looks at; the other lines of a log cost it minutes.
_LOOKED_AT = (
    b"global_batch_size", b"submission_benchmark", b"eval_accuracy", b"eval_error", b"run_stop",
)  # fmt: skip


def needed_lines(folder: Path, copy: Path) -> None:
    copy.mkdir()
    for log in folder.glob("result_*.txt"):
        lines = log.read_bytes().split(b"\n")
        kept = [
            line[line.index(b":::MLLOG ") :]
            for line in lines
            if b":::MLLOG " in line and any(word in line for word in _LOOKED_AT)
        ]
        (copy / log.name).write_bytes(b"\n".join(kept) + b"\n")


# ------------------------------------------------------------------------------------------ records


X = {"Benchmark": "x", "BS": 16, "Epochs to converge": [2]}
#: What lies in a folder of records, by the names of the files.
FOLDERS: dict[str, dict[str, Any]] = {
    "samples and epochs by batch size": {"rcps_x.json": {
        "b": {"Benchmark": "x", "BS": 16, "samples to converge": [30, 20], "Creator": "n"},
        "a": {"Benchmark": "x", "BS": 8, "Epochs to converge": [2.5]},
    }},
    "the name of the file tells the benchmark": {"rcps_stable_diffusion.json": {"a": X}},
    "a folder of rulesets": {"training_5.0.0/rcps_x.json": {"a": X}},
    "no JSON": {"rcps_x.json": "{"},
    "a list": {"rcps_x.json": "[]"},
    "without a batch size": {"rcps_x.json": {"a": {"Benchmark": "x"}}},
    "without runs": {"rcps_x.json": {"a": {"Benchmark": "x", "BS": 8}}},
    "a run of nothing": {"rcps_x.json": {"a": X | {"Epochs to converge": [0]}}},
    "a batch of nothing": {"rcps_x.json": {"a": X | {"BS": 0}}},
    "no records": {"rcps_x.json": "{}"},
    "no file": {},
}  # fmt: skip


def of_folders() -> Iterator[Any]:
    """Yield the records of folders and of a file, and which ruleset a round has."""
    for name, files in FOLDERS.items():
        with TemporaryDirectory() as folder:
            for file, content in files.items():
                place = Path(folder, file)
                place.parent.mkdir(exist_ok=True)
                place.write_text(content if isinstance(content, str) else json.dumps(content))
            for ruleset in ("5.0.0", "5.1.0"):
                found = tried(convergence_rules.library(Path(folder)), "mlperf", ruleset)
                yield f"{name}, {ruleset}: {as_json(found)}".replace(folder, "FOLDER")
            for file in (*files, "nowhere"):
                found = tried(convergence_rules.library(Path(folder, file)), "mlperf", "5.0.0")
                yield f"{name}, {file}: {as_json(found)}".replace(folder, "FOLDER")
    for round_ in ("v5.0", "v10.1", "5.0.1", "v5", None, "mine"):
        yield [round_, convergence_rules.ruleset_of(round_)]


@cases("pieces", of_folders=of_folders)
def test_records_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence_rules.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(TtastatsError, match="pip install 'mlperf-logging") as caught:
        convergence_rules.library()("mlperf", "5.0.0")
    assert "--records FOLDER" in str(caught.value)


# ------------------------------------------------------------------------------------------ answers

#: Records of llama2_70b_lora: at 8 as published for v5.0, at 16 and 64 made up.
RECORDS = {
    "lora_8": {
        "Benchmark": "llama2_70b_lora",
        "BS": 8,
        "samples to converge": [2688] * 3 + [3072] * 9 + [3456] * 7 + [3840],
    },
    "lora_16": {
        "Benchmark": "llama2_70b_lora",
        "BS": 16,
        "samples to converge": [3840] * 18 + [4224] * 2,
    },
    "lora_64": {
        "Benchmark": "llama2_70b_lora",
        "BS": 64,
        "samples to converge": [7680] * 10 + [8064] * 10,
    },
}


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "rcps_llama2_70b_lora.json").write_text(json.dumps(RECORDS))
    return folder


def lora(samples: float, batch_size: int | None = 8, **more: Any) -> Run:
    """Return a run that reaches its target after so many samples, evaluated every 384."""
    evaluations = tuple(
        Evaluation(
            index=number,
            metric="eval_loss",
            value=value,
            logged_value=value,
            seconds=at / 10,
            samples=int(at),
            higher_is_better=False,
            target_value=0.925,
        )
        for number, (at, value) in enumerate(((samples - 384, 0.93), (samples, 0.92)))
    )
    defaults: dict[str, Any] = {
        "suite": "mlperf",
        "round": "v5.0",
        "benchmark": "llama2_70b_lora",
        "division": "closed",
        "submitter": "Example",
        "system": "box",
        "entry": "Example/box",
        "global_batch_size": batch_size,
        "run_status": "success",
        "run_seconds": samples / 10,
        "evaluations": evaluations,
    }
    return Run(**(defaults | more))


#: An entry of v5.0 (eight MI325X).
EIGHT = [lora(2688)] * 2 + [lora(3072)] * 8


def answered(runs: Sequence[Run], records: Path, **options: Any) -> Report:
    return api.rcp(frame(*runs), records=records, **({"draws": 2000} | options))


def row(runs: Sequence[Run], records: Path, **options: Any) -> Mapping[str, Any]:
    (only,) = answered(runs, records, **options).rows
    return only


def asked(runs: Sequence[Run], content: Mapping[str, Any] = RECORDS, **more: Any) -> Report:
    """Return what is answered of runs with these records, which lie in a folder for as long."""
    benchmark = runs[0].benchmark
    with TemporaryDirectory() as folder:
        Path(folder, f"rcps_{more.pop('named', benchmark)}.json").write_text(json.dumps(content))
        return answered(runs, Path(folder), **more)


def reference(values: Sequence[float], size: int = 8, name: str = "samples") -> Mapping[str, Any]:
    """Return one record, of runs that needed so much."""
    return {"a": {"Benchmark": "x", "BS": size, f"{name} to converge": list(values)}}


def named(name: str, *samples: int, size: int | None = 8, **more: Any) -> list[Run]:
    return [
        lora(one, size, **{"entry": f"Example/{name}", "system": name} | more) for one in samples
    ]


def aborted(number: int) -> list[Run]:
    return [lora(6144, run_status="aborted")] * number


def replaced(**changed: Any) -> Run:
    """Return a run of which one evaluation is told, and that otherwise."""
    return lora(3072, evaluations=(msgspec.structs.replace(lora(3072).evaluations[-1], **changed),))


def published(factor: float) -> Report:
    return asked([msgspec.structs.replace(one, scaling_factor=factor) for one in EIGHT])


#: Another entry, so that one without a reference does not end the answer.
OTHER = named("other", *[3072] * 3)
SLOW, LIKE = named("slow", *[3456] * 10), named("like", 2688, 3072, 3072, 3072, 3840)
GPT3 = [lora(600_000, 1536, benchmark="gpt3", round="v4.0")] * 3
UNET = [lora(n, benchmark="unet3d", round="v3.1") for n in (299_000, 301_000)]
LLAMA = [lora(276_480, 1152, benchmark="llama31_405b")] * 3
RGAT = [
    lora(1, benchmark="rgat", round="v4.0", evaluations=replaced(epoch=epoch).evaluations)
    for epoch in (0.8, 0.85, 0.9)
]
TWO = {name: RECORDS[name] for name in ("lora_16", "lora_64")}
BENT = RECORDS | reference([7680] * 20, 32)

QUESTIONS: Questions = {
    "a real entry": lambda: asked(EIGHT),
    "error rates are those of the seed": lambda: asked(EIGHT, seed=2),
    "interpolated between two records": lambda: asked(
        [lora(n, 40) for n in (5292, 5880, 5880, 6468)]
    ),
    "a record that the official check leaves out": lambda: asked([lora(7680, 32)] * 10, BENT),
    "below the smallest record it is the smallest": lambda: asked([lora(3072, 4)] * 10),
    "runs that all stop alike keep an interval": lambda: asked([lora(3072)] * 3),
    "a failed run costs what it trained": lambda: asked([*EIGHT[:9], *aborted(1)]),
    "too many failed": lambda: asked([*EIGHT[:8], *aborted(2)]),
    "below the limit": lambda: asked([lora(2304)] * 10),
    "by bypass": lambda: asked([lora(2304)] * 10, bypass=True),
    "of the open division": lambda: asked([lora(3072, division="open")] * 10),
    "of one run": lambda: asked(EIGHT[:1]),
    "between the only two records": lambda: asked([lora(5376, 40), lora(5760, 40)], TWO),
    "one evaluation a run": lambda: asked([replaced()] * 4, reference([3072] * 6)),
    **{
        f"of batch size {size}": lambda size=size: asked([*[lora(3072, size)] * 3, *OTHER])  # type: ignore[misc]
        for size in (None, 0, -5)
    },
    "of two batch sizes": lambda: asked([*EIGHT[:9], lora(3072, 16), *OTHER]),
    "beside one of another": lambda: asked([*EIGHT, *named("other", 3072, size=16)]),
    "above the largest record": lambda: asked([*EIGHT, *named("big", 9984, size=128)]),
    "nothing but that": lambda: asked([lora(9984, 128)]),
    "a benchmark without records": lambda: asked(
        [*EIGHT, *named("other", 3072, 3072, benchmark="bert")]
    ),
    "two benchmarks are no entry": lambda: asked(
        [*EIGHT, lora(3072, benchmark="bert")], by=["system"]
    ),
    "samples not told": lambda: asked([*EIGHT[:9], replaced(samples=None)]),
    **{
        f"of {samples}": lambda samples=samples: asked([lora(one) for one in samples])  # type: ignore[misc]
        for samples in (
            (3072,) * 4 + (3456,) * 3, (3840,) * 9 + (3456,), (2688, 2688, 2688) * 3,
            (2688, 3072, 3456) * 3, (3456, 3840, 3840) * 3,
        )
    },
    "of another grid": lambda: asked(EIGHT, reference([3000, 3048, 3096] * 5)),
    "in tokens": lambda: asked(GPT3, reference([1.2e9, 1.25e9] * 3, 1536, "Epochs")),
    "by the name of its round": lambda: asked(
        RGAT, reference([0.8, 0.85] * 10, name="Epochs"), named="gnn"
    ),
    "epochs that are samples": lambda: asked(UNET, reference([300_000] * 80, name="Epochs")),
    **{
        f"in another unit, by {times}": lambda times=times: asked(  # type: ignore[misc]
            EIGHT, reference([one / times for one in (2900, 2950, 3000, 3050)])
        )
        for times in (1000, 30, 1 / 30)
    },
    "published as it is": lambda: published(asked(EIGHT).rows[0]["official_factor"]),
    "published as another": lambda: published(1.2),
    "scaled without a difference": lambda: asked([*EIGHT, *SLOW, *LIKE]),
    "slower alone": lambda: asked(SLOW),
    **{
        f"an evaluation early under {ruleset}": lambda ruleset=ruleset: asked(  # type: ignore[misc]
            LLAMA, reference([322_560] * 6, 1152), ruleset=ruleset
        )
        for ruleset in ("5.0.0", "6.0.0")
    },
}  # fmt: skip


@accepted_answers("rcp", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_entries_are_held_against_references_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


class TestAnswers:
    def test_the_published_factor_of_stable_diffusion_in_v3_1_counts_steps(
        self, tmp_path: Path
    ) -> None:
        """Factor 1.0424242424242425 is that of NVIDIA, eos_n128, batch size 2048."""
        values = [1750] * 4 + [2000] * 7 + [2250] * 2
        one = {"Benchmark": "sd", "BS": 2048, "Epochs to converge": values}
        (tmp_path / "rcps_stable_diffusion.json").write_text(json.dumps({"sd_ref_2048": one}))
        folder = tmp_path / "v3.1/NVIDIA/results/eos/stable_diffusion"
        for number, stop in enumerate([7] * 5 + [8] * 5):
            diffusion_log(folder, number, 2048, "3.1.0", 250, stop - (number == 3), stop)
        table = tmp_path / "table.parquet"
        CliRunner().invoke(app, ["ingest", str(tmp_path / "v3.1"), "-o", str(table)])
        (found,) = api.rcp(table, records=tmp_path, draws=100).rows
        assert found["official_factor"] == pytest.approx(1.0424242424242425, rel=1e-12)
        assert found["ratio"] == pytest.approx(1850 / np.mean(values))

    def test_a_real_entry_is_as_worked_out_by_hand(self, records: Path) -> None:
        found = row(EIGHT, records)
        assert found["ratio"] == pytest.approx(0.940, abs=5e-4)
        assert found["low"] == pytest.approx(0.888, abs=5e-4)
        assert found["high"] == pytest.approx(0.994, abs=5e-4)
        assert (found["verdict"], found["batch_size"], found["unit"]) == ("earlier", 8, "samples")
        assert (found["n"], found["reached"], found["reference_n"]) == (10, 10, 20)
        assert (found["early"], found["reference_early"], found["interval"]) == (2, 3, 384)
        assert (found["official_verdict"], found["official_reason"]) == ("passed", "RCP found")
        assert found["official_factor"] == pytest.approx(1.0511, abs=5e-5)

    def test_an_entry_is_named_where_submitter_and_system_do_not_tell_it(
        self, records: Path
    ) -> None:
        def named(*entries: tuple[str | None, str, str]) -> bool:
            runs = [
                lora(3072, submitter=submitter, system=system, entry=entry)
                for submitter, system, entry in entries
            ]
            (table,) = answered(runs, records, by=("submitter", "system", "entry")).tables
            return any("x/1" in str(row.cells) for row in table.rows)

        assert not named(("x", "one", "x/1"), ("x", "two", "x/2"))
        assert named(("x", "one", "x/1"), ("x", "one", "x/2"))
        assert named((None, "one", "x/1"), (None, "two", "x/2"))

    def test_the_answer_looks_as_accepted(self, records: Path) -> None:
        other = [lora(n, 40, entry="Example/mid", system="mid") for n in (5376, 5760, 6144)]
        big = [lora(9984, 128, entry="Example/big", system="big")] * 2
        failed = lora(6144, 40, entry="Example/mid", system="mid", run_status="aborted")
        found = answered([*EIGHT, *other, failed, *big], records)
        assert matches_accepted(ROOT / "tests/reference/answers/rcp.txt", f"{found}\n")


class TestCommand:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Callable[[Sequence[Run]], str]:
        def written(runs: Sequence[Run]) -> str:
            path = tmp_path / "runs.parquet"
            stored.write(frame(*runs), path)
            return str(path)

        return written

    def run(self, *words: str) -> Any:
        return CliRunner().invoke(app, ["rcp", *words])

    def test_the_keys_of_json_are_there(self, file: Any, records: Path) -> None:
        done = self.run(file(EIGHT), "--records", str(records), "-f", "json", "--draws", "100")
        assert done.exit_code == 0
        (one,) = json.loads(done.stdout)["rows"]
        for name in (*KEYS["rcp"].split(), "n", "reference_n"):
            assert one[name] is not None

    def test_an_entry_without_a_reference_makes_exit_code_1(self, file: Any, records: Path) -> None:
        big = lora(9984, 128, entry="Example/big", system="big")
        done = self.run(file([*EIGHT, big]), "--records", str(records))
        assert done.exit_code == 1
        assert "no reference" in done.stdout

    def test_verbose_shows_what_is_behind_each_verdict(self, file: Any, records: Path) -> None:
        many = [
            lora(one.evaluations[-1].samples or 0, entry=f"Example/{n}", system=str(n))
            for n in range(13)
            for one in EIGHT[:3]
        ]
        path = file(many)
        short = self.run(path, "--records", str(records), "--draws", "100")
        long = self.run(path, "--records", str(records), "--draws", "100", "-v")
        assert "error rates  the" not in short.stdout
        assert long.stdout.count("error rates  the") == 13
        assert long.stdout.count("   verdict  ") == 13
        assert "   verdict  " not in short.stdout

    @pytest.mark.parametrize("written", ["5", "new", "5.0.0.0"])
    def test_a_ruleset_that_is_none_is_refused(self, written: str, file: Any) -> None:
        done = self.run(file(EIGHT), "--ruleset", written)
        assert isinstance(done.exception, TtastatsError)
        assert "is not a ruleset" in str(done.exception)

    @pytest.mark.parametrize("written", ["5.0", "v5.0", "5.0.0"])
    def test_a_ruleset_may_be_written_as_a_round(
        self, written: str, file: Any, records: Path
    ) -> None:
        words = (file(EIGHT), "--records", str(records), "--ruleset", written, "-f", "json")
        (one,) = json.loads(self.run(*words).stdout)["rows"]
        assert one["ruleset"] == "5.0.0"
