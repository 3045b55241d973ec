"""Command lines about tables: every command, with random options."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchmarks.fuzz.columns import HOSTILE
from ttastats.answers.record import record_checks
from ttastats.output.plots import kinds, tta

FORMATS = ("json", "json", "json", "table", "md", "csv")
TARGETS = (
    "0.5",
    "0.7",
    "75%",
    "accuracy=0.9",
    "top1_accuracy>=0.7",
    "eval_loss<=0.95",
    "score=0.5",
)
CONDITIONS = (
    *("nodes>=1", "run_status!=aborted", "system=*", "reached=false", "epochs>1", "cv>=0"),
    *("benchmark=*", "started_at>2020-01-01", "seed<4", "problems=*", "submitter=nobody"),
)
#: Columns of the answers by which they can be sorted.
SORTED = {
    "runs": ("tta", "source", "-reached"),
    "summary": ("tta", "-cv", "n"),
    "variance": ("epochs", "-cv_ratio", "n"),
    "score": ("score", "-n"),
    "rcp": ("ratio", "-n"),
}
GROUPS = (
    *("system", "submitter", "hardware", "benchmark", "accelerators", "global_batch_size"),
    *("reached", "target_value", "evaluations", "set_aside", "run_id,source", "extra", "epochs"),
    *("run_status", "started_at", "scaling_factor", "source", "division,seed", "benchmark,system"),
)
#: What the way to a target may be counted in.
AXES = (
    *(["epochs"], ["steps"], ["samples"], ["evaluations"], ["energy"], ["cpu-seconds"], ["cost"]),
    ["cost", "--price", "3"],
)
SIDES = (
    *(
        "--margin=5%",
        "--estimand=geomean",
        "--same-convergence",
        "--epochs-fixed",
        "--fdr",
        "--pool",
    ),
    *("--ddof=0", "--confidence=80%", "--fail-on=slower:2%", "--require=not-slower:2%"),
)


def questions(
    rng: random.Random, paths: Sequence[Path], folder: Path, *, draw: bool
) -> list[list[str]]:
    """Return a command line for each command, two plots and the report, of one table or two.

    With `draw` plots become SVG, which takes long; else a page that draws them when opened.
    """
    files = [str(path) for path in paths]
    ours = files[:1]
    commands = [
        ["runs", *ours, *chosen(rng, ("where", "target"))],
        ["summary", *ours, *chosen(rng, ("by", "where", "target", "ddof", "-v", "in"))],
        ["variance", *ours, *chosen(rng, ("by", "where", "target", "ddof", "in"))],
        ["effects", *ours, "--on", "system,seed", *chosen(rng, ("by", "where", "target", "in"))],
        ["power", *ours, *chosen(rng, ("by", "where", "target", "power", "in"))],
        ["scaling", *ours, *chosen(rng, ("by", "where", "target", "in"))],
        ["history", *ours, *chosen(rng, ("by", "where", "target", "in"))],
        ["score", *ours, *chosen(rng, ("by", "where"))],
        ["rcp", *ours, *chosen(rng, ("by", "where"))],
        ["claim", *ours, *claimed(rng), *chosen(rng, ("by", "where", "in"))],
        ["record", *files, *ruled(rng), *chosen(rng, ("where",))],
        ["profile", *ours],
        ["problems", *files, *chosen(rng, ("where",))],
        ["compare", *files, *rng.sample(SIDES, rng.choice((0, 0, 1, 2, 4)))],
        [
            "compare",
            *files,
            *sides(rng),
            *chosen(rng, ("by", "target", "-v", "wide", "label", "in")),
        ],
        ["compare", *ours, *parts(rng, paths[0]), *sides(rng), *chosen(rng, ("by", "-v", "in"))],
        ["targets", *files, *chosen(rng, ("points", "metric"))],
        ["targets", *ours, *chosen(rng, ("where", "by", "points", "metric", "in"))],
        ["rank", *ours, *chosen(rng, ("by", "where", "target", "in"))],
    ]
    answers = [[*words, *in_order(rng, words[0]), "-f", rng.choice(FORMATS)] for words in commands]
    return [*answers, *files_of(rng, files, folder, draw=draw)]


def files_of(
    rng: random.Random, files: Sequence[str], folder: Path, *, draw: bool
) -> list[list[str]]:
    """Return the command lines that write files."""
    ours = files[:1]
    commands = [
        ["plot", kind, *inputs, "-o", f"{folder}/{kind}.{'svg' if draw else 'html'}"]
        for kind, inputs in zip(rng.sample(sorted(kinds.KINDS), 2), (ours, files), strict=True)
    ]
    ends = ("rows.csv", "rows.jsonl", "logs")
    return [
        *([*words, *chosen(rng, ("by", "target", "pool", "in"))] for words in commands),
        ["plot", rng.choice(tta.KINDS), *files],
        *(["export", *ours, "-o", f"{folder}/{name}"] for name in rng.sample(ends, 2)),
        ["filter", *files, *chosen(rng, ("where",)), "-o", f"{folder}/filtered.parquet"],
        report(rng, files, folder),
    ]


def report(rng: random.Random, files: Sequence[str], folder: Path) -> list[str]:
    """Return the command line of a page of one or two tables, which draws every plot."""
    options = chosen(rng, ("by", "target", "title", "in"))
    if rng.random() < 0.5:
        return ["report", files[0], "-o", f"{folder}/one.html", *options, *chosen(rng, ("where",))]
    return ["report", *files, "-o", f"{folder}/two.html", *options, *sides(rng)]


def chosen(rng: random.Random, kinds: Sequence[str]) -> list[str]:
    """Return some options of a command, mostly few."""
    words = {
        "by": ["--by", rng.choice(GROUPS)],
        "where": ["--where", rng.choice(CONDITIONS)],
        "target": ["--target", rng.choice(TARGETS)],
        "label": ["--label", rng.choice(HOSTILE), "--label", rng.choice(HOSTILE)],
        "points": ["--points", "3"],
        "metric": ["--metric", rng.choice(("accuracy", "top1_accuracy", "bbox_map"))],
        "in": ["--in", *rng.choice(AXES)],
        "title": ["--title", rng.choice(HOSTILE)],
        "power": ["--runs", "5", "--detect", "5%"],
    }
    flags = {"ddof": ["--ddof", "0"], "-v": ["-v"], "wide": ["--wide"], "pool": ["--pool"]}
    return [word for kind in kinds if rng.random() < 0.2 for word in (words | flags)[kind]]


def claimed(rng: random.Random) -> list[str]:
    """Return the options of a claim."""
    return rng.choice((["--quality", rng.choice(TARGETS)], ["--seconds", "100"], ["--steps", "50"]))


def ruled(rng: random.Random) -> list[str]:
    """Return rules of a contest, mostly those that suit any table."""
    rules = rng.choice(("plain", "plain", *record_checks.all_rules()))
    return ["--rules", rules, *chosen(rng, ("target", "metric"))]


def in_order(rng: random.Random, command: str) -> list[str]:
    """Return an order of the rows, for the commands that take one."""
    if command not in SORTED or rng.random() < 0.7:
        return []
    return ["--sort", rng.choice(SORTED[command]), "--top", rng.choice(("0", "1"))]


def sides(rng: random.Random) -> list[str]:
    """Return some of the options of a comparison."""
    return rng.sample(SIDES, rng.choice((0, 1, 2)))


def parts(rng: random.Random, path: Path) -> list[str]:
    """Return two parts of one file by the values of one of its columns."""
    names = ("system", "submitter", "hardware", "accelerators", "benchmark", "run_status")
    values_by_name = {name: values(path, name) for name in names}
    several = [name for name in names if len(values_by_name[name]) > 1]
    name = rng.choice(several or names)
    odd = ["nobody", rng.choice(HOSTILE)]
    a, b = rng.sample(
        values_by_name[name] if several and rng.random() < 0.8 else [*values_by_name[name], *odd], 2
    )
    return ["--a", f"{name}={a}", "--b", f"{name}={b}"]


def values(path: Path, name: str) -> list[str]:
    """Return the values of a column, in no order; none where it cannot be read."""
    try:
        column = pl.read_parquet(path, columns=[name]).get_column(name)
    except (pl.exceptions.PolarsError, OSError):
        return []
    return sorted(map(str, column.drop_nulls().unique()))
