"""Logs of rounds and custom logs, random in content and spelling, are read as accepted.

One story of a run is told in each of the formats: events may be doubled, glued, torn, late, without
a time, in Python's notation or in nobody's; what lies beside the log may be broken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.accepted import Case, cases
from tests.random_cases import Draw, Files, at_random, read_files


class Event(NamedTuple):
    """One event: milliseconds, key, value, metadata."""

    time: float
    key: str
    value: Any
    about: dict[str, Any]


METRICS: dict[str, tuple[str | None, ...]] = {
    "resnet": (None,), "bert": (None,), "transformer": (None,), "ssd": (None,),
    "maskrcnn": ("BBOX", "SEGM"), "minigo": (None,), "unet3d": (None,), "own": ("acc", None),
    "stable_diffusion": ("FID", "CLIP"), "cosmoflow": (None,), "llama31_8b": (None,),
    "ncf": (None,),
}  # fmt: skip
ENDS: tuple[Any, ...] = ("success", "succuss", "aborted", "'abort' ", "x", "true", "false", None)
EPOCH_0 = 1_600_000_000_000


def story(draw: Draw, benchmark: str) -> Iterator[Event]:
    """Yield the events of a run in the order of the file, which need not be that of time."""
    clock = draw.choice([EPOCH_0, EPOCH_0, EPOCH_0, 5_000])

    def event(key: str, value: Any = None, chance: float = 0.95, **about: Any) -> Iterator[Event]:
        if draw.chance(chance):
            time = draw.odd(clock, 0.01)
            yield Event(time, key, draw.odd(value, 0.03), {k: draw.odd(v, 0.02)
                                                            for k, v in about.items()})  # fmt: skip

    yield from event("submission_benchmark", benchmark)
    yield from event("init_start", chance=0.5)
    for _ in range(draw.choice([0, 1, 3])):
        yield from event("seed", draw.choice([1, 2, "3", None]))
    for _ in range(draw.choice([0, 1, 3])):
        yield from event("run_clear_caches")
    yield from event("global_batch_size", draw.choice([32, 2048]))
    yield from event("eval_target", draw.choice([0.5, 25.0, "0.7"]), 0.2)
    yield from event("opt_base_learning_rate", draw.choice([None, 0.1]))
    clock += draw.choice([0, 90_500])
    yield from event("init_stop", chance=0.5)
    for _ in range(draw.choice([1, 1, 1, 2])):
        yield from event("run_start")
        clock += draw.choice([0, 0, 700])
    unit = draw.choice(["epoch_num", "epoch_num", "samples_count", "step_num"])
    size = {"epoch_num": draw.choice([1, 1, 4, 6_400, 30_000]), "samples_count": 4_096,
            "step_num": 100}[unit]  # fmt: skip
    first = draw.choice([0, 1, 1, -1])
    key = draw.choice(["eval_accuracy"] * 5 + ["eval_error"])
    for place in range(first, first + draw.randrange(0, 6)):
        count = {unit: size * place}
        yield from event("block_start", chance=0.5, **count)
        clock += draw.choice([1_000, 61_500, 0])
        yield from event("train_loss", 3.5 - place, 0.3, lr=0.5, **count)
        yield from event("tracked_stats", {"throughput": 9.5, "step": 3}, 0.3, **count)
        yield from event("train_epoch", f"{place}, but only 3 steps", 0.2)
        yield from event(draw.choice(["block_stop", "epoch_stop"]), chance=0.8, **count)
        clock += draw.choice([0, 3])
        yield from event("eval_start", chance=0.6, **count)
        clock += draw.choice([10, 2_000])
        for again in range(draw.choice([1, 1, 1, 2, 3])):
            yield from scored(draw, event, key, benchmark, count)
            clock += draw.choice([0, 5, 1_100]) if again else 0
    yield from event(
        "eval_result", 0.5, 0.8 * (benchmark == "minigo"), timestamp=draw.choice([2_500, None])
    )
    yield from event("train_samples", 30_000, 0.3)
    clock += draw.choice([0, 5, 100_000, -100_000])
    end = draw.choice(ENDS)
    for _ in range(draw.choice([0, 1, 1, 1, 1, 2])):
        yield from event("run_stop", *draw.choice([(None,), ({"success": end},), (end,)]),
                         status=draw.choice([None, end]))  # fmt: skip


def scored(
    draw: Draw,
    event: Callable[..., Iterator[Event]],
    key: str,
    benchmark: str,
    count: dict[str, Any],
) -> Iterator[Event]:
    metrics = METRICS[benchmark]
    values = [draw.choice([0.1, 0.4, 0.72, 0.76, 24.0, 76.0]) for _ in metrics]
    form = draw.randrange(12)
    if form == 0:
        named = {metric or "accuracy": v for metric, v in zip(metrics, values, strict=True)}
        yield from event(key, named, **count)
    elif form == 1:
        yield from event(key, [*values, 0.5][: draw.randrange(4)], **count)
    elif form == 2:
        yield from event(key, {"accuracy": str(values[0]), "epoch": 3}, **count)
    else:
        for metric, value in zip(metrics, values, strict=True):
            yield from event(key, value, metric=metric, **count)


# -------------------------------------------------------------------------------------- the formats


def payload(draw: Draw, value: Any) -> str:
    """Return a value as JSON, in Python's notation, without quotes, torn, or with a rest behind."""
    text = json.dumps(value)
    form = draw.randrange(24)
    if form == 0:
        return repr(value)
    if form == 1:
        return text.replace('"', "")
    if form == 2:
        return text[: draw.randrange(len(text) + 1)]
    return text + " and more" if form == 3 else text


