"""What machine is this? Only what can be detected; what cannot is an empty string."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from ttastats.base import __version__
from ttastats.recording.run_log import ResultFolder
from ttastats.trainer.settings import Settings

#: Folders in which Linux tells about itself.
_CPUINFO, _RELEASE = Path("/proc/cpuinfo"), Path("/etc/os-release")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_GIB = 1024**3

#: What is asked of a GPU; clocks, power and temperature change in the course of a run.
_GPU = (
    "name", "driver_version", "clocks.sm", "clocks.max.sm", "power.draw", "power.limit",
    "temperature.gpu", "memory.used", "utilization.gpu",
)  # fmt: skip
#: Every field of an official system description, in its order.
FIELDS = (
    "submitter", "division", "status", "system_name", "number_of_nodes",
    "host_processors_per_node", "host_processor_model_name", "host_processor_core_count",
    "host_processor_vcpu_count", "host_processor_frequency", "host_processor_caches",
    "host_processor_interconnect", "host_memory_capacity", "host_storage_type",
    "host_storage_capacity", "host_networking", "host_networking_topology",
    "host_memory_configuration", "accelerators_per_node", "accelerator_model_name",
    "accelerator_host_interconnect", "accelerator_frequency", "accelerator_on-chip_memories",
    "accelerator_memory_configuration", "accelerator_memory_capacity", "accelerator_interconnect",
    "accelerator_interconnect_topology", "cooling", "hw_notes", "framework",
    "other_software_stack", "operating_system", "sw_notes",
)  # fmt: skip


def system_description(folder: ResultFolder, settings: Settings) -> dict[str, Any]:
    """Return the official fields of a system description, all as text, and some of our own."""
    local_workers = int(os.environ.get("LOCAL_WORLD_SIZE") or settings.workers)
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', _read_text(_RELEASE), re.MULTILINE)
    detected = {
        "submitter": folder.org,
        "division": "open",
        "status": "Research, Development, or Internal (RDI)",
        "system_name": folder.system,
        "number_of_nodes": str(settings.workers // local_workers),
        "framework": f"PyTorch {torch.__version__}",
        "other_software_stack": f"Python {platform.python_version()}",
        "operating_system": system[1] if system else f"{platform.system()} {platform.release()}",
        "accelerators_per_node": "0",
        **_processor_fields(),
    }
    if settings.device == "cuda":
        facts = torch.cuda.get_device_properties(0)
        detected |= {
            "accelerators_per_node": str(local_workers),
            "accelerator_model_name": facts.name,
            "accelerator_memory_capacity": f"{facts.total_memory / _GIB:.0f} GiB",
        }
        detected["other_software_stack"] += f", CUDA {torch.version.cuda}"
    fields: dict[str, Any] = {field: detected.get(field, "") for field in FIELDS}
    fields["ttastats"] = {
        "available_cpus": available_cpus(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": settings.threads,
        "workers": settings.workers,
    }
    return fields


def processor_name() -> str:
    """Return the model name of the processor, or an empty text."""
    names = _field_values(_read_text(_CPUINFO), "model name")
    return names[0] if names else platform.processor() or platform.machine()


def default_system(device: str) -> str:
    """Return a short name of this machine that is a valid folder name."""
    name = torch.cuda.get_device_name() if device == "cuda" else processor_name()
    name = re.sub(r"\((?:R|TM|C)\)|@.*|\bprocessor\b|\bcpu\b", " ", name, flags=re.IGNORECASE)
    short = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return f"{short or 'unknown'}_x{available_cpus()}" if device == "cpu" else short or "gpu"


def software_versions() -> dict[str, Any]:
    """Return the software versions and build options that affect the speed of a run."""
    on_gpu = torch.cuda.is_available()
    return {
        "ttastats": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cpu_bf16": cpu_has_bf16(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if on_gpu else None,  # type: ignore[no-untyped-call]
        "nccl": torch.cuda.nccl.version() if on_gpu else None,  # type: ignore[no-untyped-call]
    }


def cpu_has_bf16() -> bool:
    """Return whether the processor computes in bf16; builds without oneDNN, as on a Mac, do not."""
    return bool(getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)())


def gpu_state(device: torch.device) -> dict[str, str]:
    """Return the state of a GPU by `nvidia-smi`; empty without it."""
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", device.index or 0)
    name = uuid if isinstance(uuid, int) else f"GPU-{uuid}"
    query = f"--query-gpu={','.join(_GPU)}"
    command = ["nvidia-smi", f"--id={name}", query, "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(_GPU, (word.strip() for word in done.stdout.split(",")), strict=False))


def available_cpus() -> int:
    """Return the number of logical processors that this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def _processor_fields() -> dict[str, str]:
    text = _read_text(_CPUINFO)
    packages, cores = set(_field_values(text, "physical id")), _field_values(text, "cpu cores")
    most = _read_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"))
    caches = []
    for folder in sorted(_CACHES.glob("index*")):
        level, kind, size = (_read_text(folder / name) for name in ("level", "type", "size"))
        if level and size:
            letter = {"Data": "d", "Instruction": "i"}.get(kind, "")
            caches.append(f"L{level}{letter} {size}")
    memory = ""
    with suppress(AttributeError, OSError, ValueError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        memory = f"{total / _GIB:.0f} GiB"
    return {
        "host_processors_per_node": str(len(packages) or 1),
        "host_processor_model_name": processor_name(),
        "host_processor_core_count": cores[0] if cores else "",
        "host_processor_vcpu_count": str(os.cpu_count() or ""),
        # The highest the system names; that of the moment would never be the same.
        "host_processor_frequency": f"{int(most) / 1e6:.2f} GHz" if most.isdigit() else "",
        "host_processor_caches": ", ".join(caches),
        "host_memory_capacity": memory,
        "host_storage_capacity": f"{shutil.disk_usage('/').total / 1e9:.0f} GB",
    }


def _field_values(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}\s*:\s*(.*?)\s*$", text, re.MULTILINE)


def _read_text(path: Path) -> str:
    """Return the text of a file without the space around it; empty if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
