"""Measure here what two papers show of utilization: plots into a folder, tables beside theirs.

    python examples/reproduce_paper/utilization FOLDER

Coleman et al. (2019), "Analysis of DAWNBench", sections 5.1 and 5.2: Figures 5 to 8 and 11, Tables
8 and 9. Zhu et al. (2018), "TBD: Benchmarking and Analyzing Deep Neural Network Training": Figures
4, 6, 7 and 8, Tables V and VI. Profiles that the folder holds already are not recorded again. What
cannot be measured on this machine, and why, stands in docs/profile.md.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from ttastats import api
from ttastats.base.codes import Note
from ttastats.base.errors import TtastatsError
from ttastats.output.plots import drawing
from ttastats.report import as_table
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.traces import answers
from ttastats.traces.table import read_profiles, write_profile
from ttastats.trainer.profiler import workload
from ttastats.trainer.profiler.workload import Request
from ttastats.trainer.settings import Overrides

#: The network of DAWNBench at a quarter of its width, on a batch that a CPU takes in seconds.
_CIFAR10 = Overrides({"width": 16, "batch_size": 32})
_RESIDUAL = str(Path(__file__).parents[2] / "workloads" / "cifar10.py")
#: What is recorded, by the name of its file. Residual networks stand for the papers' ResNet-50, a
#: small transformer for their translators.
PROFILES: Mapping[str, Request] = {
    "cifar10": Request(_RESIDUAL, _CIFAR10, batch_sizes=(), ablation=True),
    "cifar10_no_norm": Request(_RESIDUAL, _CIFAR10, without=("batch norm",)),
    "cifar10_no_norm_no_relu": Request(_RESIDUAL, _CIFAR10, without=("batch norm", "relu")),
    "digits": Request("digits", Overrides(), batch_sizes=()),
    "digits_lm": Request("digits-lm", Overrides(), batch_sizes=()),
    "digits_2_workers": Request("digits", Overrides({"workers": 2})),
    "digits_lm_2_workers": Request("digits-lm", Overrides({"workers": 2})),
}
#: The plots, by the name of their file: their kind and the profiles in them.
PLOTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "figures_5_and_6_communication": ("workers", ("digits_2_workers", "digits_lm_2_workers")),
    "figures_7_and_8_roofline": ("roofline", ("cifar10", "digits", "digits_lm")),
    "figure_11_share_of_time": (
        "work",
        ("cifar10", "cifar10_no_norm", "cifar10_no_norm_no_relu"),
    ),
    "tbd_figures_4_6_and_7_batch_size": ("batch-sizes", ("cifar10", "digits", "digits_lm")),
    "tbd_figure_8_memory": ("memory", ("cifar10", "digits", "digits_lm")),
}
_ONE_WORKER = ("cifar10", "digits", "digits_lm")
_LONGEST = 5
_NOTES = (
    Note(
        "tbd",
        "TBD counts the fp32 instructions of each GPU kernel. Here the FLOPs of products, "
        "convolutions and attention are counted and no others, so most operators have no "
        "utilization; that of batch norm is estimated. The kernels of cuDNN and MAGMA run on GPUs "
        "only.",
    ),
)


def main(arguments: list[str]) -> int:
    """Record, draw and print; return the exit code."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, request in PROFILES.items():
            _record(folder / f"{name}.parquet", request)
        for name, (kind, shown) in PLOTS.items():
            files = [folder / f"{stem}.parquet" for stem in shown]
            drawn = drawing.render_svg(api.plot_profiles(kind, files))
            (folder / f"{name}.svg").write_text(drawn, "utf-8")
    except (TtastatsError, OSError) as error:
        print(f"utilization: {error}", file=sys.stderr)
        return 2
    as_table.print_report(tables(folder), Console(width=130), verbose=True)
    print(f"plots: {folder}/*.svg")
    return 0