def end(draw: Draw) -> str:
    return draw.choice(["\n"] * 20 + ["\r\n", "", "\nepoch 3: 40%|###   |\r", "\n:::ML\n"])


def mllog(draw: Draw, events: list[Event]) -> str:
    text = ""
    for time, key, value, about in events:
        official = {"namespace": "", "time_ms": time, "event_type": "POINT_IN_TIME", "key": key}
        if draw.chance(0.05):
            official = {"key": key, "time_s": draw.odd(1_600_000_100.5, 0.5)}
        event = official | {"value": value, "metadata": draw.odd(about, 0.02)}
        text += f":::MLLOG {payload(draw, event)}{end(draw)}"
    return text


def mll(draw: Draw, events: list[Event]) -> str:
    text = ""
    for time, key, value, about in events:
        body = payload(draw, {"value": value, "metadata": about})
        text += f":::MLL {stamp(time)} {key}: {body}{end(draw)}"
    return text


def v05(draw: Draw, events: list[Event], benchmark: str) -> str:
    text = ""
    for time, key, value, about in events:
        content: Any = value
        if key == "eval_accuracy" and draw.chance(0.8):
            content = {"epoch": about.get("epoch_num", 3), "value": value}
        elif key == "run_stop" and draw.chance(0.8):
            content = {"success": draw.choice([True, False, "x"])}
        elif key == "eval_start":
            content = about.get("epoch_num")
        body = "" if content is None else f": {payload(draw, content)}"
        text += f":::MLPv0.5.0 {benchmark} {stamp(time)} (a.py:7) {key}{body}{end(draw)}"
    return text


def stamp(time: Any) -> str:
    return f"{time / 1e3:.3f}" if type(time) in {int, float} and abs(time) < 1e20 else "1.2.3"


SYSTEMS = (
    b'{"number_of_nodes": "2", "accelerators_per_node": 8, "system_name": "x", "divison": "open"}',
    b'{"number_of_nodes": 2, "accelerator_model_name": "A100", "framework": "n/a",}',
    b'{"nodes": [{"num_nodes": 4, "num_accelerators": "8", "accelerator": "V100"}]}',
    b'{"nodes": [], "hardware": "TPU", "framework": " tf ", "division": "closed"}',
    b'nodes: {"value": 3}\nentry: {"value": "{\'nodes\': \\"{\'num_nodes\': 2, '
    b'\'num_accelerators\': 4}\\", \'division\': \'open\'}"}\n',
    b"[1", b"", b"\xff\xfe",
)  # fmt: skip


#: Folders above the results of a round, among them some that have but the name of one.
TOPS = ("training_results_v0.6", "training_results_v5.0", "hpc_results_v1.0", "results", "v0.5.0",
        "training_results_v9.9", "mine", "x/training_results_v4.1/closed",
        "v0.7/results/y")  # fmt: skip


def round_of(draw: Draw) -> Files:
    """Return a log in one of the formats, where a round has it or elsewhere."""
    benchmark = draw.choice(list(METRICS))
    events = list(story(draw, benchmark))
    while draw.chance(0.2) and events:
        events.insert(draw.randrange(len(events)), draw.choice(events))
    version = draw.choice(["v0.5", "v0.6", "v0.7", "v4.0", "v5.0", "hpc"])
    text = {"v0.5": lambda: v05(draw, events, benchmark), "v0.6": lambda: mll(draw, events)}.get(
        version, lambda: mllog(draw, events)
    )()
    usual = "hpc_results_v1.0" if version == "hpc" else f"training_results_{version}"
    top = f"/r/{draw.choice([usual, usual, usual, draw.choice(TOPS)])}"
    owner = f"{top}{draw.choice(['/Lab', '/Lab', '/Lab', '/Lab', '/Lab/entry', ''])}"
    system = f"{owner}{draw.choice(['/results/sys8'] * 6 + ['/results', ''])}"
    folder = f"{system}{draw.choice([f'/{benchmark}'] * 3 + ['/bert', '/x', ''])}"
    beside = {
        f"{owner}/systems/sys8.json": draw.choice(SYSTEMS),
        f"{owner}/results/sys8/entry.json": draw.choice(SYSTEMS),
        f"{folder}/scaling.json": draw.choice([b'{"scaling_factor": 1.04}', b"{", b"[]"]),
        f"{folder}/power/result_0/node_0.txt": watts(draw),
        f"{folder}/power/result_0/sw_1.txt": watts(draw),
        f"{folder}/power/result_0/notes.txt": b"none",
    }  # fmt: skip
    return {f"{folder}/result_0.txt": text.encode()} | draw.subset(beside, 0.6)


