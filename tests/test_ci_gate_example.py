"""The workflows of `examples/ci_gate` and the action, with their commands as they are."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import ttastats as tta
from tests.conftest import ROOT
from tests.hosted import Host, jobs, serve_commands

GATE = ROOT / "examples" / "ci_gate" / "time-to-accuracy.yml"
NIGHTLY = GATE.with_name("nightly.yml")
ACTION = ROOT / "action.yml"
MARK = "<!-- ttastats -->"
pytestmark = [
    pytest.mark.skipif(not GATE.exists(), reason="an installed copy has no examples"),
    pytest.mark.skipif(
        shutil.which("bash") is None or shutil.which("jq") is None,
        reason="GitHub runs steps with bash, and its program filters by jq",
    ),
]
#: A training whose log goes to its output; CRASH says which seeds end early, and when.
TRAIN = """
import os, random, sys
from ttastats.recording.run_log import event_line
seed, night = int(sys.argv[2]), int(os.environ.get("NIGHT", "1"))
crash = dict(word.split(":") for word in os.environ.get("CRASH", "").split()).get(str(seed))
if crash == "words":
    print("a warning of a package")
assert crash not in {"start", "words"}
noise = random.Random(str((seed, night, os.environ.get("OTHER")))).uniform(0.97, 1.03)
time = 1.7e12 + 864e5 * night + 1e7 * seed
def say(key, value=None, kind="POINT_IN_TIME", **about):
    print(event_line(kind, time, key, value, about), end="")
say("recorder", "ttastats 0.1")
say("submission_benchmark", os.environ.get("TASK", "digits"))
say("seed", seed + 100 * night)
say("commit", sys.argv[-1])
say("eval_target", 0.9, metric="accuracy", higher_is_better=True)
say("run_start", kind="INTERVAL_START")
for epoch in range(1, 4):
    time += 1e4 * noise * float(os.environ.get("PACE", "1"))
    say("eval_accuracy", 0.31 * epoch, metric="accuracy", epoch_num=epoch)
    assert crash != "late"