def _record(path: Path, request: Request) -> None:
    if not path.exists():
        print(f"recording {path.stem} ...", file=sys.stderr)
        write_profile(workload.profile_workload(request), path)


def tables(folder: Path) -> Report:
    """Return the tables of both papers from the profiles of a folder."""
    paper = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
    rows = {name: read_profiles([folder / f"{name}.parquet"]) for name in PROFILES}
    answered = {name: api.profiled(folder / f"{name}.parquet").rows for name in PROFILES}
    return Report(
        "utilization",
        (),
        (
            _communication(paper, answered),
            _whole_steps(paper["single_worker"], rows, answered),
            _layers(answered["cifar10"]),
            _longest(paper["tbd_kernels"], answered),
            _batch_norm(paper["tbd_kernels"], answered),
            _feature_maps(paper["tbd_feature_maps"], answered),
        ),
        _NOTES,
    )


Rows = Sequence[Mapping[str, Any]]


def _columns(first: str, *numbers: str) -> tuple[Column, ...]:
    return Column(first), *(Column(name, "right") for name in numbers)


def _of(rows: Rows, section: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["section"] == section]


def _communication(paper: Mapping[str, Any], answered: Mapping[str, Rows]) -> Table:
    """Return Tables 8 and 9, and below them ours, measured in three ways."""
    columns = _columns("Tables 8, 9: communication", "of the time", "exposed", "pure")
    theirs = [
        Line((Text(f"paper: {name}"), Quantity(percent / 100, "fraction"), Text("–"), Text("–")))
        for table in ("table_8", "table_9")
        for name, percent in paper[table].items()
    ]
    shares = ("under_way_share", "exposed_share", "pure_share")
    ours = [
        Line((
            Text(f"here: {row['profile']}, gloo"),
            *(Quantity(row[share], "fraction") for share in shares),
        ))
        for name in PROFILES
        for row in _of(answered[name], "workers")
    ]  # fmt: skip
    return Table(columns, tuple(theirs + ours))


def _whole_steps(
    paper: Mapping[str, float], rows: Mapping[str, pl.DataFrame], answered: Mapping[str, Rows]
) -> Table:
    """Return the utilization of whole steps, and the time in slow operators (section 5.2)."""
    below = paper["slow_below"] / paper["peak"]
    slow_time = f"time below {below:.0%} of peak"
    columns = _columns("Section 5.2: one worker", "FLOP/s", "of peak", slow_time, "cores busy")
    achieved = Quantity(paper["achieved"] * 1e12, "flop/second")
    share = Quantity(paper["achieved"] / paper["peak"], "fraction")
    slow = Quantity(paper["slow_share"], "fraction")
    less = Quantity(paper["slow_share_without_batch_norm"], "fraction")
    body = [
        Line((Text("paper: ResNet-50, fp32, V100"), achieved, share, slow, Text("–"))),
        Line((Text("paper: without batch norm"), Text("–"), Text("–"), less, Text("–"))),
    ]
    for name in PROFILES:
        values = {row["name"]: row["value"] for row in _of(answered[name], "measured")}
        body.append(
            Line((
                Text(f"here: {answered[name][0]['profile']}"),
                Quantity(values["flops_per_second"], "flop/second"),
                Quantity(values["utilization"], "fraction"),
                Quantity(_slow_share(rows[name], below), "fraction"),
                Quantity(values["cpu_utilization"], "fraction"),
            ))
        )  # fmt: skip
    return Table(columns, tuple(body))


def _slow_share(rows: pl.DataFrame, below: float) -> float:
    """Return the share of time in operators slower than some share of the peak."""
    fastest = answers.peak(rows, "peak_flops") or 0.0
    rates = pl.col("flops_per_second").fill_null(0.0)
    slow = answers.operator_table(rows).filter(rates < below * fastest)
    return float(slow["share"].sum())


