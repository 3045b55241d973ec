"""Odd traces, and odd arrays in them, are read as accepted.

Traces are of other years, of several threads, with texts for numbers, numbers that are too large,
damaged bytes, and heads that tell too little. What is looked at some at a time is cut after every
few. Each is a line with a digest of all that was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
import xxhash

from tests import accepted
from tests.accepted import Case, cases
from tests.conftest import plain
from tests.made_traces import BACKWARD, HEAD, Event, collective, event, kernel, operator
from tests.random_cases import Draw, at_random
from tests.test_random_traces import described, events
from ttastats.base.streams import UnreadableError
from ttastats.traces import analysis, answers, categories, kineto, pieces, steps, work
from ttastats.traces import events as of_events
from ttastats.traces.table import MEASURES, measure_row

# ----------------------------------------------------------------------------------------- traces

#: What may stand where a number of an event was.
ODD: tuple[Any, ...] = (None, "7", "0x1f", "x", -5, 0, 1, 70_000, 2**31, 2**40, 2**70, 0.0)
OF_2021 = {"cpu_op": "Operator", "kernel": "Kernel", "gpu_memcpy": "Memcpy", "cuda_runtime":
           "Runtime", "user_annotation": "User Annotation", "gpu_memset": "Memset"}  # fmt: skip


def of_2021(spans: list[Event]) -> list[Event]:
    """Return categories in capitals, ids in small letters, and steps that are operators."""
    for span in spans:
        span["cat"] = OF_2021.get(span["cat"], span["cat"])
        if span["name"].startswith("ProfilerStep"):
            span["cat"] = "Operator"
        if "External id" in span["args"]:
            span["args"]["external id"] = span["args"].pop("External id")
    return spans


def of_2022(spans: list[Event]) -> list[Event]:
    """Return kernels whose external id repeats their correlation, which others have as theirs."""
    for span in spans:
        if isinstance(span["args"].get("correlation"), int):
            span["args"]["correlation"] -= 99_999
        if span["cat"] == "kernel":
            span["args"]["External id"] = span["args"].get("correlation", 0)
    return spans


def before_kineto(spans: list[Event]) -> list[Event]:
    """Return events without categories, by the machine that they are of."""
    for span in spans:
        kind = span.pop("cat")
        span["pid"] = {"cpu_op": "CPU functions", "kernel": "CUDA functions"}.get(kind, "other")
    return spans


YEARS = (list, list, list, of_2021, of_2021, of_2022, before_kineto)


def more(draw: Draw) -> Iterator[Event]:
    """Yield odd annotations, copies, collectives, memory events and instruction counts."""
    for words in draw.sample(["ProfilerStep#x", "7", "ProfilerStep", "Optimizer.zero", "DataLoader",
                              "enumerate(DataLoader)"], 2):  # fmt: skip
        fields = draw.choice([{}, {"stack": [{"f": 1}], "more": 2}])
        yield event("user_annotation", words, draw.choice([15, 97, 190]), 9.5, **fields)
    for size in draw.sample([0, 1, 2, 77], 2):
        span = kernel("Memset (Device)", draw.choice([3, 95, 180]), 4, -1, bytes=size)
        yield span | {"cat": draw.choice(["gpu_memset", "kernel"])}
    for number in range(draw.randrange(3)):
        span = collective(draw.choice([20, 140]) + 9 * number, 8, 900 + number)
        for name in ("In msg nelems", "Out msg nelems", "dtype"):
            if draw.chance(0.4):
                span["args"][name] = draw.choice([0, 1, 50, "2000", "Half", "Byte", "Odd"])
        yield span
    for number in range(draw.choice([0, 0, 3])):
        names = ("Device Type", "Device Id", "Total Allocated", "Total Allocated Bytes")
        args = dict(zip(names, draw.choices([0, 1, "2", 5000, -1, "0x10", "x"], k=4), strict=True))
        sizes = draw.subset(args, 0.8)
        yield event("cpu_instant_event", "[memory]", 5.0 + number, 0, **sizes) | {"ph": "i"}
    for number in range(draw.choice([0, 0, 0, 2])):
        kinds = draw.sample(["dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul",
                             "hfma"], draw.randrange(4))  # fmt: skip
        args = {f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum":
                draw.choice([3, 50, "7", -1, 0]) for kind in kinds}  # fmt: skip
        yield event("cuda_profiler_range", draw.choice(["sgemm", "s16816gemm"]), number, 9.0,
                    **args)  # fmt: skip


def spoiled(draw: Draw, span: Event) -> None:
    """Spoil an event; most stay as they are."""
    if draw.chance(0.04):
        span[draw.choice(["dur", "ts", "tid"])] = draw.choice([0, -5, "12", 0.25])
    if draw.chance(0.02):
        span.pop(draw.choice(["dur", "ts", "tid", "cat"]), None)
        span.setdefault("cat", "")
    if span["args"] and draw.chance(0.08):
        span["args"][draw.choice(list(span["args"]))] = draw.choice(ODD)
    for name in ("Input Dims", "Input type", "Concrete Inputs"):
        if isinstance(was := span["args"].get(name), list) and draw.chance(0.05):
            span["args"][name] = draw.choice([[*ODD], was[::-1], [ODD, [2**61]]])


def disturbed(draw: Draw, spans: list[Event]) -> list[Event]:
    """Return events of which some are of other threads, late, spoiled or missing."""
    other = {span["args"].get("External id") for span in spans if draw.chance(0.2)}
    for span in spans:
        if span["cat"] != "kernel" and span["args"].get("External id") in other:
            span["tid"] = draw.choice([BACKWARD, "thread 9"])
        if span["cat"] == "kernel" and draw.chance(0.2):
            span["ts"] += draw.choice([60, 150, -20])
        spoiled(draw, span)
    if draw.chance(0.1):  # no step has any work
        spans = [span for span in spans if span["cat"] != "user_annotation"]
        spans += [event("user_annotation", f"ProfilerStep#{n}", 9e6 + n, 1) for n in range(3)]
    if draw.chance(0.1):
        spans = [span for span in spans if span["cat"] != "cpu_op"]
    counted = [span for span in spans if span["cat"] == "cuda_profiler_range"]
    if counted and draw.chance(0.3):
        return counted
    if draw.chance(0.3):  # notes of the host alone
        spans = [span for span in spans if span["cat"] in {"cpu_op", "user_annotation"}]
        spans.append(operator("c10d::allreduce_", 30, 40, 999))
    return spans


def head(draw: Draw) -> dict[str, Any]:
    """Return the head of a trace, any of which may be odd."""
    device = {"id": draw.choice([0, 1, 2, None]), "name": draw.choice(["Example GPU", 3]),
              "totalGlobalMem": draw.choice([1000, 2.5, "x"])}  # fmt: skip
    known = draw.subset(device, 0.9)
    odd = draw.choice([-1, 0, 1, "2", None, 4])
    return {
        "deviceProperties": draw.choice([HEAD["deviceProperties"], [known, "x", known], {}, 5]),
        "distributedInfo": draw.choice([{"rank": odd, "world_size": odd}, {"rank": 1}, [odd]]),
    }


def written(draw: Draw, spans: list[Event]) -> bytes:
    """Return a trace, compact or not, whose bytes may be damaged anywhere."""
    indent, between = draw.choice([(None, (",", ":")), (2, (",", ": ")), (None, (" , ", ": "))])
    before = head(draw) | draw.choice([{}, {}, {"told": "x" * 2000}])
    content = before | {"traceEvents": spans} | draw.choice([{}, {"after": [{"a": 1}], "b": "}]"}])
    data = json.dumps(draw.choice([content] * 5 + [spans]), indent=indent, separators=between)
    data = draw.choice(["", "", "\ufeff"]) + data.replace("70000", "NaN")
    changed = bytearray(data.encode())
    for _ in range(draw.choice([0, 0, 0, 1, 3])):
        changed[draw.randrange(len(changed))] = draw.choice(b'"}]{,:\xffx')
    if draw.chance(0.1):  # within the first key of its last event
        return bytes(changed[: changed.rfind(b'"ph"') + 3])
    share = draw.choice([1, 1, 1, 1, 1, 0.99, 0.6])
    return bytes(changed[: int(share * len(changed))])


def streamed(draw: Draw, data: bytes) -> Iterator[bytes]:
    """Yield bytes in parts of any size, which may end with an error."""
    size, fails = draw.choice([9_999_999, 97, 4000]), draw.choice([0.0, 0.5, 0.5, *[1.0] * 27])
    for begin in range(0, len(data), size):
        if begin >= fails * len(data):
            raise UnreadableError("the stream ends")
        yield data[begin : begin + size]


def read(draw: Draw) -> str:
    spans = [*events(draw), *more(draw)]
    spans = draw.choice(YEARS)(disturbed(draw, spans))
    try:
        trace = kineto.read_trace(streamed(draw, written(draw, spans)))
    except (kineto.NoTraceError, UnreadableError) as error:
        return type(error).__name__
    first, *rest = described(trace)
    counted = trace.rows.group_by("kind").len().sort("kind").rows()
    whole = xxhash.xxh3_64_hexdigest(json.dumps(rest).encode())
    codes = [problem.code for problem in trace.problems]
    return f"{first} {codes} {dict(counted)} [{whole}]"


#: What is looked at some at a time: how many there are at a time here.
FEW = ((work, "_BATCH", 3), (steps, "_FRAMES", 1), (analysis, "_BATCH", 4), (analysis, "_BATCH", 5),
       (pieces, "PIECE", 600), (pieces, "_NEAR", 300), (pieces, "_TAIL", 60))  # fmt: skip


def odd(number: int) -> Iterator[str]:
    seed, part = divmod(number, 4)
    with pytest.MonkeyPatch.context() as patch:
        for module, name, few in FEW if seed % 3 else ():
            patch.setattr(module, name, few)
        yield f"{seed} {read(Draw(f'odd trace {part} {seed}'))}"


# ------------------------------------------------------------------------------- the arrays below


def listed(value: Any) -> Any:
    """Return what a function gives, arrays as lists."""
    if isinstance(value, np.ndarray | pl.Series):
        return listed(value.tolist())
    return [listed(item) for item in value] if isinstance(value, list | tuple) else plain(value)


def of_numbers(draw: Draw) -> Iterator[Any]:
    """Yield how odd numbers are stored in a column, and how names and sizes are read."""
    whole = [number for number in ODD if not isinstance(number, float)]
    values = draw.choices([*whole, 2**31 - 1, -(2**31), 2**63 - 1, 2**63, 2**15], k=5)
    yield values
    for name in ("start", "external", "index", "bytes"):
        columns = of_events.Columns(name)
        columns.add(**{name: values if name != "start" else [2.5, None]})
        yield [len(columns), columns.take_arrays()[name]]
    yield [of_events.parse_number(value, draw.choice([3, -1])) for value in values]
    rates = {draw.choice([1, 2, 4, 8, 24, 64]): draw.choice([100.0, 104.9, 105.1, 190.0])
             for _ in range(4)}  # fmt: skip
    yield [rates, answers.doubling_gains(rates), answers.saturation_point(rates)]
    kernel, caller = draw.choice(NAMES), draw.choice([None, *NAMES])
    yield [
        kernel,
        caller,
        categories.categorize_kernel(kernel, caller),
        categories.is_tensor_core(kernel),
    ]


def of_calls(draw: Draw) -> Iterator[Any]:
    """Yield the costs of calls whose inputs are partly known, or impossible."""
    known = ["aten::mm", "aten::add_", "aten::view", "aten::cudnn_convolution"]
    shapes = [[4, 16], [16, 8], [], [1], [2, 3, 9, 9], [10**9, 10**9], [10**9, 10**10], [-1], "x"]
    kinds = ["float", "c10::Half", "c10::complex<double>", "signed char", "Long", "Scalar", 3]
    texts = ["[1, 1]", "[0, 0]", "True", "", "x", 2]
    for name in known:
        pieces = [json.dumps(draw.choices(of, k=draw.choice([1, 2, 2, 3]))).encode()
                  for of in (shapes, kinds, texts)]  # fmt: skip
        mixed = [draw.choice([text] * 9 + [b"", b"{", b"{}"]) for text in pieces]
        costs = work.call_costs([(name, *mixed)])
        yield [name, *(text.decode() for text in mixed), *costs.T]


NAMES = ("aten::mm", "aten::add_", "aten::sum", "aten::copy_", "DataLoader", "ncclKernel", "x",
         "void elementwise_kernel", "reduce_kernel", "hmma_gemm", "aten::dropout", "aten::gather",
         "Memcpy HtoD", "cudnn::bn_fw_tr", "aten::_softmax")  # fmt: skip


OF = ((of_numbers, 40), (of_calls, 40))


def listed_pieces(values: Iterator[Any], seed: int) -> Iterator[str]:
    return (json.dumps(listed(piece)) for piece in values)


def units() -> Iterator[str]:
    """Yield the unit of each measure."""
    yield from (f"{name}: {measure_row(name)['unit']}" for name in MEASURES)
    sent = [pieces.Args(in_elements=3, dtype=kind) for kind in (*of_events._SIZES, "Odd")]
    sent += [pieces.Args(in_elements=0, dtype="Int"), pieces.Args(in_elements="x", dtype="Odd")]
    yield f"bytes of three elements: {[of_events._bytes_moved(args) for args in sent]}"


@cases("traces", units=units, **at_random(OF, listed_pieces), **accepted.parts("odd", odd, 60, 4))
def test_pieces_of_traces_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