say("run_stop", kind="INTERVAL_END", status="success")
"""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with serve_commands(tmp_path_factory.mktemp("server")) as socket:
        yield socket


@pytest.fixture
def host(tmp_path: Path, commands: Path) -> Host:
    return Host(tmp_path / "host", commands)


def workspace(host: Host) -> Path:
    """Return a new checkout with a training."""
    folder = host.folder / f"workspace_{host.run}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return folder


class TestNightly:
    def night(self, host: Host, cancel: str = "", **environment: str) -> str:
        """Let a night pass; return how its job ends."""
        host.run += 1
        host.environment = {"NIGHT": str(host.run), **environment}
        (job,) = jobs(NIGHTLY).values()
        return host.take_steps(job["steps"], workspace(host), cancel=cancel)

    def reached(self, host: Host) -> list[bool]:
        """Return how each run ended of the table that this night has kept."""
        rows = tta.runs(host.artifact("nights") / "nights.parquet").rows
        return sorted(row["reached"] for row in rows)

    def test_the_first_night_begins_the_table(self, host: Host) -> None:
        assert self.night(host) == "success"
        assert self.reached(host) == [True, True]
        assert (
            "changes are looked for from 10 nights on" in (host.folder / "summary.md").read_text()
        )

    def test_no_night_ends_the_nights(self, host: Host) -> None:
        bad: list[tuple[str, dict[str, str], list[bool]]] = [
            ("failure", {"PIP": "1"}, []),
            ("success", {"CRASH": "1:start 2:words"}, [False, False]),
            ("success", {"CRASH": "1:late 2:late"}, [False, False]),
            ("cancelled", {"cancel": "Train with two seeds"}, []),
            (
                "cancelled",
                {"cancel": "Fetch the nights before"},
                [],
            ),
            ("cancelled", {"cancel": "Look for a change"}, []),
        ]
        nights = [("success", {}, [True, True]), *random.Random(1).sample(bad, 6)]
        expected: list[bool] = []
        for end, environment, reached in [*nights, ("success", {}, [True, True])]:
            assert self.night(host, **environment) == end, environment
            expected = sorted([*expected, *reached])
            if end != "cancelled":
                assert self.reached(host) == expected

    def test_a_seed_that_crashes_is_a_failed_run_of_its_night(self, host: Host) -> None:
        for crash, failed in (("late", 1), ("start", 2), ("words", 3)):
            assert self.night(host, CRASH=f"2:{crash}") == "success"
            assert (
                "::warning::seed 2 failed with exit code 1" in host.printed["Train with two seeds"]
            )
            nights = host.artifact("nights") / "nights.parquet"
            (row,) = tta.summary(nights).rows
            assert (row["reached"], row["n"], row["rejected_logs"]) == (failed, 2 * failed, 0)
            (failures,) = (row for row in tta.history(nights).rows if row["part"] == "failures")
            counts = (failures["nights"], failures["n"], failures["reached"])
            assert counts == (failed, 2 * failed, failed)

    def test_a_table_of_others_and_one_that_is_gone_are_passed_over(self, host: Host) -> None:
        assert self.night(host) == "success"
        (own,) = host.read("artifacts")
        late = {"created_at": "2026-12-01T00:00:00Z", "expired": False}
        about = own["workflow_run"]
        host.write(
            "artifacts",
            [
                own | late | {"expired": True, "workflow_run": about | {"id": 77}},
                own | late | {"workflow_run": about | {"id": 78, "head_branch": "mine"}},
                own | late | {"workflow_run": about | {"id": 79, "head_repository_id": 2}},
                own,
            ],
        )
        assert self.night(host) == "success"
        assert self.reached(host) == [True] * 4


class TestGate:
    @pytest.fixture
    def baseline(self, host: Host) -> Path:
        """Return the checkout of a pull request, with a baseline of ten runs."""
        return self.with_baseline(host)

    def with_baseline(self, host: Host, **environment: str) -> Path:
        host.run += 1
        folder = workspace(host)
        host.environment = {"OTHER": "1", **environment}
        steps = {step.get("name"): step for step in jobs(GATE)["gate"]["steps"]}
        chosen = [steps["Train with six seeds"], steps["Read the logs"]]
        assert host.take_steps(chosen, folder) == "success"
        (folder / "branch.parquet").rename(folder / "baseline.parquet")
        shutil.rmtree(folder / "logs")
        return folder

    def judged(self, host: Host, folder: Path, **environment: str) -> str:
        """Run the jobs of a pull request; return how its gate ends."""
        host.run += 1
        host.environment = environment
        gate, comment = jobs(GATE)["gate"], jobs(GATE)["comment"]
        shutil.rmtree(folder / "logs", ignore_errors=True)
        status = host.take_steps(gate["steps"], folder)
        if "Compare with the baseline" in host.printed:
            context = {"github.event.pull_request.number": "7"}
            empty = host.folder / f"comment_{host.run}"
            assert host.take_steps(comment["steps"], empty, context) == "success", host.printed
        return status

    def test_a_slower_branch_fails_with_one_comment_that_is_renewed(
        self, host: Host, baseline: Path
    ) -> None:
        host.write("comments", [{"id": 1, "user": {"type": "User"}, "body": f"{MARK} of a person"}])
        assert self.judged(host, baseline, PACE="1.5") == "failure"
        others = {"id": 3, "user": {"type": "Bot"}, "body": f"Coverage: 80 % {MARK}"}
        host.write("comments", [*host.read("comments"), others])
        assert (
            "failed: digits: this branch is at least" in host.printed["Compare with the baseline"]
        )
        first = host.read("comments")[1]["body"]
        assert first.startswith(MARK)
        assert "**gate --fail-on slower:2%: failed**" in first
        assert self.judged(host, baseline, PACE="1") == "success"
        comments = [comment["body"] for comment in host.read("comments")]
        assert len(comments) == 3
        assert "failed**" not in comments[1]
        assert comments[0].endswith("of a person")
        assert comments[2] == others["body"]

    @pytest.mark.parametrize(
        ("crash", "end", "told"),
        [
            ("3:late", "success", "failed runs: A 0 of 6, B 1 of 6"),
            ("3:start", "success", "failed runs: A 0 of 6, B 1 of 6"),
            ("1:late 2:late 4:start 3:late 5:late 6:late", "failure", "none of 5 runs"),
        ],
    )
    def test_seeds_that_crash_are_failed_runs_of_the_branch(
        self, crash: str, end: str, told: str, host: Host, baseline: Path
    ) -> None:
        assert self.judged(host, baseline, CRASH=crash) == end
        assert told in host.read("comments")[0]["body"]

    def test_a_changed_baseline_fails_until_the_new_one_is_committed(
        self, host: Host, baseline: Path
    ) -> None:
        other = self.with_baseline(host, TASK="letters")
        shutil.copy(other / "baseline.parquet", baseline)
        assert self.judged(host, baseline) == "failure"
        assert "no common" in host.read("comments")[0]["body"]
        kept = host.artifact("time-to-accuracy") / "branch.parquet"
        shutil.copy(kept, baseline / "baseline.parquet")
        assert self.judged(host, baseline, NIGHT="2") == "success"

    def test_nothing_readable_at_all_fails_without_a_comparison(
        self, host: Host, baseline: Path
    ) -> None:
        host.printed.clear()
        crash = " ".join(f"{seed}:start" for seed in range(1, 7))
        assert self.judged(host, baseline, CRASH=crash) == "failure"
        assert "no logs found" in host.printed["Read the logs"]


class TestAction:
    @pytest.fixture
    def judged(self, host: Host, tmp_path: Path) -> Any:
        def judge(baseline: object, logs: object, condition: str = "") -> tuple[str, str]:
            action = yaml.safe_load(ACTION.read_text("utf-8"))
            given = {"baseline": str(baseline), "logs": str(logs), "condition": condition}
            context = {
                f"inputs.{name}": given[name] or about["default"]
                for name, about in action["inputs"].items()
            }
            status = host.take_steps(action["runs"]["steps"], tmp_path, context)
            assert set(host.outputs) == set(action["outputs"])
            for name, about in action["outputs"].items():
                assert about["value"] == f"${{{{ steps.gate.outputs.{name} }}}}"
            assert host.outputs["markdown"] in (host.folder / "summary.md").read_text()
            return status, host.outputs["verdict"]

        return judge

    def test_its_verdict_is_that_of_the_gate(
        self, judged: Any, host: Host, two_systems: Path, tables: Path
    ) -> None:
        slow, fast = tables / "one_gpu.parquet", two_systems / "eight_gpus"
        assert judged(slow, fast) == ("success", "passed")
        assert judged(fast, slow) == ("failure", "failed")
        assert "**gate --fail-on slower:2%: failed**" in host.outputs["markdown"]
        assert judged(fast, slow, "not-slower:2%") == ("failure", "failed")
        assert "--require not-slower:2%" in host.outputs["markdown"]

    def test_what_is_undecided_passes_and_what_cannot_be_compared_fails(
        self, judged: Any, host: Host, two_systems: Path, tmp_path: Path
    ) -> None:
        logs = sorted((two_systems / "one_gpu").rglob("result_*.txt"))
        for number, path in enumerate(logs):
            side = tmp_path / f"side {number % 2}"
            side.mkdir(exist_ok=True)
            shutil.copy(path, side / f"result_{number // 2}.txt")
        sides = tmp_path / "side 0", tmp_path / "side 1"
        assert judged(*sides) == ("success", "undecided")
        (sides[1] / "result_2.txt").write_text("")  # a seed that crashed
        assert judged(*sides)[0] == "success"
        assert judged(*sides, "nonsense:2%") == ("failure", "error")
        assert "nonsense" in host.outputs["markdown"]
        (tmp_path / "other.tsv").write_text("epoch\thours\tf1Score\n1\t0.5\t0.8\n")
        assert judged(tmp_path / "other.tsv", sides[1]) == ("failure", "error")


class TestForm:
    def workflows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in (GATE, NIGHTLY):
            yield from jobs(path).items()

    def test_what_they_use_is_of_one_version(self) -> None:
        for path in (GATE, NIGHTLY, ACTION):
            for line in path.read_text("utf-8").splitlines():
                if "uses:" in line:
                    assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)
                if "pip install ttastats" in line:
                    assert f"ttastats=={tta.__version__} " in line

    def test_no_code_of_a_pull_request_has_a_token_that_writes(self) -> None:
        for name, job in self.workflows():
            checkouts = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
            assert all(step["with"]["persist-credentials"] is False for step in checkouts)
            assert not (checkouts and "write" in job["permissions"].values()), name
        for path in (GATE, NIGHTLY):
            assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {}

    def test_machines_and_jobs_at_once_are_settled(self) -> None:
        for path in (GATE, NIGHTLY):
            assert yaml.safe_load(path.read_text("utf-8"))["concurrency"]
        for name, job in self.workflows():
            timed = any("Train" in step.get("name", "") for step in job["steps"])
            assert ("TIMING_RUNNER" in job["runs-on"]) == timed, name

    @pytest.mark.parametrize("workflow", [GATE, NIGHTLY])
    @pytest.mark.parametrize("machine", ["github-hosted", "self-hosted"])
    def test_a_machine_of_the_host_is_warned_of(
        self, workflow: Path, machine: str, host: Host, tmp_path: Path
    ) -> None:
        host.environment = {"RUNNER_ENVIRONMENT": machine}
        first = next(iter(jobs(workflow).values()))["steps"][:1]
        assert host.take_steps(first, tmp_path) == "success"
        (printed,) = host.printed.values()
        assert ("::warning::" in printed) == (machine == "github-hosted")

    def test_the_page_names_the_conditions_that_the_workflow_uses(self) -> None:
        page = (ROOT / "docs" / "ci_gate.md").read_text("utf-8")
        for text in (page, GATE.read_text("utf-8")):
            assert "--fail-on slower:2%" in text
        assert "examples/ci_gate/time-to-accuracy.yml" in page


def test_the_host_skips_what_follows_a_failure_and_refuses_what_it_does_not_know(
    host: Host, tmp_path: Path
) -> None:
    late = {"name": "c", "if": "${{ !cancelled() }}", "run": "echo $X"}
    steps = [
        {"name": "a", "run": "false\necho never"},
        {"name": "b", "run": "echo skipped"},
        {**late, "env": {"X": "${{ github.ref_name }}"}},
    ]
    assert host.take_steps(steps, tmp_path) == "failure"
    assert host.printed == {"a": "", "c": "main\n"}
    with pytest.raises(KeyError):
        host.take_steps([{"name": "d", "run": "", "env": {"X": "${{ secrets.KEY }}"}}], tmp_path)
