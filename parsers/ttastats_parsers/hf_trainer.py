"""Hugging Face Trainer: `trainer_state.json`, whose `log_history` holds all that was logged.

Its entries bear a step and an epoch, and no time: none is made up, so that such runs are compared
in steps and epochs, unless event files around it tell when each was logged. Every checkpoint holds
the whole history before it; the longest one tells the run, and the others are parts of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ttastats.base.records import Problem, Run, RunStatus
from ttastats.formats.dialect import NO_EVALUATION, PART_OF_A_RUN, Log
from ttastats_parsers import settings_files
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, as_int, storable

name = "hf-trainer"

STATE = "trainer_state.json"
_KEYS = (b'"log_history"', b'"global_step"')
CHECKPOINT = re.compile(r"(?:checkpoint-(\d+)|last-checkpoint)")
#: Keys of an entry that say where it stands; of the last one, what the whole training took.
_PROGRESS = frozenset({"step", "epoch"})
#: What a state knows of the arguments of its run.
_ARGUMENTS = ("max_steps", "num_train_epochs", "train_batch_size", "trial_params")
_TOTALS = ("train_runtime", "train_loss", "total_flos")
_FACTS = (
    "best_metric", "best_global_step", "best_model_checkpoint", "global_step", "max_steps",
    "num_train_epochs", "num_input_tokens_seen", "train_batch_size", "trial_name",
)  # fmt: skip


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file is a trainer state, by its name or its keys."""
    if head and b"{" not in head[:8]:
        return False
    return path.endswith(f"/{STATE}") or (
        path.endswith(".json") and all(key in head for key in _KEYS)
    )


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run, unless another file of it holds a longer history."""
    state, error = _parse_state(log.read())
    if state is None:
        yield Problem("unreadable_file", f"not a trainer state: {error}", "error")
        return
    history = state["log_history"]
    longer = _longer_history(log, history)
    if longer is not None:
        other_file = longer.relative_to(run_folder(log).parent)
        yield Problem(PART_OF_A_RUN, f"its history is the start of that in {other_file}", "info")
        return
    evaluations, problems = evaluations_of(_logged_values(history), log)
    totals: Mapping[str, Any] = next((e for e in reversed(history) if "train_runtime" in e), {})
    steps, planned = as_int(state.get("global_step")), as_int(state.get("max_steps"))
    status: RunStatus = "unknown"
    if totals or (steps is not None and planned is not None and 0 < planned <= steps):
        status = "success"
    elif steps is not None and planned is not None:
        status = "truncated"
    yield Run(
        entry=None if (top := run_folder(log)) == log.folder else top.name,
        framework="transformers",
        run_status=status,
        evaluations=evaluations,
        problems=problems if evaluations else (*problems, NO_EVALUATION),
        extra=_extra_fields(state, history, totals),
    )


def _parse_state(content: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the fields of a trainer state, NaN as None, and what is wrong with it."""
    try:
        fields = json.loads(content.decode("utf-8-sig", "replace"), parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        return None, str(error)
    if not isinstance(fields, dict) or not isinstance(fields.get("log_history"), list):
        return None, "it has no log_history"
    entries = [entry for entry in fields["log_history"] if isinstance(entry, dict)]
    return {**fields, "log_history": entries}, ""


def _longer_history(log: Log, history: list[dict[str, Any]]) -> PurePosixPath | None:
    """Return another file around a checkpoint, or below, whose history begins with this one."""
    top = run_folder(log)
    steps: dict[PurePosixPath, float] = {}
    for name_ in log.listing(top):
        if match := CHECKPOINT.fullmatch(name_[:-1]):
            steps[top / match[0]] = float(match[1] or "inf")  # one called the last is
    for folder in [top, *sorted(steps, key=lambda folder: steps[folder], reverse=True)]:
        if (path := folder / log.name) == log.path:
            continue
        content = log.companion(path)
        state, _ = _parse_state(content) if content is not None else (None, "")
        longer = state["log_history"] if state else []
        if longer[: len(history)] != history or not history:
            continue
        # Of equal ones the file that stands first tells the run.
        earliest = min(path, log.path, key=lambda file: (len(file.parts), str(file)))
        if len(longer) > len(history) or earliest == path:
            return path
    return None


def run_folder(log: Log) -> PurePosixPath:
    """Return the folder of a run, which may be the one around a checkpoint's."""
    return log.folder.parent if CHECKPOINT.fullmatch(log.folder.name) else log.folder


def _logged_values(history: list[dict[str, Any]]) -> list[Measured]:
    """Return the logged values without the totals of the training."""
    measured = []
    for entry in history:
        if "train_runtime" in entry:
            continue
        step, epoch = as_int(entry.get("step")), as_float(entry.get("epoch"))
        for key, value in entry.items():
            if key not in _PROGRESS and (value is None or isinstance(value, int | float)):
                # What is not of an evaluation was logged in training: `loss` is the loss there.
                metric = key if key.startswith(("eval_", "test_", "train_")) else f"train_{key}"
                measured.append(Measured(metric, as_float(value), step, None, epoch))
    return measured


def _extra_fields(
    state: Mapping[str, Any], history: list[dict[str, Any]], totals: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields without a column; `eval_runtime` is the sum over all evaluations."""
    extra = {key: storable(state[key]) for key in _FACTS if state.get(key) is not None}
    extra |= {key: storable(totals[key]) for key in _TOTALS if key in totals}
    arguments = {key: state[key] for key in _ARGUMENTS if state.get(key) is not None}
    extra |= {"settings": settings} if (settings := settings_files.of_mapping(arguments)) else {}
    spent = [
        seconds
        for entry in history
        for key, value in entry.items()
        if key.startswith("eval_") and key.endswith("_runtime")
        if (seconds := as_float(value)) is not None
    ]
    return extra | ({"eval_runtime": round(sum(spent), 6)} if spent else {})