def watts(draw: Draw) -> bytes:
    """Return the log of a meter, which may begin late, end early, or hold only a constant."""
    first = draw.choice([-5_000, 0, 0, 4_000, 300_000])
    times = [EPOCH_0 + first + 15_000 * n for n in range(draw.choice([0, 1, 9, 30]))]
    draw.shuffle(times)
    rows: list[tuple[str, int | None, Any]] = [
        ("power_reading", time, draw.odd(draw.choice([100.0, 250.5]), 0.01)) for time in times
    ]
    rows += [("conversion_eff", EPOCH_0, draw.choice([None, 1.1, 0.9]))] * draw.randrange(3)
    if draw.chance(0.1):
        rows.append(("power_reading", None, 99.0))
    if draw.chance(0.2):
        rows += [("interconnect_power_est", EPOCH_0, w) for w in draw.sample([50.0, 80.0], 2)]
    lines = [json.dumps({"key": key, "time_ms": time, "value": value}) for key, time, value in rows]
    return "".join(f":::MLLOG {line}\n" for line in lines).encode()


def recorded(draw: Draw) -> Files:
    """Return the log of a custom run, with clocks and any metrics."""
    events = [Event(EPOCH_0, "recorder", draw.odd("ttastats", 0.1), {})]
    for event in story(draw, draw.choice(["own", "own", "resnet"])):
        about = dict(event.about)
        if event.key == "eval_accuracy":
            about |= {"cpu_seconds": draw.odd(3.5, 0.1), "training_seconds": 2.0}
            about["samples_count"] = draw.odd(128, 0.3)
        elif event.key == "run_stop":
            about["reason"] = draw.choice([None, "epochs", "seconds", "SIGTERM", "ValueError", ""])
        elif event.key == "eval_target":
            about["metric"] = draw.choice([None, "acc"])
            about["higher_is_better"] = draw.odd(value=True, probability=0.3)
        events.append(event._replace(about=about))
    return {"/own/digits/run_1.log": mllog(draw, events).encode()}


def dawnbench(draw: Draw) -> Files:
    """Return a table with its description, or a description alone."""
    described = json.dumps({
        "author": draw.odd(" Ann "), "hardware": draw.odd("8 x V100"), "framework": "torch",
        "costPerHour": draw.odd(24.48), "timestamp": draw.choice(["2018-4-20", "2018-13-1", 5]),
        "version": "v1", **draw.choice([{}, {"latency": 3}]),
        **draw.choice([{}, {}, {"ttastats": {"target": draw.odd(0.9), "benchmark": "digits",
                                             "entry": "sgd", "settings": {"seed": draw.odd(3)}}}]),
    })  # fmt: skip
    described = payload(draw, json.loads(described))
    folder = draw.choice(["/d/ImageNet/train", "/d/CIFAR10/train", "/d/x", "/d/squad/inference"])
    entry = {f"{folder}/entry.json": described.encode()}
    if draw.chance(0.2):
        return entry
    header = ["epoch", "hours", *draw.choice([["top1Accuracy", "top5Accuracy"], ["f1Score"],
                                              ["top1Accuracy"]])]  # fmt: skip
    draw.shuffle(header)
    first, pace = draw.choice([0, 0, 1]), draw.choice([0.0, 0.01, 0.5])
    rows = ["\t".join(header)]
    for epoch in range(first, first + draw.randrange(6)):
        row: dict[str, Any] = {"epoch": epoch, "hours": pace + 0.5 * (epoch - first)}
        cells = [str(draw.odd(row.get(name, 10.0 * epoch + 40), 0.03)) for name in header]
        rows.append("\t".join(cells[: draw.choice([1, *[len(cells)] * 20])]))
        rows += [""] * draw.choice([0, 0, 0, 1])
    table = draw.choice(["\n", "\r\n"]).join(rows).encode()
    return {f"{folder}/entry.tsv": table} | draw.subset(entry, 0.8)


MAKERS = ((round_of, 214), (recorded, 40), (dawnbench, 50))


@cases("random_logs", **at_random(MAKERS, read_files))
def test_random_rounds_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
