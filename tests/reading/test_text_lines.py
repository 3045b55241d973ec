"""Which lines of a text belong together, and which of their numbers are measurements?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS, Draw
from tests.reading.asking import Answer, ask


@pytest.fixture(params=SEEDS)
def draw(request: pytest.FixtureRequest) -> Draw:
    return Draw(f"lines {request.param}")


def runs_of(folder: Path, lines: Iterable[str], target: str) -> Answer:
    """Return the runs of a text by a target."""
    write(folder, {"seed0.log": "\n".join(lines) + "\n"})
    return ask("runs", folder, "--guess", *(["--target", target] if target else []))


# ------------------------------------------------------------------------------ tags

#: How a line says by a tag whose values it tells, and both tags.
TAGS = (
    ("{tag} | epoch {n:03d} | {name} {v:.3f} | wps 9000", "train_inner", "valid"),
    ("[{tag}] epoch={n} {name}={v:.4f}", "train", "val"),
    ("{tag} - epoch: {n} - {name}: {v:.3f}", "Train", "Test"),
    ("epoch {n} {tag}: {name} {v:.5f}", "training", "validation"),
    ("INFO {tag} epoch {n}, {name} = {v:.3f}, lr = 0.1", "training", "evaluating"),
)


@pytest.mark.parametrize("form", TAGS)
def test_a_tag_says_whose_values_a_line_tells(
    form: tuple[str, str, str], draw: Draw, tmp_path: Path
) -> None:
    text, *tags = form
    name, at = draw.choice(["loss", "ppl", "wer"]), draw.randrange(3, 7)
    order = draw.choice([tags, tags[::-1]])
    lines = [
        text.format(tag=tag, n=n, name=name, v=(4.0 if tag == tags[0] else 5.0) * (1 - n / 20))
        for n in range(1, 11)
        for tag in order
    ]
    answer = runs_of(tmp_path, lines, f"{name}<={5 * (1 - at / 20):.4f}")
    assert answer.row("seed0")["epochs"] == at
    guess = ask("problems", tmp_path, "--guess")
    assert f'metric  = "{name}"' in str(guess.rows[0]["message"])


def test_lines_of_two_tags_that_evaluate_are_two_metrics(draw: Draw, tmp_path: Path) -> None:
    text, *_ = draw.choice(TAGS)
    lines = [
        text.format(tag=tag, n=n, name="loss", v=v / n)
        for n in range(1, 8)
        for tag, v in (("train", 2.0), ("val", 3.0), ("test", 3.5))
    ]
    for metric, epoch in (("val_loss<=1", 3), ("test_loss<=1", 4)):
        assert runs_of(tmp_path, lines, metric).row("seed0")["epochs"] == epoch


# ------------------------------------------------------------------------------ K in names


@pytest.mark.parametrize("metric", ["Acc@1", "Prec@5", "ndcg@10", "Hits@3", "top-1", "P@1 acc"])
def test_the_number_of_a_name_is_no_value(metric: str, draw: Draw, tmp_path: Path) -> None:
    form = draw.choice(["Iteration:{n}, valid {m} : {v:.4f}", "step {n} val {m}={v:.4f}",
                        "iter {n} | test {m} {v:.3f}"])  # fmt: skip
    at = draw.randrange(4, 8)
    lines = [form.format(n=n, m=metric, v=0.3 + n / 20) for n in range(1, 11)]
    tag = next(word for word in ("valid", "val", "test") if word in form)
    name = f"{tag}_{metric}".lower().translate(str.maketrans("@- ", "___"))
    row = runs_of(tmp_path, lines, f"{name}>={0.3 + at / 20}").row("seed0")
    assert (row["steps"], row["value_final"]) == (at, pytest.approx(0.3 + at / 20))


@pytest.mark.parametrize(
    "ends", [" *   {a} {v:.3f} {b} {w:.3f}", "* {a} {v:.2f} ({e:.2f}) {b} {w:.2f}"]
)
def test_lines_at_the_end_of_epochs_count_and_those_with_running_means_do_not(
    ends: str, draw: Draw, tmp_path: Path
) -> None:
    a, b = draw.choice([("Acc@1", "Acc@5"), ("Prec@1", "Prec@5")])
    batches, tested = draw.choice([(50, 100), (0, 10, 20)]), draw.chance(0.5)
    lines = []
    for n in range(9):
        lines += [
            f"At epoch [{n}][{i:4d}/200]\tTime  0.2{i} ( 0.230)\tLoss {3 / (n + 1):.4e} (3.1)"
            f"\t{a}  {90 + i / 100:.2f} ( {89 + i / 100:.2f})\t{b}  99.00 ( 98.00)"
            for i in batches
        ]
        if tested:
            lines += [f"Test: [{i:3d}/100]\tTime 0.1 (0.1)\t{a} {20 + n:.2f} ({21 + n:.2f})"
                      for i in (0, 50)]  # fmt: skip
        lines += [ends.format(a=a, b=b, v=30 + 5 * n, w=60 + 4 * n, e=70 - 5 * n)]
    name = a.replace("@", "_").lower()
    answer = runs_of(tmp_path, lines, f"{name}>=60")
    assert (answer.row("seed0")["epochs"], answer.row("seed0")["value_final"]) == (7, 60)


# ------------------------------------------------------------------------------ time behind


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("counted", [True, False])
def test_the_time_of_an_evaluation_stands_behind_it_or_before(
    draw: Draw, tmp_path: Path, *, behind: bool, counted: bool
) -> None:
    pace, at = draw.randrange(3, 90), draw.randrange(3, 8)
    count = draw.choice(["Iteration", "step", "iter"])
    value = draw.choice(["{c}valid auc : {v:.4f}", "{c}val_acc={v:.4f}"])
    time = draw.choice(["{s:.3f} seconds elapsed, finished {d}", "[elapsed {s} s] {d}"])
    lines = []
    for n in range(1, 11):
        pair = [
            value.format(c=f"{count}:{n}, " if counted else "", v=0.5 + n / 25),
            time.format(s=pace * n, d=f"{count} {n}" if counted else "evaluation"),
        ]
        lines += pair if behind else pair[::-1]
    name = "valid_auc" if "auc" in value else "val_acc"
    row = runs_of(tmp_path, lines, f"{name}>={0.5 + at / 25}").row("seed0")
    assert row["tta_seconds"] == pace * at
    assert row["steps"] == (at if counted else None)


# ------------------------------------------------------------------------------ runs

STARTS = ("Starting training!", "[__main__] - Begin training", "=== Run {n}/4 ===", "Trial {n}:")


@pytest.mark.parametrize("start", STARTS)
def test_finished_trainings_in_one_log_are_runs(start: str, draw: Draw, tmp_path: Path) -> None:
    epochs = draw.choice([1, 5, 8])
    lines = []
    for n in range(1, 5):
        lines += [f"[2024-03-04 1{n}:00:00,100] {start.format(n=n)}"] if start[0] not in "=T" else [
            start.format(n=n)
        ]  # fmt: skip
        lines += [
            f"[2024-03-04 1{n}:{e:02d}:00,200] " + ("" if epochs == 1 else f"epoch {e} ")
            + f"val/acc_best={0.5 + n / 50 + e / 100:.4f}"
            for e in range(1, epochs + 1)
        ]  # fmt: skip
    answer = runs_of(tmp_path, lines, "")
    finals = [round(0.5 + n / 50 + epochs / 100, 4) for n in range(1, 5)]
    assert sorted(row["value_final"] for row in answer.rows) == finals


def test_starts_without_progress_and_with_many_evaluations_are_asked_about(tmp_path: Path) -> None:
    lines = [
        text for n in range(3) for text in ("Starting run", *(f"val_acc .{e}{n}" for e in range(5)))
    ]
    answer = runs_of(tmp_path, lines, "")
    assert (answer.code, answer.rows) == (2, [])
    assert "are these several runs? Write new_run = 'Starting run'" in answer.text


def test_a_start_after_which_progress_goes_on_is_no_new_run(draw: Draw, tmp_path: Path) -> None:
    each = draw.randrange(2, 6)
    lines = []
    for n in range(3):
        lines += [draw.choice(STARTS[:1])]
        lines += [
            f"step {10 * (e + each * n)} val_acc {0.5 + (e + each * n) / 100}"
            for e in range(1, each + 1)
        ]
    answer = runs_of(tmp_path, lines, "")
    assert [row["steps"] for row in answer.rows] == [30 * each]


# ------------------------------------------------------------------------------ epochs


def test_epochs_from_zero_are_read_alike_whatever_else_an_epoch_tells(
    draw: Draw, tmp_path: Path
) -> None:
    name = draw.choice(["Validation-accuracy={v:.5f}", "val_acc={v:.4f}", "test accuracy: {v:.4f}"])
    others = draw.sample(
        ["Train-accuracy={v:.5f}", "Time cost={n}.5", "Validation-top_k_accuracy_5={v:.5f}",
         "val_loss={v:.3f}", "Learning-rate={v:.5f}"], 3
    )  # fmt: skip
    files = {}
    for file, kept in (("plain", 10), ("crashed", 1)):
        for k, more in enumerate(([], others)):
            files[f"{file}{k}.log"] = "".join(
                f"worker 0: epoch[{n}] {text.format(n=n, v=0.5 + n / 25)}\n"
                for n in range(kept)
                for text in draw.sample([name, *more], len(more) + 1)
            )
    write(tmp_path, files)
    metric = {"V": "validation_accuracy", "v": "val_acc", "t": "test_accuracy"}[name[0]]
    answer = ask("runs", tmp_path, "--guess", "--target", f"{metric}>=0.7")
    assert [answer.row(f"plain{k}")["epochs"] for k in (0, 1)] == [6, 6]
    assert [answer.row(f"crashed{k}")["epochs"] for k in (0, 1)] == [1, 1]


# ------------------------------------------------------------------------------ no measurements

#: Numbers that are settings, shapes and scales, as templates of the epoch.
SETTINGS: tuple[Callable[[int], str], ...] = (
    lambda n: "top_k 40 grad_acc 8",
    lambda n: f"step: {100 * n}, loss_scale: {65536 >> (9 - n)}.0, overflow: 0",
    lambda n: "net.cpp:141] Top shape: 64 3 32 32 (196608)",
    lambda n: f"step: {100 * n}, lr: 0.01, grad_norm: 0.{n}",
    lambda n: f"map_size 64 f1_weight 2 step {100 * n}",
    lambda n: f"loss scale: {2**n * 512}, step {n}00",
)
#: Qualities as sentences tell them, as templates of the share in percent and of the epoch.
SENTENCES: tuple[Callable[[int, int], str], ...] = (
    lambda v, n: f"Accuracy of the network on the 10000 test images: {v} %",
    lambda v, n: f"[eval] {v} % of the validation set are correct",
    lambda v, n: f"eval accuracy ({100 * n} steps) -> {v / 100:.4f}",
    lambda v, n: f"Validation accuracy after {n} epochs was {v}.0%",
    lambda v, n: f"Test: got {v * 100} / 10000 correct ({v:.2f}%)",
    lambda v, n: f"mean validation accuracy over 50 batches = 0.{v}",
)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (setting, SENTENCES[(at + turn) % 6])
        for at, setting in enumerate(SETTINGS)
        for turn in (0, 2)
    ],
)
def test_settings_are_no_metrics_and_sentences_are_read(
    setting: Callable[[int], str], sentence: Callable[[int, int], str], tmp_path: Path
) -> None:
    draw = Draw(f"{setting(1)} {sentence(1, 1)}")
    first, gain = draw.randrange(20, 40), draw.randrange(2, 6)
    lines = [text for n in range(1, 10) for text in (setting(n), sentence(first + gain * n, n))]
    row = runs_of(tmp_path, lines, "").row("seed0")
    assert row["value_final"] in {first + gain * 9, (first + gain * 9) / 100}


def test_a_metric_that_never_changes_stays_beside_another(draw: Draw, tmp_path: Path) -> None:
    """A diverged run has the accuracy of chance all along, and must not lose it."""
    chance = draw.choice(["0.1", "10.0", "10"])
    lines = [f"epoch {n} val_acc {chance} val_loss {2.3 + n / 1000:.3f}" for n in range(1, 9)]
    write(tmp_path, {"seed0.log": "\n".join(lines)})
    (block,) = [row for row in ask("problems", tmp_path, "--guess").rows
                if row["code"] == "guessed_block"]  # fmt: skip
    assert '["val_acc", "val_loss"]' in block["message"]
