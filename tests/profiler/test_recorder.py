"""What is recorded of a step: FLOPs, times, memory, layers, and nothing on the screen."""

from __future__ import annotations

import os
import sys
import threading
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import torch
from torch import nn

from tests.profiler.nets import CPU, Attending, flops_of_attending, recorded, trained
from tests.programs import wait_until
from ttastats.traces import kineto as reader
from ttastats.traces.table import MEASURES
from ttastats.trainer.profiler import memory, recording, timing, trace, workload
from ttastats.trainer.profiler.memory import KINDS, TrainingState
from ttastats.trainer.profiler.recording import Recording
from ttastats.trainer.profiler.timing import Subject


@pytest.fixture
def attending() -> Recording:
    step, state = trained(Attending(), torch.randn(4, 3, 16, 16))
    return recorded(step, state)


class TestFlops:
    def test_those_counted_and_those_of_the_operators_are_those_of_the_network(
        self, attending: Recording
    ) -> None:
        assert attending.counter.get_total_flops() == flops_of_attending(batch=4, side=16)
        rows = reader.read_trace([attending.trace]).rows
        steps = rows.group_by("step").agg(total="flops").drop_nulls("step")
        sums = {sum(filter(None, flops)) for flops in steps["total"]}
        assert sums == {flops_of_attending(batch=4, side=16)}
        assert b"Optimizer.step#SGD.step" in attending.trace

    def test_those_of_the_profiler_of_pytorch_are_the_same(self) -> None:
        step, _ = trained(Attending(), torch.randn(4, 3, 16, 16))
        recording = recorded(step, steps=2, compiled=True)  # whose operators no mode sees
        assert not recording.plain.by_cpu_time
        assert len(recording.plain.lengths) == 2
        rows = reader.read_trace([recording.trace]).rows
        total = rows.filter(kind="operator").group_by("step").agg(pl.col("flops").sum())
        assert set(total["flops"]) == {flops_of_attending(batch=4, side=16)}
        assert rows.filter(name="step_seconds").height == 2


class TestTimes:
    def test_operators_sum_to_the_step_that_nobody_watches(self) -> None:
        model = nn.Sequential(
            nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3)
        )
        step, _ = trained(model, torch.randn(16, 3, 32, 32))
        recording = recorded(step, steps=15)
        # CPU time of a thread, but caches and clock rates are shared with whoever else computes:
        # the fastest step of each kind is disturbed least.
        operators = min(s.operator_seconds for s in recording.watched)
        assert 0.7 < operators / min(s.thread for s in recording.plain.lengths) < 1.3

    def test_a_step_in_the_trace_is_as_long_as_one_that_nobody_watches(
        self, attending: Recording
    ) -> None:
        rows = reader.read_trace([attending.trace]).rows
        lengths = rows.filter(name="step_seconds")["value"]
        longest = max(attending.plain.median, *(s.operator_seconds for s in attending.watched))
        assert attending.plain.median * 0.999 <= lengths.min()
        assert lengths.max() <= longest * 1.001

    def test_the_number_of_steps_is_bounded(self) -> None:
        assert [recording.steps_to_profile(seconds) for seconds in (0.001, 0.1, 9.0)] == [20, 10, 5]


class TestMemory:
    def test_kinds_sum_to_what_the_allocator_measured(self) -> None:
        model = nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 10))
        step, state = trained(model, torch.randn(64, 100), momentum=0.9)
        memory = recorded(step, state).memory
        weights = 4 * (100 * 200 + 200 + 200 * 10 + 10)
        assert memory["weights"] == memory["optimizer state"] == weights
        # The peak is where the gradient of the first layer's weights is made: its inputs, which
        # were there before the step, are not of it.
        assert 0 < memory["gradients"] <= weights
        assert memory["workspace"] >= 0
        assert list(memory) == list(KINDS)

    def test_feature_maps_are_what_the_backward_pass_needs(self) -> None:
        layers = (nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(10))
        model = nn.Sequential(nn.Flatten(), *layers)  # a view of the batch is no new memory
        step, state = trained(model, torch.randn(1000, 2, 4))
        memory = recorded(step, state).memory
        # Ten outputs of tanh, of which each layer keeps one for both neighbours; the last is
        # squared as well, so that its product is there but not kept.
        assert memory["feature maps"] == 10 * 1000 * 8 * 4
        assert memory["weights"] == 4 * 10 * (64 + 8)
        assert memory["optimizer state"] == 0

    def test_gradients_are_known_though_the_step_frees_them(self) -> None:
        model = nn.Linear(400, 400)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

        def step() -> None:
            torch.autograd.backward(model(torch.ones(2, 400)).sum())
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        memory = recorded(step, TrainingState(model, (optimizer,))).memory
        assert memory["gradients"] == memory["weights"] == 4 * (400 * 400 + 400)


