"""Does the trainer request the right features of a GPU? With mocks: no GPU is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.trainer.runs import small
from ttastats.base.errors import TtastatsError
from ttastats.recording.run_log import ResultFolder
from ttastats.trainer import hardware, network, parallel, workloads
from ttastats.trainer.network import build_network, set_numerics
from ttastats.trainer.parallel import Team
from ttastats.trainer.profiler import timing
from ttastats.trainer.settings import Settings, complete_settings

CPU = Team(0, 1, torch.device("cpu"))


@pytest.fixture
def eight_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    about = SimpleNamespace(name="NVIDIA H200", total_memory=141 * 2**30, uuid="12-34")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: about)


def settings_of(**changes: object) -> Settings:
    return complete_settings(small(**changes), "digits", 0)


@pytest.mark.parametrize(("precision", "tf32"), [("fp32", False), ("tf32", True), ("bf16", True)])
def test_fp32_is_not_tf32(precision: str, tf32: bool) -> None:
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, matmul.allow_tf32, cudnn.benchmark
    try:
        set_numerics(settings_of(precision=precision))
        assert (cudnn.allow_tf32, matmul.allow_tf32, cudnn.benchmark) == (tf32, tf32, True)
    finally:
        cudnn.allow_tf32, matmul.allow_tf32, cudnn.benchmark = before


def test_graphs_are_compiled_for_known_shapes_and_on_a_cpu_by_a_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[dict[str, Any]] = []
    monkeypatch.setattr(torch, "compile", lambda model, **how: compiled.append(how))
    monkeypatch.setenv("CXX", sys.executable)  # any program: nothing is compiled here
    build_network(settings_of(compile=True), CPU)
    assert compiled == [{"dynamic": False}, {"dynamic": False}]
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(TtastatsError, match="no-such-compiler was not found") as refused:
        build_network(settings_of(compile=True), CPU)
    assert refused.value.where == "--compile"


@pytest.mark.parametrize(("optimizer", "name"), [("sgd", "SGD"), ("adamw", "AdamW")])
def test_the_optimizer_of_a_gpu_is_fused(
    optimizer: str, name: str, eight_gpus: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    keywords: dict[str, Any] = {}

    def stand_in(_parameters: object, **how: Any) -> Any:
        keywords.update(how)
        return SimpleNamespace(param_groups=[{"lr": how["lr"]}])

    monkeypatch.setattr(torch.optim, name, stand_in)
    settings = settings_of(device="cuda", optimizer=optimizer)
    network.make_optimizers(torch.nn.Linear(1, 1), workloads.load_workload("digits"), settings)
    assert keywords["fused"] is True


def test_workers_on_several_machines_need_only_the_gpus_of_their_own(
    eight_gpus: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TtastatsError, match="16 workers need as many GPUs; there are 8"):
        settings_of(device="cuda", workers=16)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    settings = settings_of(device="cuda", workers=16)
    place = ResultFolder(Path("logs"), "Test", "machine", "digits")
    described = hardware.system_description(place, settings)
    assert (described["number_of_nodes"], described["accelerators_per_node"]) == ("2", "8")


def test_each_worker_names_its_gpu_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: dict[str, Any] = {}
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: joined.update(device=device))
    monkeypatch.setattr(
        torch.distributed,
        "init_process_group",
        lambda backend, **how: joined.update(how, backend=backend),
    )
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: None)
    monkeypatch.setattr(parallel, "exit_with_parent", lambda _parent: None)
    with parallel.join_team("cuda") as us:
        assert us.device == torch.device("cuda", 1)
    assert joined["backend"] == "nccl"
    assert joined["device"] == joined["device_id"] == torch.device("cuda", 1)


def test_driver_and_clocks_are_those_of_nvidia_smi(
    eight_gpus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    words = "NVIDIA H200, 570.1, 1980 MHz, 1980 MHz, 402 W, 700 W, 45, 1024 MiB, 3 %"
    program.write_text(f'#!/bin/sh\n[ "$1" = --id=GPU-12-34 ] && echo "{words}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    state = hardware.gpu_state(torch.device("cuda", 0))
    assert (state["driver_version"], state["clocks.max.sm"]) == ("570.1", "1980 MHz")
    program.write_text("#!/bin/sh\nexit 9\n")
    assert hardware.gpu_state(torch.device("cuda", 0)) == {}
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hardware.gpu_state(torch.device("cuda", 0)) == {}


def test_a_build_without_onednn_has_no_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops, "mkldnn", torch._ops._OpNamespace("absent"))
    assert hardware.software_versions()["cpu_bf16"] is False
    monkeypatch.setattr(timing, "_SIDE", {"cpu": 8})
    assert list(timing.peak_flops(torch.device("cpu"))) == ["fp32"]


def test_a_lost_worker_is_known_by_the_error_of_either_library() -> None:
    assert parallel.is_lost_worker(RuntimeError("[pair.cc:553] Connection closed by peer"))
    assert parallel.is_lost_worker(
        torch.distributed.DistBackendError("NCCL communicator was aborted")
    )
    assert not parallel.is_lost_worker(RuntimeError("CUDA out of memory"))
    assert not parallel.is_lost_worker(ValueError("connection"))
