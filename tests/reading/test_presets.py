"""Logs of known trainers, with drawn metrics, counts and times, are read as they were written."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import ttastats as tta
from tests.made_logs import write
from tests.made_stores import first_event, scalar
from tests.reading.asking import ask
from ttastats.base.errors import TtastatsError
from ttastats.formats import config

DRAWS = range(3)
#: What each metric was at an evaluation: epoch, step, seconds, value.
Curves = dict[str, list[Any]]


class Run(NamedTuple):
    """The files of a run by their names, and the curve of each metric that is to be read."""

    files: Mapping[str, str]
    curves: Curves


class Draw(random.Random):
    """Draws the metrics and the numbers of a log."""

    def value(self, digits: int = 4) -> float:
        return round(self.uniform(0.1, 0.95), digits)

    def times(self, count: int, low: int = 3, high: int = 6) -> list[int]:
        """Return whole seconds of epochs, of which most neighbours are equal."""
        return [self.randint(low, high) for _ in range(count)]

    def begun(self) -> datetime:
        return datetime(2024, self.randint(1, 11), self.randint(1, 28), self.randint(0, 23))


def added(times: list[int]) -> list[float]:
    return [float(sum(times[:number])) for number in range(1, len(times) + 1)]


def glog(at: datetime) -> str:
    return f"{at:%m%d %H:%M:%S.%f}"


def lightgbm(draw: Draw) -> Run:
    count, part = draw.randint(4, 9), f"valid_{draw.randint(1, 3)}"
    metrics = draw.sample(["auc", "binary_logloss", "ndcg@1", "ndcg@3", "map@5", "rmse", "l2"], 2)
    pace = draw.uniform(0.01, 4)
    lines, curves = ["[LightGBM] [Info] Started training..."], Curves()
    for step in range(1, count + 1):
        for metric in metrics:
            value = draw.value(6)
            lines += [f"[LightGBM] [Info] Iteration:{step}, training {metric} : {draw.value()}"]
            lines += [f"[LightGBM] [Info] Iteration:{step}, {part} {metric} : {value}"]
            point = (None, step, round(pace * step, 6), value)
            curves.setdefault(f"{part}_{metric}", []).append(point)
        lines += [f"[LightGBM] [Info] {pace * step:.6f} seconds elapsed, finished iteration {step}"]
    return Run({"train.log": "\n".join(lines)}, curves)


def lightgbm_python(draw: Draw) -> Run:
    part, metric = draw.choice(["valid_0", "eval"]), draw.choice(["l1", "auc", "multi_error"])
    every, lines, curve = draw.choice([1, 10, 50]), ["[LightGBM] [Info] Total Bins 255"], []
    for step in range(every, 6 * every + 1, every):
        value = draw.value(6)
        lines += [f"[{step}]\ttraining's {metric}: {draw.value()}\t{part}'s {metric}: {value}"]
        curve.append((None, step, None, value))
    lines += ["Early stopping, best iteration is:", lines[draw.randint(2, 5)]] * draw.randint(0, 1)
    return Run({"out.txt": "\n".join(lines)}, {f"{part}_{metric}": curve})


def xgboost(draw: Draw) -> Run:
    part, metric = draw.choice(["eval", "test", "validation_0"]), draw.choice(["auc", "mlogloss"])
    every, lines, curve = draw.choice([1, 10]), [], []
    for number in range(0, 6 * every, every):
        value = draw.value(5)
        lines += [f"[{number}]\ttrain-{metric}:{draw.value(5)}\t{part}-{metric}:{value}"]
        curve.append((None, number + 1, None, value))
    return Run({"boost.log": "\n".join(lines)}, {f"{part}-{metric}": curve})


def pytorch_imagenet(draw: Draw) -> Run:
    count, word, blanks = draw.randint(3, 6), draw.choice(["Acc", "Prec"]), draw.choice(" 3")
    lines, first, fifth = ["=> creating model 'resnet18'"], [], []
    for epoch in range(count):
        lines += [
            f"Epoch: [{epoch}][{batch:3d}/200]\tTime  0.200 ( 0.230)\tLoss 2.1 (2.2)\t"
            f"{word}@1  {draw.value(2)} ( {draw.value(2)})\t{word}@5  9.00 ( 8.00)"
            for batch in (0, 100)
        ]
        lines += ["Test: [  0/40]\tTime  1.0 ( 1.0)\tLoss 2.0 (2.0)\tAcc@1  9.00 ( 9.00)"]
        first.append((epoch + 1.0, None, None, draw.value(2) * 100))
        fifth.append((epoch + 1.0, None, None, draw.value(2) * 100))
        gap = "   " if blanks == "3" else " "
        lines += [f" *{gap}{word}@1 {first[-1][3]:.3f} {word}@5 {fifth[-1][3]:.3f}"]
    return Run({"log": "\n".join(lines)}, {"acc1": first, "acc5": fifth})


def language_model(draw: Draw) -> Run:
    # Times that rise a little each time are those of epochs too.
    times, rule = [36.9 + n / 100 for n in range(draw.randint(3, 6))], "-" * 89
    lines, losses, perplexities = ["=" * 89], [], []
    for epoch, seconds in enumerate(times, start=1):
        clock, loss, ppl = sum(times[:epoch]), draw.value(2), draw.value(2)
        lines += [
            f"| epoch {epoch:3d} |   200/ 2983 batches | lr 20.00 | ms/batch 12.12 | loss  7.6"
        ]
        lines += [f"| end of epoch {epoch:3d} | time: {seconds:5.2f}s | valid loss {loss:5.2f} | "
                  f"valid ppl {ppl:8.2f}", rule]  # fmt: skip
        losses.append((float(epoch), None, clock, loss))
        perplexities.append((float(epoch), None, clock, ppl))
    lines += ["| End of training | test loss  4.90 | test ppl   134.29"]
    return Run({"log": "\n".join(lines)}, {"valid_ppl": perplexities, "valid_loss": losses})


def torchvision(draw: Draw) -> Run:
    count, star, has_ema = draw.randint(3, 6), draw.random() < 0.5, draw.random() < 0.5
    lines, clock, curves = ["Not using distributed mode"], 0, Curves()
    for epoch, seconds in enumerate(draw.times(count, 78, 80)):
        lines += [
            f"Epoch: [{epoch}]  [  0/50]  eta: 0:00:50  lr: 0.5  loss: 2.1  acc1: 9.0  time: 1"
        ]
        lines += [f"Epoch: [{epoch}] Total time: 0:01:{seconds - 60:02d}"]
        clock += seconds
        for name in ["", "ema_"][: 1 + has_ema]:
            test, values = draw.randint(9, 10), [round(draw.value(3) * 100, 3) for _ in range(2)]
            clock += test
            ema = " EMA" if name else ""
            lines += [f"Test:{ema}  [ 0/10]  eta: 0:00:09  loss: 2.0  acc1: 9.0  time: 1.0"]
            lines += [f"Test:{ema} Total time: 0:00:{test:02d}"]
            mark = "*" if star and not name else f"Test:{ema or ' '}"
            lines += [f"{mark} Acc@1 {values[0]:.3f} Acc@5 {values[1]:.3f}"]
            for number, value in zip((1, 5), values, strict=True):
                point = (epoch + 1.0, None, float(clock), value)
                curves.setdefault(f"{name}acc{number}", []).append(point)
    return Run({"train.log": "\n".join(lines)}, curves)


def fairseq(draw: Draw) -> Run:
    count, at, updates = draw.randint(3, 6), draw.begun(), draw.randint(50, 400)
    as_json, pace = draw.random() < 0.5, draw.randint(30, 90)
    lines, loss, other = [f"{at} | INFO | fairseq_cli.train | begin training"], [], []
    metric = draw.choice(["bleu", "accuracy", "wer", "nll_loss"])
    for epoch in range(1, count + 1):
        values = draw.value(3) * 5, draw.value(2)
        place, stamp = updates * epoch, at + timedelta(seconds=pace * epoch)
        half = stamp - timedelta(seconds=20)
        loss.append((float(epoch), place, float(pace * epoch), round(values[0], 3)))
        other.append((float(epoch), place, float(pace * epoch), values[1]))
        lines += [f"{half} | INFO | train_inner | epoch {epoch:03d}: 9 / 50 loss=9.1, ppl=90"]
        if as_json:
            row = {"valid_loss": f"{loss[-1][3]}", f"valid_{metric}": f"{values[1]}"}
            row |= {"valid_wps": "9000", "valid_num_updates": f"{place}", "valid_best_loss": "0.1"}
            lines += [f"{stamp} | INFO | train | {json.dumps({'epoch': epoch, 'train_loss': '8'})}"]
            lines += [f"{stamp} | INFO | valid | {json.dumps({'epoch': epoch, **row})}"]
        else:
            lines += [
                f"{stamp} | INFO | train | epoch {epoch:03d} | loss 8.2 | num_updates {place}"
            ]
            lines += [
                f"{stamp} | INFO | valid | epoch {epoch:03d} | valid on 'valid' subset | loss "
                f"{loss[-1][3]} | {metric} {values[1]} | wps 9000 | num_updates {place} "
                "| best_loss 0.1"
            ]
    return Run({"train.log": "\n".join(lines)}, {"loss": loss, metric: other})


def keras_bar(draw: Draw) -> Run:
    style, metric = draw.randrange(4), draw.choice(["acc", "accuracy", "top_5_accuracy", "auc"])
    times, lines, curves = draw.times(draw.randint(4, 8), 5, 6), list[str](), Curves()
    for epoch, (seconds, clock) in enumerate(zip(times, added(times), strict=True), start=1):
        values = draw.value(), draw.value()
        told = f"loss: {draw.value()} - {metric}: 0.9 - val_loss: {values[0]}"
        told += f" - val_{metric}: {values[1]}"
        bar = f"{'=' * 30}] - {seconds}s 12ms/step", f"9/9 - {seconds}s", f" - {seconds}s"
        ends = [f"9/9 [{bar[0]} - {told}", f"{bar[1]} - {told} - {seconds}s/epoch - 1ms/step"]
        ends += [f"{bar[2]} - {told}", f"9/9 {'━' * 20} {seconds}s 12ms/step - {told}"]
        drawn = f"1/9 [==>......] - ETA: 3s - loss: 9.0 - {metric}: 0.1\r" if style == 0 else ""
        lines += [f"Epoch {epoch}/{len(times)}", drawn + ends[style]]
        for name, value in zip(("val_loss", f"val_{metric}"), values, strict=True):
            curves.setdefault(name, []).append((float(epoch), None, clock, value))
    return Run({"fit.log": "\n".join(lines)}, curves)


def mxnet(draw: Draw) -> Run:
    times = draw.times(draw.randint(4, 8), 50, 52)
    metrics = draw.sample(["accuracy", "top_k_accuracy_5", "mse", "perplexity"], 2)
    lines, curves = ["INFO:root:Start training"], Curves()
    for epoch, (seconds, clock) in enumerate(zip(times, added(times), strict=True)):
        lines += [f"INFO:root:Epoch[{epoch}] Batch [20]\tSpeed: 900.1 samples/sec\taccuracy=0.1"]
        lines += [f"INFO:root:Epoch[{epoch}] Train-accuracy={draw.value()}"]
        lines += [f"INFO:root:Epoch[{epoch}] Time cost={seconds}.000"]
        for metric in metrics:
            value = draw.value(6)
            lines += [f"INFO:root:Epoch[{epoch}] Validation-{metric}={value}"]
            point = (epoch + 1.0, None, clock, value)
            curves.setdefault(f"Validation-{metric}", []).append(point)
    return Run({"train.log": "\n".join(lines)}, curves)


def caffe(draw: Draw) -> Run:
    at, every, pace = draw.begun(), draw.choice([500, 1000]), draw.randint(20, 90)
    pid, lines, curves = draw.randint(100, 99999), list[str](), Curves()
    lines += [f"I{glog(at)} {pid:5d} net.cpp:141] Top shape: 64 3 32 32 (196608)"]
    for number in range(draw.randint(4, 7)):
        start = at + timedelta(seconds=number * pace + 1)
        end = start + timedelta(seconds=4.5)
        lines += [
            f"I{glog(start)} {pid:5d} solver.cpp:337] Iteration {every * number}, Testing net (#0)"
        ]
        for output, metric in enumerate(("accuracy", "loss")):
            value, more = draw.value(), " (* 1 = 0.5 loss)" if metric == "loss" else ""
            lines += [
                f"I{glog(end)} {pid:5d} solver.cpp:404]     Test net output #{output}: {metric} = "
                f"{value}{more}"
            ]
            point = (None, every * number, number * pace + 5.5, value)
            curves.setdefault(f"Test_{metric}", []).append(point)
        lines += [f"I{glog(end)} {pid:5d} solver.cpp:228] Iteration {every * number}, loss = 0.7"]
        lines += [
            f"I{glog(end)} {pid:5d} solver.cpp:244]     Train net output #0: loss = 0.7 (* 1 = 0.7)"
        ]
    return Run({"caffe.log": "\n".join(lines)}, curves)


def absl(draw: Draw) -> Run:
    at, pace, thread = draw.begun(), draw.randint(20, 90), draw.randint(10**5, 10**15)
    mark = draw.choice(["_", "/"])
    part, metric = draw.choice(["eval", "val", "test"]), draw.choice(["loss", "accuracy", "ppl"])
    in_brackets, mean = draw.random() < 0.5, f"{part}{mark}{metric}"
    lines, curve = [f"I{glog(at)} {thread} train.py:10] Starting"], []
    for number in range(1, draw.randint(4, 8)):
        stamp, value, step = at + timedelta(seconds=number * pace), draw.value(), 100 * number
        begin = f"I{glog(stamp)} {thread} train.py:48]"
        lines += [
            f"{begin} step={step} {metric}=0.123"
            if not in_brackets
            else f"{begin} [{step}] {metric}=0.12"
        ]
        lines += [
            f"{begin} [{step}] {mean}={value}"
            if in_brackets
            else f"{begin} step={step} {mean}={value}"
        ]
        curve.append((None, step, float(number * pace), value))
    return Run({"train.INFO": "\n".join(lines)}, {mean: curve})


def flair_log(draw: Draw) -> Run:
    at, pace = draw.begun(), draw.randint(20, 90)
    metric, words = draw.choice([("f1-score", "f1-score (micro avg) "), ("score", "score")])
    lines, loss, score = [f"{at},100 Model training base path: x"], [], []
    for epoch in range(1, draw.randint(4, 8)):
        clock = float(pace * epoch)
        half, stamp = at + timedelta(seconds=clock - 9), at + timedelta(seconds=clock)
        values = draw.value(), draw.value()
        lines += [f"{half},100 epoch {epoch} - iter 10/20 - loss 1.2 - samples/sec: 90.5 - lr: 0.1"]
        lines += [f"{stamp},100 EPOCH {epoch} done: loss 1.1 - lr 0.1000"]
        lines += [f"{stamp},100 DEV : loss {values[0]} - {words} {values[1]}"]
        lines += [f"{stamp},100 BAD EPOCHS (no improvement): 0"]
        loss.append((float(epoch), None, clock, values[0]))
        score.append((float(epoch), None, clock, values[1]))
    return Run({"training.log": "\n".join(lines)}, {"DEV_loss": loss, f"DEV_{metric}": score})


def columns(draw: Draw, names: list[str], rows: list[Any], mark: str = ",") -> str:
    """Return a table of columns in a drawn order."""
    order = draw.sample(range(len(names)), len(names))
    lines = [[names[place] for place in order], *([str(row[p]) for p in order] for row in rows)]
    return "".join(f"{mark.join(line)}\n" for line in lines)


def flair(draw: Draw) -> Run:
    at, pace = draw.begun(), draw.randint(20, 90)
    curve, lines = (
        [],
        ["EPOCH\tTIMESTAMP\tBAD_EPOCHS\tLEARNING_RATE\tTRAIN_LOSS\tDEV_LOSS\tTEST_LOSS"],
    )
    for epoch in range(1, draw.randint(4, 8)):
        value = draw.value()
        stamp = at + timedelta(seconds=pace * epoch)
        lines += [f"{epoch}\t{stamp:%H:%M:%S}\t0\t0.1000\t{draw.value()}\t{value}\t0.9"]
        curve.append((float(epoch), None, None, value))
    return Run({"loss.tsv": "\n".join(lines) + "\n"}, {"DEV_LOSS": curve})


def table_of_returns(
    name: str, step: str, clock: str, metric: str, others: list[str], mark: str = ","
) -> Callable[[Draw], Run]:
    """Return what draws a table with a return, steps and a clock among other columns."""

    def drawn(draw: Draw) -> Run:
        pace, every, rows, curve = draw.randint(2, 9), draw.choice([1000, 2048]), [], []
        for number in range(1, draw.randint(4, 8)):
            value = round(draw.uniform(-200, 200), 3)
            rows.append([every * number, pace * number, value, *(draw.value() for _ in others)])
            curve.append((None, every * number, float(pace * number), value))
        text = columns(draw, [step, clock, metric, *others], rows, mark)
        return Run({name: text}, {metric: curve})

    return drawn


def similarity(draw: Draw) -> Run:
    every, curve = draw.choice([100, 500]), []
    lines = ["epoch,steps,cosine_pearson,cosine_spearman"]
    for number in range(1, draw.randint(4, 8)):
        value = draw.value()
        lines += [f"{number / 4},{every * number},0.5,{value}"]
        curve.append((number / 4, every * number, None, value))
    name = f"similarity_evaluation_{draw.choice(['sts-dev', 'quora'])}_results.csv"
    return Run({f"eval/{name}": "\r\n".join([*lines, ""])}, {"cosine_spearman": curve})


def similarity_of_fit(draw: Draw) -> Run:
    metric = draw.choice(["cosine-NDCG@10", "cossim_f1", "cosine_spearman"])
    values = [draw.value() for _ in range(draw.randint(3, 7))]
    lines = [f"epoch,steps,{metric}", *(f"{e},-1,{value}" for e, value in enumerate(values))]
    curve = [(epoch, None, None, value) for epoch, value in enumerate(values, start=1)]
    name = "binary_classification_evaluation_dev_results.csv"
    return Run({name: "\r\n".join([*lines, ""])}, {metric: [(float(e), *p) for e, *p in curve]})


def allennlp(draw: Draw) -> Run:
    pace, metric, files, curve = draw.uniform(40, 4000), draw.choice(["f1", "accuracy"]), {}, []
    for epoch in range(draw.randint(3, 12)):
        value, clock = draw.value(), round(pace * (epoch + 1), 6)
        row = {"best_epoch": 0, "training_duration": str(timedelta(seconds=clock)), "epoch": epoch}
        row |= {f"training_{metric}": 0.99, f"validation_{metric}": value}
        files[f"metrics_epoch_{epoch}.json"] = json.dumps(row | {f"best_validation_{metric}": 0.99})
        curve.append((epoch + 1.0, None, clock, value))
    last = files[f"metrics_epoch_{len(files) - 1}.json"]
    return Run(files | {"metrics.json": last}, {f"validation_{metric}": curve})


KINDS: dict[str, Callable[[Draw], Run]] = {
    "absl": absl, "caffe": caffe, "fairseq": fairseq, "flair": flair, "flair-log": flair_log,
    "keras-bar": keras_bar, "lightgbm": lightgbm, "lightgbm-python": lightgbm_python,
    "mxnet": mxnet, "pytorch-imagenet": pytorch_imagenet,
    "pytorch-language-model": language_model, "sentence-transformers": similarity,
    "sentence-transformers-fit": similarity_of_fit, "torchvision": torchvision,
    "xgboost": xgboost, "allennlp": allennlp,
    "spinningup": table_of_returns(
        "progress.txt", "TotalEnvInteracts", "Time", "AverageEpRet", ["StdEpRet", "EpLen"], "\t"),
    "baselines": table_of_returns("progress.csv", "misc/total_timesteps", "misc/time_elapsed",
                                  "eprewmean", ["fps", "loss/policy_loss", "eplenmean"]),
    "sb3-progress": table_of_returns(
        "progress.csv", "time/total_timesteps", "time/time_elapsed", "rollout/ep_rew_mean",
        ["time/fps", "train/loss", "rollout/ep_len_mean"]),
    "rllib": table_of_returns("progress.csv", "timesteps_total", "time_total_s",
                              "episode_reward_mean", ["training_iteration", "episode_reward_max"]),
    "drqv2": table_of_returns("eval.csv", "frame", "total_time", "episode_reward",
                              ["episode", "step", "episode_length"]),
}  # fmt: skip


#: Presets of files beside which others tell the same run: for a block that names them.
NAMED = ("flair",)


def curves_in(folder: Path, preset: str | None = None) -> Iterator[tuple[str, str | None, Curves]]:
    """Yield the source, the preset and the curves of each run that an ingest reads."""
    output = folder.parent / f"{folder.name}.parquet"
    tta.ingest([folder], output, block={"preset": preset} if preset else None)
    frame = pl.read_parquet(output).filter(pl.col("metric").is_not_null())
    for (source,), rows in frame.group_by(["source"], maintain_order=True):
        preset = (json.loads(rows["extra"][0] or "{}")).get("preset")
        curves = Curves()
        for metric, *point in rows.select("metric", "epoch", "step", "seconds", "value").rows():
            curves.setdefault(metric, []).append(tuple(point))
        yield str(source), preset, curves


def assert_alike(found: list[Any], written: list[Any]) -> None:
    for number, column in enumerate(zip(*written, strict=True)):
        read = [point[number] for point in found]
        if column[0] is None and number == 2 and read[0] is not None:
            continue  # another test asks what a clock without a start is worth
        assert read == (pytest.approx(column) if column[0] is not None else [*column])


@pytest.mark.parametrize("seed", DRAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_known_log_is_read_as_it_was_written(kind: str, seed: int, tmp_path: Path) -> None:
    draw = Draw(f"{kind} {seed}")
    written = {f"{setup}/seed{n}": KINDS[kind](draw) for setup in ("a", "b") for n in range(2)}
    files = {f"{place}/{name}": text for place, run in written.items()
             for name, text in run.files.items()}  # fmt: skip
    found = list(curves_in(write(tmp_path / "logs", files), kind if kind in NAMED else None))
    assert len(found) == len(written)
    for source, preset, curves in found:
        (run,) = (run for place, run in written.items() if f"/{place}/" in source)
        assert preset == (None if kind == "allennlp" else kind)
        for metric, curve in run.curves.items():
            assert_alike(curves[metric], curve)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {*NAMED, "allennlp"}))
def test_guess_names_the_preset_and_a_metric_that_can_be_typed(kind: str, tmp_path: Path) -> None:
    run = KINDS[kind](Draw(kind))
    folder = write(tmp_path, {f"a/{name}": text for name, text in run.files.items()})
    metric, curve = next(iter(run.curves.items()))
    best = max(point[3] for point in curve)
    answer = ask("runs", folder, "--guess", "--target", f"{metric}>={best}")
    other = ask("runs", folder, "--guess", "--target", f"{metric}<={best}")
    rows = [row for row in (*answer.rows, *other.rows) if row["reached"]]
    assert rows, answer.text + other.text


def test_means_over_folds_and_loops_of_single_epochs_are_of_no_preset() -> None:
    for line in (
        "[{}]\tcv_agg's auc: 0.91 + 0.01\n", "[{}]\ttrain-auc:0.9+0.01\ttest-auc:0.8+0.02\n",
        "Epoch 1/1\n9/9 - 5s - loss: 0.{} - val_loss: 0.3\n",
    ):  # fmt: skip
        log = "".join(line.format(number) for number in range(9))
        assert not config.matching_presets(log.encode(), "/logs/a.log")


def test_event_files_below_the_epochs_of_a_run_are_part_of_it(tmp_path: Path) -> None:
    run = allennlp(Draw(3))
    events = b"".join([first_event(1.7e9), *(scalar(1.7e9 + n, n, accuracy=0.5) for n in range(4))])
    name = "log/validation/events.out.tfevents.1700000000.node"
    write(tmp_path / "logs", {**run.files, name: events})
    assert len(list(curves_in(tmp_path / "logs"))) == 1


@pytest.mark.parametrize("pairs", [r"(?P<name>\w+)=\S+", "(?P<name>a)(?=(?P<value>b))", "1"])
def test_pairs_without_a_name_and_a_value_are_an_error(pairs: str) -> None:
    toml = f"[[logs]]\nline = '(?P<pairs>.*)'\npairs = '{pairs}'\n"
    with pytest.raises(TtastatsError, match=r"no groups|invalid regular expression") as caught:
        config.blocks(toml, "ttastats.toml", "/logs")
    assert caught.value.where == "ttastats.toml:3"


@pytest.mark.parametrize("seed", DRAWS)
def test_pairs_of_lines_of_ones_own_are_metrics_of_their_set(seed: int, tmp_path: Path) -> None:
    draw = Draw(seed)
    metrics = draw.sample(["wer", "cer", "bleu", "f1", "acc"], 2)
    values = [[draw.value() for _ in metrics] for _ in range(5)]
    told = [" ".join(map("{}~{}".format, metrics, row)) for row in values]
    lines = [f"{part} after {100 * step}: {text}" for step, text in enumerate(told, start=1)
             for part in ("fit", "dev")]  # fmt: skip
    write(tmp_path / "logs", {"run.txt": "\n".join(lines)})
    block = {
        "line": [r"^(?P<set>dev) after (?P<step>\d+): (?P<pairs>.*)"],
        "pairs": r"(?P<name>\w+)~(?P<value>\S+)", "metric": [f"dev_{name}" for name in metrics],
    }  # fmt: skip
    tta.ingest([tmp_path / "logs"], tmp_path / "out.parquet", block=block)
    rows = pl.read_parquet(tmp_path / "out.parquet").select("metric", "step", "value").rows()
    assert set(rows) == {
        (f"dev_{name}", 100 * step, value)
        for step, row in enumerate(values, start=1)
        for name, value in zip(metrics, row, strict=True)
    }


@pytest.mark.parametrize("kind", ["baselines", "sb3-progress"])
def test_monitors_beside_the_table_of_their_trainer_tell_no_run(kind: str, tmp_path: Path) -> None:
    monitor = '#{"t_start": 1700000000.5, "env_id": "CartPole-v1"}\nr,l,t\n9.0,9,1.5\n'
    files = {**KINDS[kind](Draw(kind)).files, "0.0.monitor.csv": monitor, "monitor.csv": monitor}
    ((_, preset, _),) = curves_in(write(tmp_path / "logs", files))
    assert preset == kind


def test_the_table_beside_a_log_of_flair_tells_no_run(tmp_path: Path) -> None:
    files = {**flair_log(Draw(1)).files, **flair(Draw(1)).files}
    ((_, preset, _),) = curves_in(write(tmp_path / "logs", files))
    assert preset == "flair-log"


def test_what_ray_writes_beside_the_table_of_a_trial_tells_no_run(tmp_path: Path) -> None:
    name, row = "events.out.tfevents.1700000000.node", {"episode_reward_mean": 9.5}
    events = first_event(1.7e9) + scalar(1.7e9 + 9, 4000, ray__tune__episode_reward_mean=9.5)
    write(tmp_path / "logs", {name: events, "result.json": f"{json.dumps(row)}\n"})
    write(tmp_path / "logs", KINDS["rllib"](Draw(7)).files)
    ((_, preset, _),) = curves_in(tmp_path / "logs")
    assert preset == "rllib"