def subject(*layers: nn.Module) -> Subject:
    model = nn.Sequential(*layers)
    step, state = trained(model, torch.randn(8, 3, 8, 8))
    return Subject(step, 8, model, model, state.optimizers, CPU)


class TestAblation:
    def test_layers_are_left_out_and_products_stay(self) -> None:
        layers = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        rows = list(workload.ablation_measures(lambda: subject(*layers), steps=2))
        seconds = {row["of"]: row["value"] for row in rows if row["name"] == "ablated_step_seconds"}
        flops = {row["of"]: row["value"] for row in rows if row["name"] == "ablated_step_flops"}
        assert list(seconds) == list(flops) == list(workload.VARIANTS)
        assert len({*flops.values()}) == 1
        assert min(*flops.values(), *seconds.values()) > 0

    def test_functions_are_left_out_like_modules(self) -> None:
        x = torch.tensor([-1.0, 2.0])
        with workload.LayerRemoval(["relu"]) as mode:
            assert nn.functional.relu(x) is x
            assert torch.relu(x) is x
            assert x.relu() is x
        assert mode.met["relu"] == 3
        assert nn.functional.relu(x).tolist() == [0.0, 2.0]
        layers, images = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), torch.randn(2, 3, 8, 8)
        for kinds in workload.VARIANTS.values():
            with workload.LayerRemoval(kinds) as mode:
                output = nn.Sequential(*layers)(images)
            assert mode.met == {"batch norm": 1, "relu": 1}
            rest = [layers[0], *(layers[1:] if not kinds else layers[1 + len(kinds) :])]
            assert torch.equal(output, nn.Sequential(*rest)(images))

    def test_a_network_without_such_layers_has_no_ablation(self) -> None:
        assert not list(workload.ablation_measures(lambda: subject(nn.Conv2d(3, 4, 3)), steps=1))


def test_the_profiler_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with trace.Recorder(CPU) as recorder:
        torch.ones(3).sum()
    assert b'"aten::sum"' in recorder.trace
    assert capfd.readouterr().err == ""
    with trace.hiding_profiler_output():
        os.write(2, b"USDT: a start\nan error\n")
    assert capfd.readouterr().err == "an error\n"


class NVMLError(Exception):
    pass


def driver(**changes: Any) -> Any:
    """Return a stand-in for NVML that tells 300 W, 80 % and counters of 10 %, 20 %, ..."""

    def get(new_request: Any) -> None:
        for metric in new_request.metrics[: new_request.numMetrics]:
            metric.value = 10.0 * metric.metricId

    def new_request() -> Any:
        return SimpleNamespace(metrics=[SimpleNamespace(nvmlReturn=0) for _ in range(9)])

    names = dict(zip(timing.COUNTERS.values(), range(1, 9), strict=False))
    return SimpleNamespace(**{
        "NVMLError": NVMLError,
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByUUID": lambda uuid: uuid,
        "nvmlDeviceGetPowerUsage": lambda handle: 300_000,
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=80),
        "nvmlGpmQueryDeviceSupport": lambda handle: SimpleNamespace(isSupportedDevice=1),
        "nvmlGpmSampleAlloc": object,
        "nvmlGpmSampleGet": lambda handle, sample: sample,
        "nvmlGpmSampleFree": lambda sample: None,
        "nvmlGpmMetricsGet": get,
        "c_nvmlGpmMetricsGet_t": new_request,
        "NVML_GPM_METRICS_GET_VERSION": 1,
        **names,
        **changes,
    })  # fmt: skip


