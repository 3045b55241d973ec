"""Traces of random content, and the sums of their steps, are read and explained as accepted.

Any event may lack its marks, be of another year's words, or lie outside of all steps; what was
measured beside the operators is there in part. All lengths are small whole numbers of microseconds.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.accepted import Case, cases, parts
from tests.conftest import plain
from tests.made_traces import Event, collective, event, kernel, launch, operator, step, trace
from tests.random_cases import Draw
from tests.test_accepted_answers import lines, several
from tests.test_accepted_answers import table as runs_of
from ttastats.answers.compare import compare
from ttastats.answers.profile import profile, profile_change
from ttastats.outcomes import time_to_target
from ttastats.report.row import Row
from ttastats.sides.pairing import Side
from ttastats.sides.question import Question
from ttastats.traces import answers, flops, kineto, table
from ttastats.traces.table import measure_row

pytestmark = pytest.mark.usefixtures("in_codes")


def inputs(
    shapes: Sequence[Any], kind: str = "float", concrete: Sequence[str] = ()
) -> dict[str, Any]:
    types = [kind if shape else "Scalar" for shape in shapes]
    texts = [*concrete, *[""] * (len(shapes) - len(concrete))]
    return {"Input Dims": shapes, "Input type": types, "Concrete Inputs": texts}


CONVOLVED = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
#: Operators with their inputs, and the kernels that they launch.
WORK: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("aten::addmm", inputs([[8], [4, 16], [16, 8], [], []]), ("ampere_sgemm_32x128_tn", "splitK")),
    ("aten::mm", inputs([[4, 16], [16, 8]], "c10::Half"), ("ampere_h16816gemm_64x64",)),
    ("aten::mm", inputs([[4, 16], [15, 8]]), ("odd_kernel",)),
    ("aten::mm", {}, ("sgemm",)),
    ("aten::convolution", inputs([[2, 3, 9, 9], [4, 3, 3, 3], [4], *[[]] * 6], "float", CONVOLVED),
     ("sm80_xmma_fprop_implicit_gemm", "nchwToNhwcKernel")),
    ("aten::native_batch_norm", inputs([[2, 3, 9, 9], [3], [3]]), ("bn_fw_tr_1C11_kernel_NCHW",)),
    ("aten::add_", inputs([[9, 9], [9]], "double"), ("void vectorized_elementwise_kernel<4>",)),
    ("aten::view", inputs([[9, 9]]), ()),
    ("aten::sum", inputs([[9, 0]], "long int"), ("reduce_kernel<512>",)),
    ("my::operator", {"Input Dims": "[[3", "Input type": ["x"]}, ("my_kernel",)),
)  # fmt: skip


def work_of(draw: Draw, start: float, number: int) -> Iterator[Event]:
    """Yield an operator, perhaps with one that it calls, and what it launches."""
    name, arguments, kernels = draw.choice(WORK)
    length = draw.choice([4, 8, 10])
    yield operator(name, start, length, number, **arguments)
    if draw.chance(0.4):
        inner, arguments, _ = draw.choice(WORK)
        within = draw.choice([1, 2, length - 1])
        yield operator(inner, start + 1, within, number + 50, **arguments)
        for depth in range(draw.choice([0, 0, 1, 2])):
            inner, arguments, _ = draw.choice(WORK)
            yield operator(
                inner, start + 1, within - 0.2 * (depth + 1), number + 60 + depth, **arguments
            )
    for place, kind in enumerate(kernels):
        begin = start + draw.choice([2, 5, 30])
        first = number + 1000 * place
        if draw.chance(0.9):
            yield launch(start + 1 + place, first)
        more = {} if draw.chance(0.8) else {"device": 1, "stream": "0x9"}
        yield kernel(kind, begin, draw.choice([5, 12, 20]), number, correlation=first + 100_000,
                     **more)  # fmt: skip


def step_of(draw: Draw, zero: float, first: int, *, on_device: bool) -> Iterator[Event]:
    """Yield the events of a step of 100 microseconds."""
    for place in range(draw.randrange(2, 5)):
        for span in work_of(draw, zero + 2 + 12 * place, first + place):
            if on_device or span["cat"] == "cpu_op":
                yield span
    if on_device and draw.chance(0.6):
        yield operator("c10d::allreduce_", zero + 50, 5, first + 20)
        yield launch(zero + 51, first + 20)
        yield collective(zero + draw.choice([40, 70]), 20, first + 20)
    if on_device and draw.chance(0.5):
        copy = kernel("Memcpy HtoD (Pageable -> Device)", zero + draw.choice([55, 80]), 6, -1,
                      bytes=4096, correlation=first + 7, device=draw.choice([0, 0, 1]))  # fmt: skip
        yield copy | {"cat": draw.choice(["gpu_memcpy", "Memcpy", "gpu_memset"])}
    if draw.chance(0.4):
        yield event("cuda_runtime", "cudaDeviceSynchronize", zero + 60, 30)
    if draw.chance(0.5):
        words = draw.choice(["enumerate(DataLoader)#_Iter.__next__", "DataLoader", "my note"])
        yield event("user_annotation", words, zero + draw.choice([0, 85]), 12)
    if draw.chance(0.5):
        yield event("user_annotation", "Optimizer.step#SGD.step", zero + 70, 20)
        yield operator("aten::add_", zero + 72, 6, first + 30)
        if on_device:
            yield kernel("multi_tensor_apply_kernel", zero + 74, 9, first + 30)


def events(draw: Draw) -> list[Event]:
    """Return the events of some steps, the first of which may be long; a host may run ahead."""
    on_device, ahead = draw.chance(0.7), draw.choice([0, 0, 0, 150])
    spans: list[Event] = []
    zero = draw.choice([0.0, 1e6])
    count = draw.choice([1, 3, 4, 5])
    for number in range(count):
        length = draw.choice([160.0, 140.0]) if number == 0 else 100.0
        if draw.chance(0.95):
            spans.append(step(number + 3, zero, length))
        for span in step_of(draw, zero, 100 * number + 1, on_device=on_device):
            late = ahead if span["cat"] == "kernel" else 0
            spans.append(span | {"ts": span["ts"] + late})
        zero += length
    if draw.chance(0.3):
        spans = [span for span in spans if not span["name"].startswith("ProfilerStep")]
    if draw.chance(0.3):
        fields = {"Device Type": draw.choice([0, 1]), "Device Id": 2, "Total Allocated": 5000}
        moment = event("cpu_instant_event", "[memory]", 5.0, 0, **fields)
        spans += [{key: value for key, value in moment.items() if key != "dur"} | {"ph": "i"}]
    if draw.chance(0.2):
        more = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": number
                for name, number in (("fadd", 5), ("ffma", 100))}  # fmt: skip
        spans.append(event("cuda_profiler_range", "sgemm", 0.0, 99.0, **draw.choice([more, {}])))
    return disturbed(draw, spans)


def disturbed(draw: Draw, spans: list[Event]) -> list[Event]:
    """Return events without some of their fields, in any order."""
    for span in spans:
        for words, chance in (("External id", 0.03), ("correlation", 0.03), ("Input Dims", 0.03)):
            if draw.chance(chance):
                span["args"].pop(words, None)
    if draw.chance(0.3):
        draw.shuffle(spans)
    return spans


def read(draw: Draw) -> kineto.ReadTrace:
    rank = draw.choice([None, None, 0, 3])
    spans = events(draw)
    data = json.dumps(spans).encode() if draw.chance(0.1) else trace(spans, rank)
    data = draw.choice([b"", b"", b"", b"\xef\xbb\xbf"]) + data
    if draw.chance(0.2):
        data = data.replace(b'"dur": 20', b'"dur": inf', 1)
    if draw.chance(0.2):
        data = data[: draw.randrange(len(data) // 2, len(data))]
    return kineto.read_trace([data])


def described(result: kineto.ReadTrace) -> Iterator[Any]:
    """Yield what a trace says: its rows in a fixed order, without unknown values."""
    yield [result.rank, result.world_size, result.origin]
    for problem in result.problems:
        yield [problem.code, problem.message]
    known = (
        {key: plain(value) for key, value in row.items() if value is not None and key not in SAME}
        for row in result.rows.iter_rows(named=True)
    )
    yield from sorted(known, key=json.dumps)


SAME = ("device", "unit")


def of_rows(seed: int) -> Iterator[str]:
    return (f"{seed} {json.dumps(line)}" for line in described(read(Draw(f"trace {seed}"))))


# ------------------------------------------------------------------------------------ their answers


def measured(draw: Draw) -> Iterator[Mapping[str, Any]]:
    """Yield what a profiler may have measured beside a trace."""
    note = "by CPU time of the thread"
    every = [
        measure_row("uninstrumented_step_seconds", draw.choice([2e-5, 1e-4, 1.2e-4]), text=note),
        measure_row("wall_step_seconds", draw.choice([1e-4, 1.1e-4, 1.2e-4])),
        measure_row("step_flops", 1e6), measure_row("peak_flops", 1e11, of="fp32"),
        measure_row("peak_flops", 9e11, of="bf16"), measure_row("precision", text="fp32"),
        measure_row("peak_bandwidth", draw.choice([1e9, 1e10]), of="cpu"), measure_row("power",
        300.0),
        measure_row("samples_per_second", 640.0, of="64"), measure_row("batch_size", 64,
        text="too large"),
        measure_row("cpu_utilization", 0.5), measure_row("tensor_core_utilization", 0.25),
        measure_row("gpu_utilization", 0.75), measure_row("memory_utilization", 0.125),
        measure_row("saturation_batch_size", draw.choice([None, 16.0]), text="a rule"),
        *(measure_row("memory_bytes", size, of="weights") for size in (5e6, 6e6)),
        measure_row("memory_bytes", 7e6, of="gradients"),
        *(measure_row("batch_samples_per_second", rate, of=size)
          for size, rate in draw.sample([("8", 100.0), ("16", 190.0), ("64", 250.0)], 2)),
        measure_row("batch_step_flops", 5e6, of="16"), measure_row("batch_cpu_utilization",
        0.9, of="8"),
        measure_row("workers_step_seconds", 0.02, of="2"), measure_row("workers_sent_bytes",
        99, of="2"),
        measure_row("workers_under_way_seconds", 0.01, of="2"),
        measure_row("workers_exposed_seconds", 0.0, of="2"),
    ]  # fmt: skip
    yield from (row for row in every if draw.chance(0.6))
    whole = draw.choice(["all layers", "everything"])
    if draw.chance(0.5):
        for kind, seconds in ((whole, 0.011), ("all but batch norm", 0.008)):
            yield measure_row("ablated_step_seconds", seconds, of=kind)
            yield measure_row("ablated_step_flops", 4e8, of=kind)


def profiled(draw: Draw, name: str) -> pl.DataFrame:
    """Return a profile of one rank or some, with what was measured beside."""
    count = draw.choice([0, 0, 2, 3])
    none = [None] if draw.chance(0.9) else []
    numbers = pl.Series("rank", range(count) if count else none, dtype=pl.Int64)
    ranks = [read(draw).rows.with_columns(rank=pl.lit(number, pl.Int64)) for number in numbers]
    more = table.frame_of(list(measured(draw)) if draw.chance(0.6) else [])
    rows = pl.concat([table.concatenated(ranks), table.concatenated([more])])
    return rows.with_columns(profile=pl.lit(name), profile_id=pl.lit(name))


def of_profiles(seed: int) -> Iterator[str]:
    draw = Draw(f"profile {seed}")
    a, b = (
        pl.concat([profiled(draw, f"{side} {n}") for n in range(draw.choice([1, 1, 2, 3]))])
        for side in "ab"
    )
    yield from lines(profile.report(a, top=draw.choice([0, 2, 10])))
    yield from lines(profile_change.report(a, b, ("a", "b"), confidence=0.9))


def pace(draw: Draw, side: str) -> pl.DataFrame:
    """Return runs with any of epochs, samples and steps, of the profiled work or of another."""
    known = draw.choice([True, True, None, False])
    facts: dict[str, Any] = {
        "benchmark": draw.choice(["made", "lm"]), "accelerators": draw.choice([1, 1, 2, None]),
        "hardware": draw.choice([None, "A100", "NVIDIA H100 80GB"]),
        "global_batch_size": draw.choice([None, 64, 128]),
        "train_samples": draw.choice([None, 1000]),
    }  # fmt: skip
    seconds = 20.0 if side == "A" else draw.choice([14.0, 20.0, 26.0])
    runs = several(draw.randrange(99), seconds, (5, 6, 5, 6), noise=0.01, progress=known, **facts)
    if draw.chance(0.3):
        runs = [
            replace(run, evaluations=tuple(
                replace(e, samples=None, step=10 * e.index + 10) for e in run.evaluations))
            for run in runs
        ]  # fmt: skip
    return runs_of(runs)


OF_FACTORS = ("_factor", "_factor_low", "_factor_high", "_share", "_seconds")


def explained(seed: int) -> Iterator[str]:
    """Yield how random profiles explain random runs."""
    draw = Draw(f"explained {seed}")
    profiles = [
        pl.concat([profiled(draw, f"{side} {n}") for n in range(draw.choice([1, 2, 2]))])
        .with_columns(
            origin=pl.lit(draw.choice(["recorded", "kineto"])),
            source=pl.lit(draw.choice(["made", "made", "train.py"])),
        )
        for side in "AB"
    ]  # fmt: skip
    device = [
        table.frame_of([measure_row("device_name", text=draw.choice(["Tesla A100", "a GPU"]))],
                    profile=rows["profile"][0], profile_id=rows["profile_id"][0])
        for rows in profiles
    ]  # fmt: skip
    profiles = [pl.concat(both) for both in zip(profiles, device, strict=True)]
    benchmark = draw.choice(["made", "made", "other"])
    sides = [
        Side(side, time_to_target.runs(pace(draw, side)
             .with_columns(benchmark=pl.lit(benchmark))))
        for side in "AB"
    ]  # fmt: skip
    report = compare.times_report(
        sides[0], sides[1:], Question(by=["benchmark"]), profiles=profiles
    )
    records = tuple(
        Row(keys={key: value for key, value in row.items() if key.endswith(OF_FACTORS)})
        for row in report.rows
    )
    shown = dataclasses.replace(report, records=records, tables=report.tables[1:], against=())
    yield f"-- {seed}"
    yield from lines(shown)


# -------------------------------------------------------------------------------------------- FLOPs

#: Of three inputs of two, three, four and five dimensions, and what is no shape.
SHAPES: tuple[Sequence[Any], ...] = (
    [[4, 16], [16, 8], [5]], [[5], [4, 16], [16, 8]], [[3, 4, 16], [3, 16, 8], [5]],
    [[5], [3, 4, 16], [3, 16, 8]], [[4, 16], [8, 16], [8]], [[2, 4, 16], [8, 16], [8]],
    [[2, 3, 9, 7], [4, 3, 3, 2], [4]], [[2, 3, 9, 7], [3, 4, 3, 2], []],
    [[2, 4, 5, 4], [2, 3, 9, 7], [4, 3, 3, 2]], [[2, 3, 9, 7], [2, 4, 5, 4], [4, 3, 3, 2]],
    [[2, 3, 9], [4, 3, 3], [4]], [[2, 3, 8, 5], [2, 3, 7, 5], [2, 3, 7, 6], [2, 3, 7, 6]],
    [[2, 3, 8, 5], [2, 3, 7, 5], [2, 3, 7, 6], [2, 3, 7, 6], [], [5]],
    [[2, 3, 8, 6], [2, 3, 8, 5], [2, 3, 7, 5], [2, 3, 7, 6]], [[], [4, 16]], [[4, "x"], [16, 8]],
    [],
)  # fmt: skip
CONCRETE: tuple[list[str], ...] = (
    list(CONVOLVED), ["", "", "", "[2]", "1", "[1, 2]", "True", "[1, 0]", "3"],
    ["", "", "[1, 1]", "[2, 1]", "[1, 2]", "x"],
    ["", "", "", *["[2, 1]"] * 2, "[1, 1]", "", "False", "[0, 0]", "1", "[True, True, False]"],
    ["", "", "", "", "", "", "", "True", "[0, 0]", "1", "[True, False, False]"], [],
)  # fmt: skip


def flops_and_bytes() -> Iterator[str]:
    for name in sorted(flops.COUNTED):
        for shapes in SHAPES:
            for number, concrete in enumerate(CONCRETE):
                cost = flops.call_cost(name, flops.Inputs(shapes, (), concrete))
                if cost is not None:
                    yield f"{name} {shapes} {number}: {cost.flops} {cost.output}"
    for name in ("aten::add", "aten::view", "empty_like", "aten::mm"):
        for kinds in (["float", "c10::Half", "Long"], ["Double"], ["strange", "bool"], []):
            for shapes in SHAPES[::3]:
                given = flops.Inputs(shapes, kinds)
                moved = [flops.bytes_moved(name, given, output) for output in (None, 0, 1000)]
                if any(size is not None for size in moved):
                    yield f"{name} {shapes} {kinds}: {moved}"
    sizes = {
        kind: flops.bytes_moved("aten::add", flops.Inputs([[5]], [kind])) for kind in flops._SIZES
    }
    yield f"{sizes}"


@cases(
    "traces",
    **parts("rows", of_rows, 12, 4),
    **parts("answers", of_profiles, 8, 8),
    **parts("explained", explained, 6),
    flops=flops_and_bytes,
)
def test_random_traces_are_read_and_answered_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_work_of_the_host_has_no_part_in_the_share_of_compute_bound_work() -> None:
    longs = {"convolution": 6.0, "batch norm": 3.0, "other": 1.0, "input": 5.0}
    rows = table.frame_of(
        [{"kind": "operator", "category": kind, "seconds": long} for kind, long in longs.items()]
    )
    assert answers.compute_bound_share(rows) == pytest.approx(6 / 9)
    on_device = rows.with_columns(kind=pl.lit("kernel"))
    assert answers.compute_bound_share(on_device) == pytest.approx(6 / 15)
