"""Measure what reading a large trace costs beside `json.load`; prints a table.

    python benchmarks/traces.py --megabytes 1000 --turns 3

The trace is made: steps of a convolutional network on a GPU, in the form that Kineto writes, with
shapes, calls of the driver, kernels and the arrows between them. `--of` repeats one of your own.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

# Python puts the folder of this program on the path, not the one its modules are named from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.ingest.measuring import Cost, measured

_MB = 1_000_000
_LOAD = "import json, sys; json.load(open(sys.argv[1], 'rb'))"


def main(arguments: Sequence[str]) -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python benchmarks/traces.py", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the trace; 1000")
    parser.add_argument("--turns", type=int, default=3, help="of every command; 3")
    parser.add_argument("--of", type=Path, help="a trace to repeat, instead of a made one")
    parser.add_argument("--scratch", type=Path, help="where the trace may lie for a while")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ttastats-traces-", dir=options.scratch) as folder:
        path = Path(folder, "trace.json")
        size = write(path, options.megabytes * _MB, options.of)
        print("\n".join(table(path, size, options.turns)))
    return 0


def table(path: Path, size: int, turns: int) -> Iterator[str]:
    """Yield the table of the costs of each reader, the median of turns."""
    profile = str(path.with_name("profile.parquet"))
    commands = {
        "`ttastats profile`": [sys.executable, "-m", "ttastats", "profile", str(path)],
        "`ttastats ingest`": [sys.executable, "-m", "ttastats", "ingest", str(path), "-o", profile],
        "`json.load`": [sys.executable, "-c", _LOAD, str(path)],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(turns):
        Path(profile).unlink(missing_ok=True)
        for name, command in commands.items():
            costs[name].append(measured(command))
    yield f"| {size / _MB:,.0f} MB | CPU seconds | per MB | of `json.load` | peak memory |"
    yield "|---|---|---|---|---|"
    theirs = median(cost.cpu for cost in costs["`json.load`"])
    for name, of_reader in costs.items():
        cpu = median(cost.cpu for cost in of_reader)
        peak = max(cost.peak for cost in of_reader) / _MB
        per_mb = cpu / (size / _MB)
        yield f"| {name} | {cpu:.1f} | {per_mb:.4f} | {cpu / theirs:.0%} | {peak:,.0f} MB |"


# ------------------------------------------------------------------------------------ the trace


def write(path: Path, size: int, of: Path | None) -> int:
    """Write a trace of at least so many bytes, and return its size."""
    head, steps, tail = _repeated(of) if of else _generated()
    with path.open("wb") as file:
        count = file.write(head)
        for number, step in enumerate(steps):
            count += file.write((b",\n" if number else b"\n") + step)
            if count >= size:
                break
        return count + file.write(tail)


def _generated() -> tuple[bytes, Iterator[bytes], bytes]:
    device = {"id": 0, "name": "Example GPU", "totalGlobalMem": 85_000_000_000, "numSms": 108}
    head = json.dumps({"schemaVersion": 1, "deviceProperties": [device], "record_shapes": 1})
    steps = (_step(number) for number in range(sys.maxsize))
    return head[:-1].encode() + b', "traceEvents": [', steps, b'\n], "traceName": "made.json"}\n'


#: Length of a layer on the host, and layers of a step.
_LAYER, _LAYERS = 60.0, 1000
_NESTS = (
    ("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution"),
    ("aten::batch_norm", "aten::_batch_norm_impl_index", "aten::cudnn_batch_norm"),
    ("aten::relu", "aten::clamp_min"),
)
_KERNELS = (
    "void cutlass::Kernel<cutlass_80_tensorop_s1688fprop_optimized_tf32_128x64_32x3_nhwc>(Params)",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(Tensor, float*)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::clamp_min_kernel(float)>(int)",
)
_SHAPES = {
    "Input Dims": [[32, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []],
    "Input type": ["float", "float", "", *["ScalarList"] * 3, "Scalar", "ScalarList", "Scalar"],
    "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
}


def _step(number: int) -> bytes:
    """Return the events of a step."""
    zero = 4.4e12 + number * _LAYER * _LAYERS * 1.05
    events = [_event("user_annotation", f"ProfilerStep#{number}", zero, _LAYER * _LAYERS)]
    for layer in range(_LAYERS):
        events += _layer(zero + layer * _LAYER, number * _LAYERS + layer, layer % len(_NESTS))
    return ",\n".join(f"  {json.dumps(event)}" for event in events).encode()


def _layer(start: float, number: int, kind: int) -> Iterator[dict[str, object]]:
    first = 10 * number
    names = _NESTS[kind]
    for depth, name in enumerate(names):
        length = _LAYER - 10 * (depth + 1)
        fields = {"External id": first + depth, "Ev Idx": first + depth, **_SHAPES}
        yield _event("cpu_op", name, start + 3 * depth, length, **fields)
    flow = {"ph": "s", "id": first, "pid": 1, "tid": 1, "ts": start + 15, "cat": "ac2g"}
    launch = start + 3 * len(names)
    yield _event("cuda_runtime", "cudaLaunchKernel", launch, 5.0, cbid=211, correlation=first)
    yield {**flow, "name": "ac2g"}
    fields = {"External id": first + len(names) - 1, "correlation": first, "device": 0, "stream": 7}
    grid = {"grid": [512, 1, 1], "block": [512, 1, 1], "est. achieved occupancy %": 75}
    yield _event("kernel", _KERNELS[kind], start + 20, _LAYER - 25, **fields, **grid)
    yield {**flow, "ph": "f", "name": "ac2g", "bp": "e"}


def _event(
    category: str, name: str, start: float, length: float, **args: object
) -> dict[str, object]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": round(start, 3),
        "dur": length,
        "args": args,
    }


def _repeated(of: Path) -> tuple[bytes, Iterator[bytes], bytes]:
    """Return the head of a trace, its events repeated, and its end."""
    data = gzip.decompress(of.read_bytes()) if of.suffix == ".gz" else of.read_bytes()
    begin = re.search(rb'"traceEvents"\s*:\s*\[', data)
    if begin is None:
        raise SystemExit(f"{of}: no trace")
    *_, last = re.finditer(rb'\}\s*\]\s*(?:,\s*"|\}\s*\Z)', data)
    end = last.start() + 1
    body = data[begin.end() : end].strip()
    return data[: begin.end()], iter(lambda: body, b""), data[end:]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