def refuse(*_: object) -> None:
    raise NVMLError


USUAL = {"power": pytest.approx(300.0), "gpu_utilization": pytest.approx(0.8)}
COUNTED = {name: pytest.approx(0.1 * place) for place, name in enumerate(timing.COUNTERS, 1)}


@pytest.mark.parametrize(
    ("device", "nvml", "expected"),
    [
        ("cuda", driver(), {**COUNTED, **USUAL}),
        (  # before Hopper there are no counters
            "cuda",
            driver(nvmlGpmQueryDeviceSupport=lambda _: SimpleNamespace(isSupportedDevice=0)),
            USUAL,
        ),
        ("cuda", driver(nvmlDeviceGetPowerUsage=refuse, nvmlGpmQueryDeviceSupport=refuse), {}),
        ("cuda", driver(nvmlInit=refuse), {}),
        ("cuda", driver(nvmlDeviceGetHandleByUUID=refuse), {}),  # of a slice by MIG
        ("cuda", driver(nvmlGpmMetricsGet=refuse), USUAL),
        ("cuda", driver(nvmlGpmSampleGet=refuse), USUAL),
        ("cpu", driver(), {}),
    ],
)
def test_a_driver_tells_power_and_counters_if_it_has_them(
    device: str, nvml: Any, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    about = SimpleNamespace(uuid="1234")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _index: about)
    monkeypatch.setattr(timing, "_EVERY_SECONDS", 1e-4)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    before, calls = threading.active_count(), []
    rates = nvml.nvmlDeviceGetUtilizationRates
    nvml.nvmlDeviceGetUtilizationRates = lambda handle: calls.append(handle) or rates(handle)
    with timing.driver_measures(torch.device(device)) as measures:
        wait_until(lambda: calls or threading.active_count() == before)
    assert measures == expected
    assert expected.keys() <= MEASURES.keys()


@pytest.mark.parametrize(
    ("seconds", "steps"),
    [
        ([1.0] * 8, 1),  # the first always was
        ([9.0, 3.0, 1.2, 1.04, 1.0, 1.0, 1.0, 1.0], 3),  # within five percent
        ([9.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0], 1),  # a slow step later on is none
        ([9.0, 0.5, 1.0, 1.0, 1.0, 1.0], 1),
    ],
)
def test_steps_warm_up_until_one_is_as_short_as_the_last_half(
    seconds: list[float], steps: int
) -> None:
    assert timing.warm_up_steps(seconds)[0] == steps


def test_steps_that_never_settle_cost_half_of_them_with_a_note() -> None:
    steps, rule = timing.warm_up_steps([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0])
    assert steps == 4
    assert rule.endswith("median of the last half; there was none, so half of them are excluded")
    with pytest.raises(ValueError, match="fewer than four"):
        timing.warm_up_steps([1.0, 1.0, 1.0])


def test_storages_at_the_peak_are_those_that_lived_when_most_bytes_did() -> None:
    log = [(0, 100), (1, 50), (0, -100), (2, 80), (1, -50)]
    assert memory.live_at_peak(log) == {0: 100, 1: 50}
    assert memory.live_at_peak([(0, 5), (0, -5), (1, 4), (2, 4)]) == {1: 4, 2: 4}
    assert memory.live_at_peak([]) == {}


def test_the_allocator_s_peak_is_of_the_cpu_and_in_the_order_of_time() -> None:
    def event(moment: int, size: int, kind: int = 0) -> dict[str, object]:
        return {"name": "[memory]", "ts": moment, "args": {"Bytes": size, "Device Type": kind}}

    trace = [event(3, -10), event(1, 10), event(4, 15), event(2, 10), event(5, 99, kind=1)]
    assert memory.peak_bytes([*trace, {"name": "aten::add", "ts": 0}]) == 25


def test_a_batch_is_halved_until_its_step_is_short() -> None:
    assert workload.fitting_batch_size(512, seconds_by_sample=0.03) == 8
    assert workload.fitting_batch_size(512, seconds_by_sample=9) == 2
    assert workload.fitting_batch_size(512, seconds_by_sample=0.001) == 128
    assert workload.fitting_batch_size(64, seconds_by_sample=0.001) == 64
