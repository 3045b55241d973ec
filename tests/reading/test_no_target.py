"""Does an answer about logs without any target say so, and never that it was missed?"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask
from tests.test_cli import run

#: Words that say of a run that it had a target to reach.
_MISSED = re.compile(
    r"(?i)none of \d|did not reach|not reached|reached the target|\b0/\d|0 reached|failed|\d did"
)


def logs(draw: random.Random, folder: Path) -> tuple[str, float, str]:
    """Write runs of two setups; return the metric, its best value and the sign of its target."""
    metric, best, worst, sign = draw.choice(
        [("val_acc", 0.93, 0.4, ">="), ("eval_loss", 2.125, 9.0, "<="),
         ("val/bleu", 31.5, 2.0, ">="), ("test_wer", 0.0625, 0.9, "<=")]
    )  # fmt: skip
    mark, clock = draw.choice([",", "\t", ";"]), draw.choice(["seconds", "time_min", "elapsed_s"])
    progress = draw.choice(["epoch", "step"])
    for name in ("a", "b"):
        for seed in range(draw.randint(2, 3)):
            end = best if (name, seed) == ("b", 1) else best + (worst - best) * 0.1
            rows = [mark.join([progress, clock, metric])]
            for n in range(1, 6):
                value = worst + (end - worst) * n / 5
                rows.append(mark.join([f"{n}", f"{n * 20 + seed}", f"{value:.6g}"]))
            ending = "tsv" if mark == "\t" else "csv"
            write(folder, {f"{name}/seed{seed}.{ending}": "\n".join(rows) + "\n"})
    return metric, best, sign


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("command", ["summary", "rank", "runs", "variance", "power", "compare"])
def test_an_answer_says_what_there_is_and_how_a_target_is_set(
    command: str, seed: int, tmp_path: Path
) -> None:
    metric, best, sign = logs(random.Random(seed), tmp_path)
    sides = ["--a", "entry=a", "--b", "entry=b"] if command == "compare" else []
    shown = run(command, tmp_path, "--guess", *sides).stdout
    text = " ".join(shown.split())
    assert f"o target given: best {metric} {best:.4g}; add --target '{metric}{sign}...'" in text
    assert not _MISSED.search(text), text
    if command in {"summary", "rank"}:
        assert text.startswith("No target given")


def test_a_comparison_without_a_target_names_the_ends_too(tmp_path: Path) -> None:
    logs(random.Random(1), tmp_path)
    answer = ask("compare", tmp_path / "a", tmp_path / "b", "--guess")
    assert answer.rows[0]["verdict"] == "unavailable"
    assert "--at-end" in answer.text
    gate = run("compare", tmp_path / "a", tmp_path / "b", "--guess", "--fail-on", "slower:2%")
    assert gate.returncode == 3
    assert "cannot be judged (no target given" in gate.stdout


def test_a_page_and_its_plots_say_that_there_is_no_target(tmp_path: Path) -> None:
    logs(random.Random(2), tmp_path / "logs")
    page, plot = tmp_path / "page.html", tmp_path / "plot.svg"
    assert run("report", tmp_path / "logs", "--guess", "-o", page).returncode == 0
    shown = re.sub(r"<script.*?</script>", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert "runs, no target given" in shown
    assert not re.search(r"None of \d|\d/\d reached|\d did not|\d failed", shown)
    drawn = run("plot", "quality-time", tmp_path / "logs", "--guess", "-o", plot)
    assert "no target given. Each line is a run." in drawn.stdout + drawn.stderr
    refused = run("plot", "tta", tmp_path / "logs", "--guess", "-o", plot)
    assert refused.returncode == 2
    assert "no target given" in refused.stderr


def test_targets_of_the_only_metric_need_none(tmp_path: Path) -> None:
    metric, _, _ = logs(random.Random(3), tmp_path)
    assert {row["metric"] for row in ask("targets", tmp_path, "--guess").rows} == {metric}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_target_in_another_unit_is_said_to_be_left_out(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    metric, top = draw.choice(["val_acc", "test_f1", "eval_recall"]), draw.choice([80.0, 97.5])
    for k in range(3):
        write(tmp_path, {f"seed{k}.csv": f"epoch,seconds,{metric}\n1,10,50\n2,20,{top + k:g}\n"})
    block = f'[[logs]]\nfiles = "seed{{seed}}.csv"\nmetric = "{metric} >= 0.9"\n'
    write(tmp_path, {"ttastats.toml": block})
    shown = " ".join(run("summary", tmp_path).stdout.split())
    assert shown.startswith(f"The target was not used: {metric} is as high as")
    assert "0/3" not in shown


def test_a_run_that_crashed_has_failed_even_without_a_target(tmp_path: Path) -> None:
    table = "name,state,seconds,val_acc\na,ok,10,.8\na,ok,11,.9\na,crash,3,.1\n"
    block = '[[logs]]\nfiles = "t.csv"\nnew_run = "row"\nentry = "name"\nmetric = "val_acc"\n'
    write(tmp_path, {"t.csv": table, "ttastats.toml": f'{block}failed = "state = crash"\n'})
    text = ask("summary", tmp_path).text
    assert "1 of 3 runs failed" in text
    assert "no target given: best val_acc 0.9" in text
