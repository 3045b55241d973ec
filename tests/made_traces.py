"""Generated minimal traces, in the formats of several years."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Event = dict[str, Any]

HOST, BACKWARD, DEVICE = 1, 2, 0


def event(category: str, name: str, start: float, length: float, **args: Any) -> Event:
    """Return an event of the host's main thread; times are microseconds."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": HOST,
        "tid": HOST,
        "ts": start,
        "dur": length,
        "args": args,
    }


def operator(name: str, start: float, length: float, number: int, **args: Any) -> Event:
    """Return an operator with its external id."""
    return event("cpu_op", name, start, length, **{"External id": number}, **args)


def kernel(name: str, start: float, length: float, number: int, **args: Any) -> Event:
    """Return a kernel that the operator of an external id launched."""
    fields = {"External id": number, "device": 0, "stream": 7, "correlation": number + 100_000}
    return event("kernel", name, start, length, **{**fields, **args}) | {"pid": DEVICE, "tid": 7}


def launch(start: float, number: int, length: float = 1.0) -> Event:
    """Return the call of the driver that launched the kernel of a number."""
    return event("cuda_runtime", "cudaLaunchKernel", start, length, correlation=number + 100_000)


def step(number: int, start: float, length: float) -> Event:
    """Return the annotation of a step."""
    return event("user_annotation", f"ProfilerStep#{number}", start, length)


def collective(start: float, length: float, number: int) -> Event:
    """Return the kernel of an all-reduce of 1,000 floats, on a stream of its own."""
    fields = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "stream": 20}
    return kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", start, length, number, **fields)


def steps_on_a_device(count: int = 4, *, own_work: float = 40.0) -> list[Event]:
    """Return steps of 100 microseconds: a product, a batch norm, and an all-reduce half hidden.

    The product takes `own_work`, batch norm 20; 10 of the 20 of the all-reduce are exposed.
    """
    events: list[Event] = []
    for number in range(count):
        zero, first = 100.0 * number, 10 * number
        events += [
            step(number + 3, zero, 100.0),
            operator("aten::linear", zero + 1, 9, first + 1),
            operator(
                "aten::addmm",
                zero + 2,
                7,
                first + 2,
                **{
                    "Input Dims": [[8], [4, 16], [16, 8], [], []],
                    "Input type": ["float", "float", "float", "Scalar", "Scalar"],
                    "Concrete Inputs": ["", "", "", "1", "1"],
                },
            ),
            launch(zero + 3, first + 2),
            kernel("ampere_sgemm_32x128_tn", zero + 10, own_work, first + 2),
            operator("aten::native_batch_norm", zero + 12, 4, first + 3),
            launch(zero + 13, first + 3),
            kernel("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", zero + 60, 20, first + 3),
            operator("c10d::allreduce_", zero + 20, 5, first + 4),
            launch(zero + 21, first + 4),
            collective(zero + 70, 20, first + 4),
        ]
    return events


HEAD: Mapping[str, Any] = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "Example GPU", "totalGlobalMem": 1000}],
}


def trace(events: Iterable[Event], rank: int | None = None, size: int = 2) -> bytes:
    """Return a trace as Kineto writes it, with the head first."""
    fields = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": size}}
    head = json.dumps({**HEAD, **fields})[:-1]
    body = ",\n".join(json.dumps(event, indent=2) for event in events)
    return f'{head}, "traceEvents": [\n{body}\n], "traceName": "example.json"}}\n'.encode()


def written(path: Path, data: bytes) -> Path:
    """Write a trace, compressed if its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
