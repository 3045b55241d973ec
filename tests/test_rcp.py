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
from tests.made_curves import evaluation, frame
from tests.questions import Questions, accepted_answers
from tests.test_accepted_judgements import attempt
from ttastats import api
from ttastats.answers.rcp import convergence_rules
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.cli import app
from ttastats.ingestion.account import Account
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
            assert ours == [tuple(point[name] for name in names) for point in theirs.values()]
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
            write_bert_log(tmp_path / f"result_{number}.txt", value, size, ends)
        bypass = bool(rng.random() < 0.3)
        theirs = official.check_directory(
            str(tmp_path), "training", "5.0.0", False, False,
            rcp_file=io.StringIO(json.dumps(records)), rcp_pass="pruned_rcps", rcp_bypass=bypass,
        )  # fmt: skip
        library = convergence_rules.library(tmp_path)
        rules = convergence_rules.rules("bert", "5.0.0", 10)
        ours = convergence_rules.check(
            [round(value, 3) for value in values[failed:]],
            failed,
            size,
            convergence_rules.points(library("mlperf", "5.0.0")["bert"], rules),
            rules,
            bypass=bypass,
        )
        assert (ours.passed, pytest.approx(ours.factor)) == (theirs[0], theirs[2])
        assert theirs[1].startswith(ours.reason)
        assert ours.bypassed == theirs[1].endswith("rcp_bypass")

    @pytest.mark.parametrize(
        ("ruleset", "batch_size"),
        [("3.1.0", 448), ("3.1.0", 700), ("4.0.0", 2048), ("4.1.0", 448), ("5.0.0", 700),
         ("5.0.0", 2048)],
    )  # fmt: skip
    def test_stable_diffusion_is_counted_as_in_its_round(
        self, official: Any, ruleset: str, batch_size: int, tmp_path: Path
    ) -> None:
        known = convergence_rules.library()("mlperf", ruleset)["stable_diffusion"]
        mean = float(np.interp(batch_size, *zip(*(
            (p.batch_size, np.mean(p.values)) for p in known), strict=True)))  # fmt: skip
        interval = mean / 8
        folder = tmp_path / f"v{ruleset[:3]}/Org/results/box/stable_diffusion"
        stops = [7, 7, 8, 7, 8, 8, 7, 8, 8, 8]
        for number, stop in enumerate(stops):
            met = stop - (number in (3, 4))  # these trained on after they met the targets
            write_diffusion_log(folder, number, batch_size, ruleset, interval, met, stop)
        theirs = official.check_directory(
            str(folder), "training", ruleset, False, False, rcp_pass="pruned_rcps"
        )
        table = tmp_path / "table.parquet"
        result = CliRunner().invoke(app, ["ingest", str(tmp_path), "-o", str(table)])
        assert result.exit_code == 0, result.output
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
        ours = api.rcp(ingested_round("v5.0").output, draws=100)
        rows = {f"{row['submitter']}/{row['system']}/{row['benchmark']}": row for row in ours.rows}
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


