"""Which setup, which seed and which repetition is a run, by what it records and where it lies?

Settings and names that vary between runs make the entry. What only numbers runs does not: a seed,
the name or the number of a run, a version, a trial, a date. Everything here is inferred; what a
block says of a run stands above it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import xxhash

from ttastats.base.metrics import EVALUATING, TRAINING
from ttastats.base.run_names import Name, split_run_number, strip_counts

#: Where a run's record (`extra`) keeps the settings of W&B, of MLflow and of files beside logs.
RECORDED = ("settings", "config", "params")
#: Where it keeps of what its entry was inferred.
MARK = "setup"
#: Settings that name, number or place a run. `optimizer.name` and `lora_rank` are none of them.
_OF_ONE_RUN = re.compile(
    r"(?i)^(?:name|id|rank|tags|group|project)$|(?:^|[._/-])(?:(?:run|exp|experiment|job|trial|"
    r"session|project|display|process|host|task)[_-]?(?:name|id|number|num|no|idx|index)|hostname|"
    r"host|node_?(?:name|ip|id)|ip(?:_address)?|address|user(?:name)?|cwd|ppid|process_?id|"
    r"object_store\w*|(?:\w+_)?(?:free|available|used)_?(?:mem(?:ory)?|ram|disk)\w*|"
    r"(?:mem(?:ory)?|ram|disk)_?(?:free|available|used)\w*|cuda_visible_devices|gpu_id|"
    r"(?:local|global|node|world|process)_rank|(?:main_process_|master_)?port|master_addr|pid|uuid|"
    r"run|rep|repeat|trial|timestamp|date|notes|comment|description|resume(?:_\w+)?|_wandb|"
    r"(?:(?:output|out|logs?|logging|save|run|work|results?|checkpoints?|ckpt|cache|tmp|temp|home|"
    r"root|default_root|exp|experiment|tensorboard|data|dataset|hub|overwrite_output)[_-]?)?"
    r"(?:dir|path|folder|directory))$|seed$"
)
#: A longer name of an entry cannot be read in a table.
_LONGEST = 120
_SEEDS = ("seed", "random_seed", "SEED", "train.seed")
#: The names of settings and columns that are the seed of a run.
SEED = re.compile(r"(?:^|[._/-])(?:random_|global_|manual_|rng_)?seed$", re.IGNORECASE)

_GENERIC_FOLDERS = frozenset(
    {
        "log", "logs", "run", "runs", "lightning_logs", "csv_logs", "csv", "tb", "tb_logs",
        "tensorboard", "output", "outputs", "multirun", "result", "results", "files", "wandb",
        "mlruns", "checkpoints", "events", "metrics", "progress", "history", "plots",
        "dvclive", "catboost_info", *EVALUATING, *TRAINING,
    }
)  # fmt: skip


class Seen(NamedTuple):
    """What is known of a run that has no name yet.

    `place` is the folders it lies in below what was given, after so many `above` that count where
    these and its file say nothing; `file` is the name of its file without ending, where several may
    lie in a folder. `scope` is what is compared at all: the format and the benchmark. `fallback`
    names the entry if nothing else does.
    """

    scope: tuple[str | None, ...]
    place: tuple[str, ...]
    file: str
    settings: Mapping[str, Any]
    seed: int | None
    fallback: str
    above: int = 0


class Setup(NamedTuple):
    """What a run was taken for."""

    entry: str
    seed: int | None


def flatten(settings: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Return nested settings as one mapping with keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and depth < 8:
            flat |= flatten(value, f"{prefix}{key}.", depth + 1)
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def recorded_settings(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in a run's `extra` by their names."""
    settings: dict[str, Any] = {}
    for key in reversed(RECORDED):
        if isinstance(group := extra.get(key), Mapping):
            settings |= flatten(group)
    return settings


def setup_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the shared settings of repeated runs, as sorted texts: without seeds and paths."""

    def text(value: Any) -> str:
        if isinstance(value, str):  # without a run number such as in `adam-s0`
            if re.match(r"/|~/|[A-Za-z]:\\|\w+://", value):  # where a thing lies is no setting
                value = re.split(r"[/\\]", value.rstrip("/\\"))[-1]
            return "/".join(split_run_number(part)[0] for part in value.split("/")) or value
        try:
            return repr(value)
        except RecursionError:
            return type(value).__name__

    return {
        key: text(value)
        for key, value in sorted(settings.items())
        if value is not None and not _OF_ONE_RUN.search(key)
    }


def varying_names(several: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the names of settings that differ between runs with settings."""
    runs = [run for run in several if run]
    names = dict.fromkeys(name for run in runs for name in run)
    return sorted(name for name in names if len({run.get(name) for run in runs}) > 1)


