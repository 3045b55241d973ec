"""Logs of kinds that nobody had described: parts, blanks in numbers, durations, prices, stamps."""

from __future__ import annotations

import datetime as dt
import random
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask
from tests.test_cli import run

GUISES = pytest.mark.parametrize("seed", SEEDS)


@GUISES
@pytest.mark.parametrize(
    "parts",
    [("split", "tr", "te"), ("phase", "tr", "va"), ("is_train", "true", "false"),
     ("is_train", "1", "0"), ("val_set", "False", "True"), ("training", "yes", "no")],
)  # fmt: skip
def test_rows_of_training_are_told_by_short_words_and_truths(
    seed: int, parts: tuple[str, str, str], tmp_path: Path
) -> None:
    rng = random.Random(seed)
    column, trains, evaluates = parts
    metric, pace = rng.choice(["acc", "f1", "accuracy"]), rng.choice([20, 300])
    rows = [f"epoch,{column},{metric},seconds"]
    for epoch in range(1, 11):
        rows += [f"{epoch},{trains},{0.4 + epoch / 20},{epoch * pace - 1}",
                 f"{epoch},{evaluates},{0.3 + epoch / 20},{epoch * pace}"]  # fmt: skip
    write(tmp_path, {"logs/x.csv": "\n".join(rows) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", f"{metric}>=0.6").rows
    assert (row["epochs"], row["tta_seconds"]) == (6, 6 * pace)


@GUISES
def test_each_of_several_test_nets_of_caffe_has_its_metrics(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    nets, every = rng.choice([2, 3]), rng.choice([100, 500])
    output = rng.choice(["accuracy", "top5"])
    lines = []
    for number in range(11):
        for net in range(nets):
            stamp = f"I0304 10:{number:02d}:{net:02d}.000001 12345 solver.cpp:"
            value = 0.2 + number / 20 - net / 10
            lines += [f"{stamp}337] Iteration {number * every}, Testing net (#{net})",
                      f"{stamp}404]     Test net output #0: {output} = {value:.4f}"]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    for net in range(nets):
        target = f"net{net}_Test_{output}>=0.4"
        (row,) = ask("runs", tmp_path / "logs", "--target", target).rows
        assert row["steps"] == (4 + 2 * net) * every
    asked = ask("runs", tmp_path / "logs", "--target", f"{output}>=0.4")
    assert f"net1_Test_{output}" in asked.text


@GUISES
@pytest.mark.parametrize("blank", [" ", "\u2009", "\u202f"])
def test_blanks_part_thousands(seed: int, blank: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    every, word = rng.choice([250, 400]), rng.choice(["step", "Iteration", "iter:"])
    counts = [f"{n * every:,}".replace(",", blank) for n in range(1, 13)]
    values = [f"{3 - n / 10:.2f}" for n in range(1, 13)]
    texts = (f"{word} {n} val_loss {v} lr 100" for n, v in zip(counts, values, strict=True))
    cells = (f"{n};{v}" for n, v in zip(counts, values, strict=True))
    write(tmp_path, {"text/x.log": "\n".join(texts) + "\n",
                     "table/x.csv": "\n".join(["step;val_loss", *cells]) + "\n"})  # fmt: skip
    for folder in ("text", "table"):
        (row,) = ask("runs", tmp_path / folder, "--target", "val_loss<=2").rows
        assert row["steps"] == 10 * every


def test_a_number_behind_a_count_is_no_part_of_it(tmp_path: Path) -> None:
    behind = [f"step {n} {900 - 100 * n % 400} val_loss {3 - n / 10:.1f}" for n in range(1, 6)]
    bars = [f"Step {n} 100%|##| val_loss {3 - n / 10:.1f}" for n in range(1, 6)]
    write(tmp_path, {"a/x.log": "\n".join(behind) + "\n", "b/x.log": "\n".join(bars) + "\n"})
    (bar,) = ask("runs", tmp_path / "b", "--target", "val_loss<=2.7").rows
    assert bar["steps"] == 3


def _iso(seconds: int) -> str:
    hours = f"{seconds // 3600}H" if seconds >= 3600 else ""
    return f"PT{hours}{seconds // 60 % 60}M{seconds % 60}S"


def _slurm(seconds: int) -> str:
    days = f"{seconds // 86400}-" if seconds >= 86400 else ""
    return f"{days}{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


@GUISES
@pytest.mark.parametrize("written", [_iso, _slurm])
def test_durations_of_iso_8601_and_of_slurm_are_times(
    seed: int, written: Callable[[int], str], tmp_path: Path
) -> None:
    rng = random.Random(seed)
    pace, name = rng.choice([95, 14_000, 40_007]), rng.choice(["elapsed", "wall_time", "runtime"])
    rows = [(n, 0.4 + n / 20, written(n * pace)) for n in range(1, 11)]
    lines = (f"epoch {n} val_acc {v:.2f} {name} {t}" for n, v, t in rows)
    cells = (f"{n},{v},{t}" for n, v, t in rows)
    write(tmp_path, {"text/x.log": "\n".join(lines) + "\n",
                     "table/x.csv": "\n".join([f"epoch,val_acc,{name}", *cells])})  # fmt: skip
    for folder in ("text", "table"):
        (row,) = ask("runs", tmp_path / folder, "--target", "val_acc>=0.7").rows
        assert row["tta_seconds"] == 6 * pace


@GUISES
def test_a_price_of_an_hour_has_several_names(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name = rng.choice(["usd_per_hour", "price_per_hour", "hourly_price", "$/h", "cost_per_hr"])
    price = rng.choice([1.5, 12.0])
    rows = [f"{n},{n / 10},{n * 360},{price}" for n in range(1, 11)]
    write(tmp_path, {"logs/x.csv": "\n".join([f"epoch,val_acc,seconds,{name}", *rows]) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--target", "val_acc>=0.5")
    assert answer.rows[0]["cost"] == pytest.approx(0.5 * price)


@GUISES
def test_times_of_steps_are_added_up_if_each_step_tells_its_own(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name = rng.choice(["step_time", "time_per_step", "iter_time"])
    times = [round(rng.uniform(0.2, 0.9), 3) for _ in range(60)]
    every = rng.choice([1, 5])
    rows = [f"{n},{3 - n / 50 if n % every == 0 else ''},{times[n - 1]}" for n in range(1, 61)]
    head = f"step,val_loss,{name}"
    write(tmp_path, {"logs/x.csv": "\n".join([head, *rows]) + "\n",
                     "late/x.csv": "\n".join([head, *rows[4::5]]) + "\n"})  # fmt: skip
    (row,) = ask("runs", tmp_path / "logs", "--target", "val_loss<=2.4").rows
    assert row["tta_seconds"] == pytest.approx(sum(times[:30]))
    asked = ask("runs", tmp_path / "late", "--target", "val_loss<=2.4")
    assert (asked.code, f"{name} s of step" in asked.text) == (2, True)


@GUISES
def test_a_metric_that_the_question_names_is_read(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    named, mark = rng.choice([("ndcg@10", " : "), ("mean_r", " "), ("q/len", "=")])
    direction = rng.choice([">=", "<="]) if named == "q/len" else ">="
    value = [n / 10 if direction == ">=" else 1 - n / 10 for n in range(1, 9)]
    lines = [
        line for n, v in enumerate(value, start=1)
        for line in (f"step {n * 10}, valid_score: 0.{n}", f"{named}{mark}{v:.2f}   kl 0.0{n}")
    ]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    for metric, target in (("valid_score", ">=0.5"), (named, f"{direction}0.5")):
        (row,) = ask("runs", tmp_path / "logs", "--target", f"{metric}{target}").rows
        assert row["steps"] == 50
        assert row["target_metric"] == metric


def test_qualities_that_are_told_as_often_as_an_evaluation_are_offered(tmp_path: Path) -> None:
    lines = [f"step {n} valid_score: 0.{n}\nrecall@20 : 0.{n}1   mrr : 0.{n}2" for n in range(1, 9)]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    text = ask("runs", tmp_path / "logs", "--target", "nothing>=1").text
    assert all(name in text for name in ("valid_score", "recall_20", "mrr"))


@GUISES
@pytest.mark.parametrize(
    "form",
    ["%a %d %b %Y %H:%M:%S", "[%m/%d %H:%M:%S]", "%a %b %e %H:%M:%S %Y", "%d/%m/%Y %H:%M:%S,%f",
     "INFO %Y.%m.%d-%H:%M:%S", "%b %e %H:%M:%S"],
)  # fmt: skip
def test_stamps_of_many_forms_are_the_clock(seed: int, form: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    pace, start = rng.choice([61, 7201]), dt.datetime(2023, 3, rng.choice([6, 27]), 22, 10)
    stamps = [(start + dt.timedelta(seconds=pace * n)).strftime(form) for n in range(11)]
    lines = [f"{stamps[0]} - start"]
    lines += [f"{stamps[n]} - epoch {n} val_acc {n / 10}" for n in range(1, 11)]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", "val_acc>=0.6").rows
    assert row["tta_seconds"] == pytest.approx(6 * pace, rel=0.01)


@GUISES
def test_epochs_from_0_are_counted_if_training_comes_before_the_first(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    train = rng.choice(["Train Epoch: {} loss {}", "epoch {} train loss: {}", "epoch {} loss={}"])
    before, behind = [], []
    for n in range(8):
        training, evaluation = train.format(n, 3 - n / 10), f"Epoch {n} val_acc 0.{n + 1}"
        before += [training, evaluation]
        behind += [evaluation, training.replace(f" {n} ", f" {n + 1} ")]
    write(tmp_path, {"trained/x.log": "\n".join(before) + "\n",
                     "untrained/x.log": "\n".join(behind) + "\n"})  # fmt: skip
    (row,) = ask("runs", tmp_path / "trained", "--target", "val_acc>=0.5").rows
    assert row["epochs"] == 5
    assert ask("runs", tmp_path / "untrained", "--target", "val_acc>=0.5").code == 2


@GUISES
def test_the_training_of_an_epoch_tells_its_time_on_a_line_of_its_own(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    pace, test = rng.choice([31.5, 400.0]), rng.choice([3.3, 12.0])
    lines = []
    for n in range(1, 11):
        lines += [f"epoch {n} training [time: {pace + n / 100:.2f}s, train loss: {3 - n / 10}]",
                  f"epoch {n} evaluating [time: {test}s, valid_score: {n / 10}]"]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--target", "valid_score>=0.5")
    assert answer.rows[0]["tta_seconds"] == pytest.approx(5 * (pace + test), rel=0.01)
    assert "read as the time of each epoch" in answer.text  # believed with a mark


@GUISES
def test_what_falls_or_is_not_whole_counts_nothing(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    steps = [100 - 5 * n if rng.random() < 0.5 else 20.5 + n for n in range(10)]
    lines = [f"Episode: {n}, Avg Reward: {n}.5, Avg Steps: {steps[n]}" for n in range(10)]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", "avg_reward>=6").rows
    assert (row["reached"], row["steps"]) == (True, None)


@GUISES
def test_progress_that_begins_anew_between_evaluations_is_asked_about(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    last, models = rng.choice([200, 1000]), ["GCN", "GAT", "MLP"][: rng.choice([2, 3])]
    lines = []
    for model in models:
        lines += [f"Epoch: {n:03d}, Loss: {2 / (n + 1):.4f}" for n in range(0, last + 1, last // 4)]
        lines += [f"Model: {model}", f"Test Accuracy: 0.{rng.randint(60, 80)}"]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--target", "test_accuracy>=0.1")
    assert answer.code == 2
    assert "epoch decreases" in answer.text


@GUISES
def test_a_table_in_a_text_is_read_by_its_head(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    every = rng.choice([100, 200])
    head, rule = "E    #       LOSS NER  ENTS_F  SCORE ", "---  ------  --------  ------  ------"
    rows = [f"{n // 3:3d}  {n * every:6d}  {900 / (n + 1):8.2f}  {n * 9:6.2f}  {n * 0.09:6.2f}"
            for n in range(10)]  # fmt: skip
    text = ["ℹ Pipeline: ['ner']", "", head, *([rule] * rng.randint(0, 1)), *rows, "✔ Saved"]
    write(tmp_path, {"logs/x.log": "\n".join(text) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", "ents_f>=45").rows
    assert row["steps"] == 5 * every


@GUISES
def test_a_name_within_a_longer_one_is_another_metric(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    short, more = rng.choice([("Accuracy", "FWAV"), ("IoU", "Mean"), ("F1", "Macro")])
    long = f"{more} {short}"
    lines = []
    for n in range(8):
        lines += [f"Train Epoch: {n} Loss: {1 / (n + 1):.3f}", "Start testing",
                  f"    {short}: {50 + n}.5", f"    {long}: {30 + n}.5"]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    for name, first in ((short, 50), (long, 30)):
        target = f"{name.lower().replace(' ', '_')}>={first + 4}"
        (row,) = ask("runs", tmp_path / "logs", "--target", target).rows
        assert row["epochs"] == 5


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_without_a_header_says_how_to_name_its_columns(mark: str, tmp_path: Path) -> None:
    rows = "\n".join(mark.join((f"{n}", f"{n * 60}", f"{3 / n}", "0.1")) for n in range(1, 9))
    write(tmp_path, {"logs/x.csv": f"{rows}\n"})
    answer = ask("runs", tmp_path / "logs", "--target", "val_loss<=1")
    assert answer.code == 2
    assert "the first line contains only numbers" in answer.text
    line = answer.text.partition("--line '")[2].partition("'")[0]
    table = tmp_path / "x.parquet"
    assert run("ingest", tmp_path / "logs", "--line", line, "-o", table).returncode == 0
    (row,) = ask("runs", table, "--target", "val_loss<=1").rows
    assert (row["steps"], row["tta_seconds"]) == (3, 180)


@GUISES
@pytest.mark.parametrize("rule", ["|----|:---:|---:|", "-" * 40, "+====+=====+====+"])
def test_rules_of_tables_in_text_are_no_rows(seed: int, rule: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    metric, first = rng.choice(["Val Acc", "Test F1"]), rng.choice([0.3, 0.5])
    rows = [f"| {n}  | {3 / n:.4f} | {first + n / 50:.4f} |" for n in range(1, 9)]
    text = [f"| Epoch | Train Loss | {metric} |", rule, *rows, rule]
    write(tmp_path, {"logs/x.log": "\n".join(text) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--target", f'"{metric}">={first + 0.1 - 1e-6}')
    assert (answer.code, answer.rows[0]["epochs"]) == (0, 5)


@GUISES
@pytest.mark.parametrize("form", ["table", "text", "rows"])
@pytest.mark.parametrize("at", ["start", "end"])
def test_epochs_from_0_are_counted_where_only_some_are_evaluated(
    seed: int, form: str, at: str, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    every, pace = rng.choice([2, 5, 10]), rng.choice([7, 300])
    remainder = 0 if at == "start" else every - 1
    last = 12 * every
    evaluated = [n for n in range(last) if n % every == remainder]
    if form == "text":
        lines = []
        for n in range(last):
            lines.append(f"epoch {n} loss {3 - n / last:.3f} elapsed {(n + 1) * pace} s")
            lines += [f"epoch {n} val_acc {n / last:.4f}"] * (n in evaluated)
        write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    elif form == "rows":
        rows = [f"{n},{3 - n / last},{n / last if n in evaluated else ''},{(n + 1) * pace}"
                for n in range(last)]  # fmt: skip
        write(tmp_path, {"logs/x.csv": "\n".join(["epoch,loss,val_acc,seconds", *rows]) + "\n"})
    else:
        rows = [f"{n},{n / last},{(n + 1) * pace}" for n in evaluated]
        write(tmp_path, {"logs/x.csv": "\n".join(["epoch,val_acc,seconds", *rows]) + "\n"})
    hit = evaluated[6]
    (row,) = ask("runs", tmp_path / "logs", "--target", f"val_acc>={hit / last - 1e-4:.4f}").rows
    assert (row["epochs"], row["tta_seconds"]) == (hit + 1, (hit + 1) * pace)


@GUISES
def test_whether_epochs_count_from_0_is_asked_if_nothing_else_tells(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    every = rng.choice([3, 5, 10])
    first = rng.choice([0, every - 1])
    lines = [f"epoch {n} val_acc {n / 200:.3f}" for n in range(first, 12 * every, every)]
    ones = [f"epoch {n} val_acc {n / 200:.3f}" for n in range(every, 12 * every, every)]
    odd = [
        f"{n},{n / 50},{n * 9}" for n in range(1, 30, 2)
    ]  # the clock tells that these are from 1
    write(tmp_path, {"a/x.log": "\n".join(lines) + "\n", "b/x.log": "\n".join(ones) + "\n",
                     "c/x.csv": "\n".join(["epoch,val_acc,seconds", *odd]) + "\n"})  # fmt: skip
    (row,) = ask("runs", tmp_path / "c", "--target", "val_acc>=0.3").rows
    assert row["epochs"] == 15
    asked = ask("runs", tmp_path / "a", "--target", "val_acc>=0.01")
    assert (asked.code, "--epoch 'epoch + 1'" in asked.text) == (2, True)
    (row,) = ask("runs", tmp_path / "b", "--target", "val_acc>=0.01").rows
    assert row["epochs"] == every


@GUISES
def test_seeds_in_lines_of_evaluations_are_runs_to_be_asked_about(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    form = rng.choice(["[arm {0} seed {1}] val_loss={2}", "model {0} | seed: {1} | test_acc {2}"])
    lines = [form.format(arm, n, rng.random()) for arm in "AB" for n in range(rng.choice([3, 5]))]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    answer = ask("summary", tmp_path / "logs")
    assert (answer.code, "seeds: are these several runs?" in answer.text) == (2, True)


@GUISES
@pytest.mark.parametrize(
    "written",
    ["tensor({0}, device='cuda:0', dtype=torch.float64)", "tensor({0})", "np.float32({0})",
     "[np.float32({0})]", "numpy.float64({0})"],
)  # fmt: skip
def test_numbers_are_read_as_their_libraries_write_them(
    seed: int, written: str, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    name = rng.choice(["val acc", "Pseudo dice", "test_f1"])
    lines = [f"Epoch {n}/9\n{name}: {written.format(0.4 + n / 20)}" for n in range(1, 10)]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    target = f"{name.lower().replace(' ', '_')}>=0.6"
    (row,) = ask("runs", tmp_path / "logs", "--target", target).rows
    assert row["epochs"] == 4


@GUISES
@pytest.mark.parametrize(
    "written", ["[{0}, {1}]", "({0}, {1})", "[np.float32({0}), np.float32({1})]", "{0} -> {1}"]
)
def test_one_number_of_several_is_no_measurement(seed: int, written: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name = rng.choice(["val dice", "mean test loss", "f1"])
    lines = [
        f"epoch {n} {name}: {written.format(round(n / 10, 1), round(n / 20, 2))}"
        for n in range(1, 10)
    ]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    assert ask("runs", tmp_path / "logs", "--at-end").code == 2


@GUISES
def test_a_log_without_progress_says_so_with_its_numbers(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name = rng.choice(["Model test error", "val loss"])
    lines = [f"Training Loss: {1 / n:.3f}\n\nEvaluating.\n{name}: {2 / n:.3f}"
             for n in range(1, 9)]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    target = f"{name.lower().replace(' ', '_')}<=0.5"
    answer = ask("runs", tmp_path / "logs", "--target", target)
    assert answer.rows[0]["reached"]
    assert "no step, epoch or time is told" in answer.text


@GUISES
def test_values_of_a_column_far_from_their_names_are_read(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    names, width = ["game_sign_acc", "strong_sign_acc"], rng.choice([30, 40])
    lines = []
    for n in range(1, 9):
        lines += [f"[Iter {n:3d}] self-play policy loss={3 / n:.2f}"]
        lines += [f"  {name:<{width}} {0.4 + n / 20:.4f}  ({40 + n * 5:.1f}%)" for name in names]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", "game_sign_acc>=0.6").rows
    assert row["steps"] == 4


@GUISES
@pytest.mark.parametrize("dash", ["19/19 - {0}s - ", "{0}s - ", "19/19 - {0}s - 630ms/step - "])
def test_epochs_tell_their_time_between_dashes(seed: int, dash: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    times = [rng.randint(9, 22) for _ in range(10)]
    lines = [f"Epoch {n}/10\n{dash.format(times[n - 1])}loss: {1 / n:.3f} - accuracy: {n / 10}"
             for n in range(1, 11)]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", "accuracy>=0.5").rows
    assert (row["epochs"], row["tta_seconds"]) == (5, sum(times[:5]))


@GUISES
def test_a_stamp_on_the_line_after_an_evaluation_is_its_time(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    pace, start = rng.choice([95, 2501]), dt.datetime(2025, 4, 19, 3, 6, 19, 274082)
    word = rng.choice(["Time: ", "time = ", "Finish time: "])
    lines = [f"Start time: {start}", "reading train images..."]
    for n in range(1, 9):
        lines += [f"epoch {n}, phase train, step {n * 10}, loss_train, {1 / n:.3f}",
                  f"epoch {n} | val_loss: {1 / n:.4f}", f"epoch {n} | val_dsc: {n / 10}",
                  f"{word}{start + dt.timedelta(seconds=pace * n)}"]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--target", "val_dsc>=0.5")
    (row,) = answer.rows
    assert (row["epochs"], row["tta_seconds"]) == (5, pytest.approx(5 * pace))


@GUISES
def test_episodes_that_begin_anew_are_several_runs(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    word, every = rng.choice(["Episode", "Game", "Generation"]), rng.choice([1, 10])
    lines = [f"INFO:root:{word} {n * every} | Avg Reward: {n * 2.5 + run} | Epsilon: 0.{n:02d}"
             for run in range(3) for n in range(1, 15)]  # fmt: skip
    write(tmp_path, {"a/x.log": "\n".join(lines) + "\n", "b/x.log": "\n".join(lines[:14]) + "\n"})
    asked = ask("runs", tmp_path / "a", "--target", "avg_reward>=20")
    assert (asked.code, "begins anew 2 times: are these several runs?" in asked.text) == (2, True)
    (typed,) = re.findall(r"each: (--line .* --new-run '.*')\.", asked.text)
    table = tmp_path / "x.parquet"
    assert run("ingest", tmp_path / "a", *shlex.split(typed), "-o", table).returncode == 0
    assert len(ask("runs", table, "--target", "avg_reward>=20").rows) == 3
    (row,) = ask("runs", tmp_path / "b", "--target", "avg_reward>=20").rows
    assert row["reached"]


@GUISES
def test_steps_of_trainings_that_were_appended_are_asked_about(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    every = rng.choice([1000, 13_000])
    steps = [n * every for n in range(1, 12)] + [every * 2 - 7, every - 7]
    lines = [f"steps: {n}, mean reward: {400 + i}.8, qf: 0.1" for i, n in enumerate(steps)]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--target", "mean_reward>=405")
    assert (answer.code, "steps decreases" in answer.text) == (2, True)


@GUISES
def test_a_few_times_that_rise_by_chance_are_asked_about(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name, start = rng.choice(["time", "seconds"]), rng.uniform(5, 500)
    number, spread = rng.choice([(4, 50), (20, 1000)])
    alike = [f"{n},{n / 25},{start * (1 + n / spread):.2f}" for n in range(1, number + 1)]
    whole = [f"{n},{n / 25},{start * n:.2f}" for n in range(1, 5)]
    head = "epoch,val_acc,{}\n"
    write(tmp_path, {"a/x.csv": head.format(name) + "\n".join(alike) + "\n",
                     "b/x.csv": head.format(name) + "\n".join(whole) + "\n",
                     "c/x.csv": head.format("elapsed") + "\n".join(alike) + "\n"})  # fmt: skip
    asked = ask("runs", tmp_path / "a", "--target", "val_acc>=0.1")
    assert (asked.code, f"--seconds 'sum {name} s'" in asked.text) == (2, True)
    for folder in "bc":
        assert ask("runs", tmp_path / folder, "--target", "val_acc>=0.1").code == 0


@GUISES
def test_evaluations_of_each_batch_repeat_their_epoch(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    number = rng.choice([6, 12])
    lines = []
    for n in range(1, 4):
        for batch in range(number):  # every second value is that of the line before
            value = 6.25 * (batch // 2 + n)
            lines += [f"Epoch {n}, Loss: {9 - batch / 10:.3f}, Validation Accuracy: {value:.2f}%",
                      f"Best Validation Accuracy: {6.25 * (n + 3):.2f}%"]  # fmt: skip
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--target", "validation_accuracy>=12")
    assert (answer.code, "is told anew of the same epoch" in answer.text) == (2, True)


@GUISES
def test_training_before_the_first_evaluation_may_tell_all_that_it_tells(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    word, metric = rng.choice(["epoch: {}", "Epoch {} |"]), rng.choice(["AUC", "val_f1"])
    lines = []
    for n in range(8):
        lines += [f"{word.format(n)}, batch_id: {b}, {metric}: {n / 20 + b / 9999}, loss: 0.{b}1"
                  for b in (0, 500, 900)]  # fmt: skip
        lines.append(f"{word.format(n)} done, {metric}: {n / 10}, loss: {1 / (n + 1):.3f}")
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", f"{metric.lower()}>=0.4").rows
    assert row["epochs"] == 5


@GUISES
@pytest.mark.parametrize("form", ["Epoch {0} - {1} Metrics:", "=== {1} (epoch {0}) ===", "{1}"])
def test_headers_say_on_which_data_the_values_below_were_measured(
    seed: int, form: str, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    trains, evaluates = rng.choice([("Train", "Validation"), ("training", "eval"), ("fit", "Test")])
    start, metric = rng.choice([0, 1]), rng.choice(["Mean IoU", "F1"])
    lines = []
    for n in range(start, start + 8):
        lines += [f"Epoch {n}"] * (form == "{1}")
        for word, value in ((trains, 0.9), (evaluates, (n - start + 1) / 10)):
            lines += [form.format(n, word), f"  Loss: {1 - value:.3f}", f"  {metric}: {value}"]
    mixed = [line for line in lines if line != form.format(start + 2, evaluates)]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n", "b/x.log": "\n".join(mixed) + "\n"})
    target = f"{metric.lower().replace(' ', '_')}>=0.5"
    (row,) = ask("runs", tmp_path / "logs", "--target", target).rows
    assert row["epochs"] == 5
    assert ask("runs", tmp_path / "b", "--target", target).code == 2  # a header is missing


@GUISES
def test_values_of_each_class_are_no_metric_beside_one_of_all(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    number, form = rng.choice([2, 7]), rng.choice(["Class {:2d}: IoU = {}", "  [{}] IoU: {}"])
    lines = []
    for n in range(1, 9):
        classes = [form.format(c, n / 10 + c / 100) for c in range(number)]
        mean = [f"epoch {n} validation mIoU: {n / 10}"]
        lines += [f"Epoch {n} loss: {1 / n:.3f}", *(mean + classes if seed % 2 else classes + mean)]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--target", "validation_miou>=0.5").rows
    assert row["epochs"] == 5
    assert ask("runs", tmp_path / "logs", "--target", "iou>=0.5").code == 2


def _trainings(heads: list[str], firsts: list[float], total: int, form: str) -> str:
    """Return a text of trainings behind some heads, whose accuracies begin at the given ones."""
    lines = []
    for head, first in zip(heads, firsts, strict=True):
        lines += ["Building the model ...", head]
        for n in range(1, 6):
            lines += [form.format(head, n, total), f"val_loss: {1 - first - n / 20:.3f} - "
                      f"val_acc: {first + n / 20:.3f}"]  # fmt: skip
    return "\n".join(lines) + "\n"


@GUISES
def test_trainings_that_begin_anew_behind_their_end_are_runs(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    first = rng.choice([0.2, 0.5])
    epoch = "Epoch {1}/{2}"
    named = [f"Optimizer: {name}" for name in rng.sample(["adam", "sgd", "lamb", "rmsprop"], 3)]
    alike, anew = ["Train on 800 samples"] * 3, [first, first + 0.02, first - 0.02]
    seeds = [f"seed: {n}" for n in rng.sample(range(99), 3)]
    rates = [f"lr: 0.{n}" for n in (1, 2, 3)]
    model = [f"resnet-{n}" for n in (18, 34, 50)]
    write(tmp_path, {
        "same/x.log": _trainings(alike, anew, 5, epoch),
        "names/x.log": _trainings(named, anew, 5, epoch),
        "seeds/x.log": _trainings(seeds, anew, 5, epoch),
        "models/x.log": _trainings(model, anew, 50, "{0} - " + epoch),
        "goes_on/x.log": _trainings(alike, [first, first + 0.2, first + 0.3], 5, epoch),
        "rates/x.log": _trainings(rates, anew, 5, epoch),
        "early/x.log": _trainings(alike, anew, 50, epoch),
    })  # fmt: skip
    target = f"val_acc>={first + 0.11}"
    rows = {name: ask("runs", tmp_path / name, "--target", target).rows
            for name in ("same", "names", "seeds", "models")}  # fmt: skip
    for name, runs in rows.items():
        assert sorted(row["epochs"] for row in runs) == [2 + (n > 0) for n in (0, 1, 2)], name
    assert {row["entry"] for row in rows["names"]} == {text.split()[-1] for text in named}
    assert {row["entry"] for row in rows["models"]} == {*model}
    assert {row["seed"] for row in rows["seeds"]} == {int(text.split()[-1]) for text in seeds}
    for name in ("goes_on", "rates", "early"):
        asked = ask("runs", tmp_path / name, "--target", target)
        assert (asked.code, '--new-run "step back"' in asked.text) == (2, True), name


@GUISES
def test_steps_that_begin_anew_in_each_epoch_count_within_it(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    start, every, first = rng.choice([0, 1]), rng.choice([10, 50]), rng.choice([0, 1])
    steps = [n * every + first for n in range(4)]
    ends, during, rows = [], [], ["epoch,step,val_acc"]
    for n in range(start, start + 9):
        done = n - start
        ends += [f"Epoch {n} | Step {at} | loss {2 - done / 10 - at / 9999:.4f}" for at in steps]
        ends += [f"Epoch {n} | val_acc {done / 10}"]
        during += [f"Epoch {n} | Step {at} | val_acc {done / 10 + at / 9999:.4f}" for at in steps]
        rows += [f"{n},{at},{done / 10 + at / 9999:.4f}" for at in steps]
    texts = {"ends/x.log": ends, "during/x.log": during, "rows/x.csv": rows,
             "b/x.log": [*during, *during]}  # fmt: skip
    write(tmp_path, {path: "\n".join(lines) + "\n" for path, lines in texts.items()})
    for name, epoch in (("ends", 6), ("during", 5 + start), ("rows", 5 + start)):
        (row,) = ask("runs", tmp_path / name, "--target", "val_acc>=0.5").rows
        assert (row["epochs"], row["steps"]) == (epoch, None), name
    assert ask("runs", tmp_path / "b", "--target", "val_acc>=0.5").code == 2


@GUISES
@pytest.mark.parametrize("form", ["{0} in global step {1}: {2}", "{0} after step {1} was {2}"])
def test_a_quality_in_words_that_the_question_names_is_read(
    seed: int, form: str, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    name, every = rng.choice(["Total reward", "Greedy policy return"]), rng.choice([20, 33])
    lines = []
    for n in range(1, 8 * every + 1):
        lines.append(f"Global-step {n} --Accept update with kl={rng.random():.4f}, old={n / 9:.3f}")
        lines += [form.format(name, n, n / every)] * (n % every == 0)
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    target = f"{name.lower().replace(' ', '_')}>=5"
    (row,) = ask("runs", tmp_path / "logs", "--target", target).rows
    assert row["steps"] == 5 * every


@GUISES
def test_how_much_of_a_bar_is_done_is_no_measurement(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    head = rng.choice(["Class Labels P R mAP@.5 mAP@.5:.95", "val accuracy", "test mAP"])
    bar = rng.choice(["#" * 10, "█" * 10])
    lines = [
        line
        for n in range(6)
        for line in (f"{head}: 100%|{bar}| 30/30 [00:20<00:00]", f"all 400 0.3 0.2 0.{n}5 0.0{n}")
    ]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    assert ask("runs", tmp_path / "logs", "--target", "map>=0.1").code == 2
    assert ask("summary", tmp_path / "logs").code == 2


@GUISES
def test_what_to_type_for_a_doubt_reads_the_metric_of_the_question(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    metric, every = rng.choice(["NDCG@10", "HR@20"]), rng.choice([5, 7])
    lines = [f"Epoch {n * every}/99  loss={1 / n:.3f}  time={20 + n % 3}s  {metric}: 0.{n}3"
             for n in range(1, 9)]  # fmt: skip
    lines += [f"[TEST] {metric}: 0.7111  MRR: 0.5"]
    write(tmp_path, {"logs/x.log": "\n".join(lines) + "\n"})
    named = metric.lower().replace("@", "_")
    asked = ask("runs", tmp_path / "logs", "--target", f"{metric.lower()}>=0.5")
    assert (asked.code, f"--seconds '' --metric {named}" in asked.text) == (2, True)
    table = tmp_path / "x.parquet"
    typed = ("--seconds", "", "--metric", named)
    assert run("ingest", tmp_path / "logs", *typed, "-o", table).returncode == 0
    (row,) = ask("runs", table, "--target", f"{named}>=0.5").rows
    assert row["epochs"] == 5 * every