def write_log(path: Path, events: Sequence[tuple[str, Any, int, dict[str, Any]]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("key", "value", "time_ms", "metadata")
    lines = (json.dumps(dict(zip(names, event, strict=True))) for event in events)
    path.write_text("".join(f":::MLLOG {line}\n" for line in lines))


def write_bert_log(path: Path, epochs: float, batch_size: int, status: str) -> None:
    events: list[tuple[str, Any, int, dict[str, Any]]] = [
        ("submission_benchmark", "bert", 0, {}),
        ("global_batch_size", batch_size, 0, {}),
        ("eval_accuracy", 0.73, 0, {"epoch_num": epochs}),
        ("run_stop", None, 0, {"status": status}),
    ]
    write_log(path, events)


def write_diffusion_log(
    folder: Path, number: int, batch_size: int, ruleset: str, interval: float, met: int, stop: int
) -> None:
    """Write the log of a run of stable_diffusion, evaluated after its end, the last one first.

    `met` and `stop` number the checkpoints that met the targets and ended the run, from 1.
    """
    count = "step_num" if ruleset == "3.1.0" else "samples_count"
    zero = 1_696_556_568_000
    end = zero + stop * 20_000 + number

    def evaluated(checkpoint: int, fid: float, time: int) -> list[tuple[str, Any, int, Any]]:
        at = {count: round(checkpoint * interval)}
        values = (("FID", fid), ("CLIP", 0.17))
        return [("eval_accuracy", value, time, at | {"metric": name}) for name, value in values]

    events: list[tuple[str, Any, int, dict[str, Any]]] = [
        ("submission_benchmark", "stable_diffusion", zero, {}),
        ("submission_division", "closed", zero, {}),
        ("global_batch_size", batch_size, zero, {}),
        ("run_start", None, zero, {}),
    ]
    for checkpoint in range(10, 0, -1):
        fid = (85.0 if checkpoint >= met else 120.0) + number / 10
        events += evaluated(checkpoint, fid, zero + 9_000_000 - checkpoint)
    events += [*evaluated(stop, 85.0, end), ("run_stop", None, end, {"status": "success"})]
    write_log(folder / f"result_{number}.txt", events)


#: What the official checker looks at; the other lines of a log cost it minutes.
_LOOKED_AT = (
    b"global_batch_size", b"submission_benchmark", b"eval_accuracy", b"eval_error", b"run_stop",
)  # fmt: skip


def needed_lines(folder: Path, copy: Path) -> None:
    copy.mkdir()
    for log in folder.glob("result_*.txt"):
        lines = log.read_bytes().split(b"\n")
        chosen = [
            line[line.index(b":::MLLOG ") :]
            for line in lines
            if b":::MLLOG " in line and any(word in line for word in _LOOKED_AT)
        ]
        (copy / log.name).write_bytes(b"\n".join(chosen) + b"\n")


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
                points = attempt(convergence_rules.library(Path(folder)), "mlperf", ruleset)
                yield f"{name}, {ruleset}: {as_json(points)}".replace(folder, "FOLDER")
            for file in (*files, "nowhere"):
                points = attempt(convergence_rules.library(Path(folder, file)), "mlperf", "5.0.0")
                yield f"{name}, {file}: {as_json(points)}".replace(folder, "FOLDER")
    for round_ in ("v5.0", "v10.1", "5.0.1", "v5", None, "mine"):
        yield [round_, convergence_rules.ruleset_of(round_)]


@cases("pieces", of_folders=of_folders)
def test_records_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_without_the_package_the_install_command_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence_rules.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(TtastatsError, match="pip install 'mlperf-logging") as caught:
        convergence_rules.library()("mlperf", "5.0.0")
    assert "--records FOLDER" in str(caught.value)


# ------------------------------------------------------------------------------------------ answers

#: Records of llama2_70b_lora: at 8 as published for v5.0, at 16 and 64 made up.
RECORDS = {
    f"lora_{size}": {"Benchmark": "llama2_70b_lora", "BS": size, "samples to converge": samples}
    for size, samples in (
        (8, [2688] * 3 + [3072] * 9 + [3456] * 7 + [3840]),
        (16, [3840] * 18 + [4224] * 2),
        (64, [7680] * 10 + [8064] * 10),
    )
}


def lora(samples: float, batch_size: int | None = 8, **more: Any) -> Run:
    """Return a run that reaches its target after so many samples, evaluated every 384."""
    aim = {"metric": "eval_loss", "step": None, "epoch": None, "target_value": 0.925}
    evaluations = tuple(
        evaluation(number, value, seconds=at / 10, samples=int(at), **aim)
        for number, (at, value) in enumerate(((samples - 384, 0.93), (samples, 0.92)))
    )
    kind = {"suite": "mlperf", "round": "v5.0", "benchmark": "llama2_70b_lora"}
    names = {"submitter": "Example", "system": "box", "entry": "Example/box"}
    setup = {"division": "closed", "global_batch_size": batch_size}
    ends = {"run_status": "success", "run_seconds": samples / 10, "evaluations": evaluations}
    return Run(**(kind | names | setup | ends | more))


#: An entry of v5.0 (eight MI325X).
EIGHT = [lora(2688)] * 2 + [lora(3072)] * 8


def rcp(runs: Sequence[Run], content: Mapping[str, Any] = RECORDS, **more: Any) -> Report:
    """Return the answer about runs with these records, which are written to a folder."""
    with TemporaryDirectory() as folder:
        name = more.pop("named", runs[0].benchmark)
        Path(folder, f"rcps_{name}.json").write_text(json.dumps(content))
        return api.rcp(frame(*runs), records=folder, **({"draws": 2000} | more))


def reference(values: Sequence[float], size: int = 8, name: str = "samples") -> Mapping[str, Any]:
    """Return one record, of runs that needed these values."""
    return {"a": {"Benchmark": "x", "BS": size, f"{name} to converge": list(values)}}


def named(name: str, *samples: int, size: int | None = 8, **more: Any) -> list[Run]:
    return [lora(n, size, **{"entry": f"Example/{name}", "system": name} | more) for n in samples]


def aborted(number: int) -> list[Run]:
    return [lora(6144, run_status="aborted")] * number


def replaced(**changed: Any) -> Run:
    """Return a run with one evaluation, some of whose fields are replaced."""
    return lora(3072, evaluations=(msgspec.structs.replace(lora(3072).evaluations[-1], **changed),))


def published(factor: float) -> Report:
    return rcp([msgspec.structs.replace(run, scaling_factor=factor) for run in EIGHT])


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
    "a real entry": lambda: rcp(EIGHT),
    "error rates are those of the seed": lambda: rcp(EIGHT, seed=2),
    "interpolated between two records": lambda: rcp(
        [lora(n, 40) for n in (5292, 5880, 5880, 6468)]
    ),
    "a record that the official check leaves out": lambda: rcp([lora(7680, 32)] * 10, BENT),
    "below the smallest record it is the smallest": lambda: rcp([lora(3072, 4)] * 10),
    "runs that all stop alike keep an interval": lambda: rcp([lora(3072)] * 3),
    "a failed run costs what it trained": lambda: rcp([*EIGHT[:9], *aborted(1)]),
    "too many failed": lambda: rcp([*EIGHT[:8], *aborted(2)]),
    "none reached": lambda: rcp([*aborted(3), *OTHER]),
    "below the limit": lambda: rcp([lora(2304)] * 10),
    "by bypass": lambda: rcp([lora(2304)] * 10, bypass=True),
    "of the open division": lambda: rcp([lora(3072, division="open")] * 10),
    "of one run": lambda: rcp(EIGHT[:1]),
    "between the only two records": lambda: rcp([lora(5376, 40), lora(5760, 40)], TWO),
    "one evaluation a run": lambda: rcp([replaced()] * 4, reference([3072] * 6)),
    "one evaluation a run, of two lengths": lambda: rcp(
        [replaced(), replaced(samples=3456)] * 2, reference([3072] * 6)
    ),
    "one evaluation a run of the entry": lambda: rcp([replaced()] * 4),
    "between a record of one run and others": lambda: rcp(
        [lora(5376, 40), lora(5760, 40)], {**TWO, **RECORDS, **reference([5000], 32)}
    ),
    **{
        f"of batch size {size}": lambda size=size: rcp([*[lora(3072, size)] * 3, *OTHER])  # type: ignore[misc]
        for size in (None, 0, -5)
    },
    "of two batch sizes": lambda: rcp([*EIGHT[:9], lora(3072, 16), *OTHER]),
    "beside one of another": lambda: rcp([*EIGHT, *named("other", 3072, size=16)]),
    "above the largest record": lambda: rcp([*EIGHT, *named("big", 9984, size=128)]),
    "nothing but that": lambda: rcp([lora(9984, 128)]),
    "a benchmark without records": lambda: rcp(
        [*EIGHT, *named("other", 3072, 3072, benchmark="bert")]
    ),
    "two benchmarks are no entry": lambda: rcp(
        [*EIGHT, lora(3072, benchmark="bert")], by=["system"]
    ),
    "samples not told": lambda: rcp([*EIGHT[:9], replaced(samples=None)]),
    **{
        f"of {samples}": lambda samples=samples: rcp([lora(count) for count in samples])  # type: ignore[misc]
        for samples in (
            (3072,) * 4 + (3456,) * 3, (3840,) * 9 + (3456,), (2688, 2688, 2688) * 3,
            (2688, 3072, 3456) * 3, (3456, 3840, 3840) * 3,
        )
    },
    "a little earlier": lambda: rcp(
        [lora(n) for n in (3000, 3005, 3010, 3020)], reference([3090, 3100, 3102] * 6)
    ),
    "of another grid": lambda: rcp(EIGHT, reference([3000, 3048, 3096] * 5)),
    "in tokens": lambda: rcp(GPT3, reference([1.2e9, 1.25e9] * 3, 1536, "Epochs")),
    "by the name of its round": lambda: rcp(
        RGAT, reference([0.8, 0.85] * 10, name="Epochs"), named="gnn"
    ),
    "epochs that are samples": lambda: rcp(UNET, reference([300_000] * 80, name="Epochs")),
    **{
        f"in another unit, by {times}": lambda times=times: rcp(  # type: ignore[misc]
            EIGHT, reference([number / times for number in (2900, 2950, 3000, 3050)])
        )
        for times in (1000, 30, 1 / 30)
    },
    "published as it is": lambda: published(rcp(EIGHT).rows[0]["official_factor"]),
    "published as another": lambda: published(1.2),
    "scaled without a difference": lambda: rcp([*EIGHT, *SLOW, *LIKE]),
    "slower alone": lambda: rcp(SLOW),
    **{
        f"by ruleset {written}": lambda written=written: rcp(SLOW, ruleset=written)  # type: ignore[misc]
        for written in ("5.0", "v5.0", "5", "new", "5.0.0.0")
    },
    **{
        f"an evaluation early under {ruleset}": lambda ruleset=ruleset: rcp(  # type: ignore[misc]
            LLAMA, reference([322_560] * 6, 1152), ruleset=ruleset
        )
        for ruleset in ("5.0.0", "6.0.0")
    },
}  # fmt: skip


@accepted_answers("rcp", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_entries_are_held_against_references_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_an_entry_is_named_where_submitter_and_system_do_not_tell_it() -> None:
    def is_named(*entries: tuple[str | None, str, str]) -> bool:
        names = ("submitter", "system", "entry")
        runs = [lora(3072, **dict(zip(names, entry, strict=True))) for entry in entries]
        (table,) = rcp(runs, by=names).tables
        return any("x/1" in str(row.cells) for row in table.rows)

    assert not is_named(("x", "one", "x/1"), ("x", "two", "x/2"))
    assert is_named(("x", "one", "x/1"), ("x", "one", "x/2"))
    assert is_named((None, "one", "x/1"), (None, "two", "x/2"))


def test_the_answer_looks_as_accepted() -> None:
    failed = named("mid", 6144, size=40, run_status="aborted")
    mid, big = named("mid", 5376, 5760, 6144, size=40), named("big", 9984, 9984, size=128)
    answer = rcp([*EIGHT, *mid, *failed, *big])
    assert matches_accepted(ROOT / "tests/reference/answers/rcp.txt", f"{answer}\n")


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path: Path) -> Callable[..., Any]:
        """Return a function that runs the command on runs with the records."""
        (tmp_path / "rcps_llama2_70b_lora.json").write_text(json.dumps(RECORDS))

        def run(runs: Sequence[Run], *words: str) -> Any:
            path = tmp_path / "runs.parquet"
            stored.write(frame(*runs), path)
            records = ["--records", str(tmp_path), "--draws", "100"]
            return CliRunner().invoke(app, ["rcp", str(path), *records, *words])

        return run

    def test_the_keys_of_json_are_there(self, run: Callable[..., Any]) -> None:
        result = run(EIGHT, "-f", "json")
        assert result.exit_code == 0
        (row,) = json.loads(result.stdout)["rows"]
        keys = "benchmark entry batch_size ratio low high official_verdict official_factor"
        assert all(row[name] is not None for name in (*keys.split(), "n", "reference_n"))

    def test_an_entry_without_a_reference_makes_exit_code_1(self, run: Callable[..., Any]) -> None:
        result = run([*EIGHT, *named("big", 9984, size=128)])
        assert result.exit_code == 1
        assert "no reference" in result.stdout

    def test_verbose_shows_what_is_behind_each_verdict(self, run: Callable[..., Any]) -> None:
        many = [run for n in range(13) for run in named(str(n), 2688, 2688, 3072)]
        short, long = run(many).stdout, run(many, "-v").stdout
        for text in ("error rates  the", "   verdict  "):
            assert text not in short
            assert long.count(text) == 13
        assert run(many[3:]).stdout.count("   verdict  ") == 12
