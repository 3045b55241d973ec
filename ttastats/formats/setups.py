"""Which setup, which seed and which repetition is a run, by what it records and where it lies?

Settings and names that vary between runs make the entry. What only numbers runs does not: a seed,
the name or the number of a run, a version, a trial, a date. Everything here is inferred; what a
block says of a run stands above it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import xxhash

#: Where a run's record (`extra`) keeps the settings of W&B, of MLflow and of files beside logs.
RECORDED = ("settings", "config", "params")
#: Where it keeps of what its entry was inferred.
MARK = "setup"
#: Settings that name, number or place a run. `optimizer.name` and `lora_rank` are none of them.
_OF_ONE_RUN = re.compile(
    r"(?i)^(?:name|id|rank|tags|group|project)$|(?:^|[._/-])(?:(?:run|exp|experiment|job|trial|"
    r"session|project|display|process|host|task)[_-]?(?:name|id|number|num|no|idx|index)|hostname|"
    r"host|(?:local|global|node|world|process)_rank|(?:main_process_|master_)?port|master_addr|pid|"
    r"uuid|run|rep|repeat|trial|timestamp|date|notes|comment|description|resume(?:_\w+)?|_wandb|"
    r"(?:(?:output|out|logs?|logging|save|run|work|results?|checkpoints?|ckpt|cache|tmp|temp|home|"
    r"root|default_root|exp|experiment|tensorboard|data|dataset|hub|overwrite_output)[_-]?)?"
    r"(?:dir|path|folder|directory))$|seed$"
)
#: A longer name of an entry cannot be read in a table.
_LONGEST = 120
_SEEDS = ("seed", "random_seed", "SEED", "train.seed")
_SEED_KEY = re.compile(r"(?:^|[._/-])(?:random_|global_|manual_|rng_)?seed$", re.IGNORECASE)

#: Numbers that count runs wherever they stand in a name, by the word before them.
_COUNTED = re.compile(
    r"(?i)(?:^|(?<=[-_. =,+]))"
    r"(?:(?P<seed>(?:random[-_]?)?seed)|repeat|rep|run|trial|try|version|job)"
    r"[-_=. ]?(?P<number>\d{1,10})(?=$|[-_. =,+])"
)
#: Names that a program makes up for each run, and places that are the same for all.
_MADE_UP = re.compile(
    r"(?:offline-)?run-\d{8}_\d{6}-\w+|\d{6,}|\d{9,10}\.\d+"
    r"|(?=[a-f]*\d)[0-9a-f]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_T ]?\d\d[-_:.h]?\d\d(?:[-_:.m]?\d\d)?(?:[.,]\d+)?)?"
    r"|\d\d[-_:]\d\d[-_:]\d\d|(?:last-)?checkpoint(?:-\d+)?|latest",
    re.IGNORECASE,
)
#: A date and a time inside a name, as TensorBoard's writers and many scripts add them.
_STAMP = re.compile(
    r"(?:^|(?<=[-_. ]))(?:[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d"
    r"|\d{4}-?\d\d-?\d\d[-_T]\d\d[-_:]?\d\d(?:[-_:]?\d\d)?)(?=$|[-_. ])"
)
_PLACES = frozenset(
    {
        "log", "logs", "run", "runs", "lightning_logs", "csv_logs", "csv", "tb", "tb_logs",
        "tensorboard", "output", "outputs", "multirun", "result", "results", "files", "wandb",
        "mlruns", "checkpoints", "events", "metrics", "progress", "history", "train",
    }
)  # fmt: skip
#: A number at the end of a name, which counts runs only if the numbers beside it say so.
_AT_END = re.compile(
    r"(?P<before>|.*?[^-_. =])(?P<mark>(?:(?:(?<=^)|[-_. =])s[-_=]?|[-_. =]?))(?P<number>\d{1,5})"
)


class Seen(NamedTuple):
    """What is known of a run that has no name yet.

    `place` is the folders it lies in below what was given, and `file` the name of its file without
    ending, where several may lie in a folder. `scope` is what is compared at all: the format and
    the benchmark. `fallback` names the entry if nothing else does.
    """

    scope: tuple[str | None, ...]
    place: tuple[str, ...]
    file: str
    settings: Mapping[str, Any]
    seed: int | None
    fallback: str


class Setup(NamedTuple):
    """What a run was taken for."""

    entry: str
    seed: int | None


def flatten(settings: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Return nested settings as one mapping with keys joined by dots."""
    joined: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and depth < 8:
            joined |= flatten(value, f"{prefix}{key}.", depth + 1)
        else:
            joined[f"{prefix}{key}"] = value
    return joined