def _layers(rows: Rows) -> Table:
    """Return the ablation behind Figure 11, whose variants took turns."""
    columns = _columns("Figure 11: cifar10", "step", "speedup", "of peak")
    body = (
        Line((
            Text(row["name"]),
            Quantity(row["seconds"], "seconds"),
            Quantity(row["speedup"], "ratio"),
            Quantity(row["utilization"], "fraction"),
        ))
        for row in _of(rows, "ablation")
    )  # fmt: skip
    return Table(columns, tuple(body))


def _kernels(
    paper: Sequence[Mapping[str, Any]], answered: Mapping[str, Rows]
) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the longest kernels below the average of TBD, and operators here not above theirs."""
    here = {
        f"here: {name}": [
            {**row, "batch_norm": row["category"] == "batch norm"}
            for row in _of(answered[name], "operator")
            if row["of_average"] is None or row["of_average"] < 1
        ][:_LONGEST]
        for name in _ONE_WORKER
    }
    return {row["row"]: row["kernels"] for row in paper} | here


def _longest(paper: Sequence[Mapping[str, Any]], answered: Mapping[str, Rows]) -> Table:
    kernel = _columns("longest not above average", "share of time", "of fp32 peak")
    columns = (Column("TBD, Tables V and VI"), *kernel)
    body = (
        Line((
            Text(name),
            Text(kernel["name"]),
            Quantity(kernel["share"], "fraction"),
            Quantity(kernel["utilization"], "fraction"),
        ))
        for name, kernels in _kernels(paper, answered).items()
        for kernel in kernels
    )  # fmt: skip
    return Table(columns, tuple(body))


def _batch_norm(paper: Sequence[Mapping[str, Any]], answered: Mapping[str, Rows]) -> Table:
    """Return whether batch norm is among the longest operators, and how far below the average.

    Its FLOPs are not counted here. Reading two values and writing one of four bytes, it computes
    with each about ten times: about one FLOP per byte.
    """
    numbers = ("operators", "share of time", "of average, at 1 FLOP/byte")
    columns = (*_columns("batch norm among them", *numbers), Column("as in TBD"))
    estimates = {f"here: {name}": _of_average(answered[name]) for name in _ONE_WORKER}
    body = []
    for name, kernels in _kernels(paper, answered).items():
        shares = [kernel["share"] for kernel in kernels if kernel.get("batch_norm")]
        estimate = estimates.get(name)
        agrees = "yes" if shares and estimate is not None and estimate < 1 else "no"
        if estimate is None:
            agrees = "has no batch norm" if name in estimates else "–"
        cells = (
            Text(name),
            Text(f"{len(shares)} of {len(kernels)}"),
            Quantity(sum(shares), "fraction"),
            Quantity(estimate, "fraction") if name in estimates else Text("below 100%"),
            Text(agrees),
        )
        body.append(Line(cells))
    return Table(columns, tuple(body))


def _of_average(rows: Rows) -> float | None:
    """Return the FLOP/s of batch norm, at one per byte, over the average; None without any."""
    norms = [row for row in _of(rows, "operator") if row["category"] == "batch norm"]
    if not norms:
        return None
    moved = sum(row["bytes"] for row in norms) / sum(row["seconds"] for row in norms)
    return float(moved / norms[0]["average_flops_per_second"])


def _feature_maps(paper: Mapping[str, float], answered: Mapping[str, Rows]) -> Table:
    """Return the share of memory that feature maps take at the peak of a step."""
    columns = _columns("TBD, Figure 8: memory of a step", "feature maps", "in all")
    body = [
        Line((Text(f"paper: {name}"), Quantity(share, "fraction"), Text("–")))
        for name, share in paper.items()
    ]
    for name in _ONE_WORKER:
        sizes = {row["name"]: row["bytes"] for row in _of(answered[name], "memory")}
        total = sum(sizes.values())
        share = Quantity(sizes["feature maps"] / total, "fraction")
        body.append(Line((Text(f"here: {name}"), share, Quantity(total, "bytes"))))
    return Table(columns, tuple(body))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