def entry_name(settings: Mapping[str, Any]) -> str | None:
    """Return a name for runs with these settings: the settings, or a digest of many."""
    return _name_setting(setup_settings(flatten(settings)))


def _name_setting(settings: Mapping[str, str]) -> str | None:
    """Return the name of settings: their texts, or a digest of many."""
    text = " ".join(f"{key}={value}" for key, value in settings.items())
    if len(text) <= _LONGEST:
        return text or None
    return f"settings {xxhash.xxh3_64_hexdigest(text.encode('utf-8', 'replace'))[:8]}"


def recorded_seed(settings: Mapping[str, Any]) -> int | None:
    """Return the seed in some flat settings, or None."""
    for name in (*_SEEDS, *sorted(name for name in settings if SEED.search(name))):
        value: Any = settings.get(name)
        if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", value):
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if value == value // 1 and abs(value) < 2.0**62:
            return int(value)
    return None


def infer_setups(runs: Sequence[Seen]) -> list[Setup]:
    """Return the entry and the seed of each run, inferred from all runs together."""
    paths, seeds = _from_paths(runs)
    shares = [setup_settings(run.settings) for run in runs]
    groups: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, (run, path) in enumerate(zip(runs, paths, strict=True)):
        groups[run.scope, path].append(number)
    stems: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)
    for scope, path in groups:
        stems[scope].add(path)
    entries = [""] * len(runs)
    for (scope, path), numbers in groups.items():
        names = varying_names(shares[number] for number in numbers)
        for number in numbers:
            share = shares[number]
            varying = _name_setting({name: share[name] for name in names if name in share})
            path_part = path if path and (not varying or len(stems[scope]) > 1) else ""
            entry = " ".join(filter(None, (path_part, varying)))
            entries[number] = entry or _name_setting(share) or runs[number].fallback
    return [Setup(entry, seed) for entry, seed in zip(entries, seeds, strict=True)]


def _from_paths(runs: Sequence[Seen]) -> tuple[list[str], list[int | None]]:
    """Return for each run the entry and the seed in its path."""
    files: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)
    for run in runs:
        files[run.scope, run.place].add(split_run_number(run.file)[0])
    run_parts: list[list[str]] = []
    seeds: list[int | None] = []
    for run in runs:
        # The name of a file tells runs apart only where others lie beside it.
        of_file = len(files[run.scope, run.place]) > 1
        halves = [split_run_number(part) for part in (*run.place, run.file)]
        run_parts.append(
            _distinctive_parts(stem for stem, _ in (halves if of_file else halves[:-1]))
        )
        seeds_in_path = [seed for _, seed in halves if seed is not None]
        seeds.append(run.seed if run.seed is not None or not seeds_in_path else seeds_in_path[-1])
    _strip_counts(runs, run_parts, seeds)
    if len(parents := {run.place[: run.above] for run in runs}) == 1:
        shared = [split_run_number(part)[0].lower() for part in parents.pop()]
        n_shared = sum(part not in {"", *_GENERIC_FOLDERS} for part in shared)
        run_parts = [parts[n_shared:] or parts[-1:] for parts in run_parts]
    return ["/".join(_distinctive_parts(parts)) for parts in run_parts], seeds


def _distinctive_parts(parts: Iterable[str]) -> list[str]:
    """Return the parts of a path without generic folder names."""
    nonempty = [part for part in parts if part]
    return [part for part in nonempty if part.lower() not in _GENERIC_FOLDERS] or nonempty[-1:]


def _strip_counts(
    runs: Sequence[Seen], run_parts: list[list[str]], seeds: list[int | None]
) -> None:
    """Strip numbers at the end of names that count runs; those that are seeds become seeds."""
    siblings: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, (run, parts) in enumerate(zip(runs, run_parts, strict=True)):
        if parts:
            siblings[(run.scope, *parts[:-1])].append(number)
    for numbers in siblings.values():
        names = [Name(run_parts[at][-1], bool(runs[at].settings), runs[at].seed) for at in numbers]
        for at, (text, seed) in zip(numbers, strip_counts(names), strict=True):
            run_parts[at][-1:] = [text] if text else []
            seeds[at] = seed if seeds[at] is None else seeds[at]