def recorded_settings(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in a run's `extra` by their names."""
    settings: dict[str, Any] = {}
    for key in reversed(RECORDED):
        if isinstance(more := extra.get(key), Mapping):
            settings |= flatten(more)
    return settings


def setup_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that repeated runs share, as sorted texts: without seeds and paths."""

    def text(value: Any) -> str:
        if isinstance(value, str):  # without a run number such as in `adam-s0`
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
    """Return the names of settings in which runs that record any differ."""
    known = [run for run in several if run]
    names = dict.fromkeys(name for run in known for name in run)
    return sorted(name for name in names if len({run.get(name) for run in known}) > 1)


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
    for name in (*_SEEDS, *sorted(name for name in settings if _SEED_KEY.search(name))):
        value: Any = settings.get(name)
        if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", value):
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if value == value // 1 and abs(value) < 2.0**62:
            return int(value)
    return None


def split_run_number(name: str) -> tuple[str, int | None]:
    """Return a name without its run number, and the seed in it."""
    if _MADE_UP.fullmatch(name):
        return "", None
    seeds = [int(match["number"]) for match in _COUNTED.finditer(name) if match["seed"]]
    rest = _STAMP.sub("", _COUNTED.sub("", name))
    if rest != name:
        rest = re.sub(r"([-_. =,+])[-_. =,+]+", r"\1", rest).strip("-_. =,+")
    return rest, seeds[0] if seeds else None


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
            named = path if path and (not varying or len(stems[scope]) > 1) else ""
            entry = " ".join(filter(None, (named, varying)))
            entries[number] = entry or _name_setting(share) or runs[number].fallback
    return [Setup(entry, seed) for entry, seed in zip(entries, seeds, strict=True)]


def _from_paths(runs: Sequence[Seen]) -> tuple[list[str], list[int | None]]:
    """Return for each run the entry and the seed in its path."""
    files: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)
    for run in runs:
        files[run.scope, run.place].add(split_run_number(run.file)[0])
    every: list[list[str]] = []
    seeds: list[int | None] = []
    for run in runs:
        # The name of a file tells runs apart only where others lie beside it.
        of_file = len(files[run.scope, run.place]) > 1
        halves = [split_run_number(part) for part in (*run.place, run.file)]
        every.append(_distinctive_parts(stem for stem, _ in (halves if of_file else halves[:-1])))
        named = [seed for _, seed in halves if seed is not None]
        seeds.append(run.seed if run.seed is not None or not named else named[-1])
    _strip_run_numbers(runs, every, seeds)
    return ["/".join(_distinctive_parts(parts)) for parts in every], seeds


def _distinctive_parts(parts: Iterable[str]) -> list[str]:
    """Return the parts of a path that do not only say what kind of files lie there."""
    known = [part for part in parts if part]
    return [part for part in known if part.lower() not in _PLACES] or known[-1:]


def _strip_run_numbers(
    runs: Sequence[Seen], every: list[list[str]], seeds: list[int | None]
) -> None:
    """Strip numbers at the end of names that count runs; those after an s become seeds."""
    matches = [_AT_END.fullmatch(parts[-1]) if parts else None for parts in every]
    numbers: defaultdict[tuple[Any, ...], set[int]] = defaultdict(set)
    is_recorded: defaultdict[tuple[Any, ...], list[bool]] = defaultdict(list)
    keys: list[tuple[Any, ...]] = []
    for run, parts, match in zip(runs, every, matches, strict=True):
        key = (run.scope, *parts[:-1], match["mark"], match["before"]) if match else ()
        keys.append(key)
        if match:
            numbers[key].add(int(match["number"]))
            is_recorded[key].append(bool(run.settings))
    crossed = Counter((key[:-1], frozenset(some)) for key, some in numbers.items())
    for place, (match, key) in enumerate(zip(matches, keys, strict=True)):
        if match is None:
            continue
        known, counted = all(is_recorded[key]), numbers[key]
        # They count from 0 or 1 with few gaps.
        span = max(counted) - min(counted) + 1
        alone = known or "s" in match["mark"]
        if (len(counted) == 1 and not alone) or min(counted) > 1 or len(counted) < 2 / 3 * span:
            continue
        # `exp1` and `exp2` may be two setups: what tells is that others have the same numbers,
        # or that the settings of all are known.
        is_number = not match["before"] or "s" in match["mark"]
        if is_number or crossed[key[:-1], frozenset(numbers[key])] > 1 or known:
            every[place][-1:] = [match["before"]] if match["before"] else []
            if seeds[place] is None and "s" in match["mark"]:
                seeds[place] = int(match["number"])
