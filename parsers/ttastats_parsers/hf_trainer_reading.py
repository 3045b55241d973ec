"""Hugging Face Trainer: `trainer_state.json`, whose `log_history` holds all that was logged.

Its entries bear a step and an epoch, and no time: none is made up, so that such runs are compared
in steps and epochs. Every checkpoint holds the whole history before it; the longest one tells the
run, and the others are parts of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ttastats.base.records import Problem, Run, RunStatus
from ttastats.formats.dialect import PART_OF_A_RUN, Log
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, as_int, as_mapping, storable

_CHECKPOINT = re.compile(r"(?:checkpoint-(\d+)|last-checkpoint)")
#: Keys of an entry that say where it stands; of the last one, what the whole training took.
_PLACE = frozenset({"step", "epoch"})
_WHOLE = ("train_runtime", "train_loss", "total_flos")
_ABOUT = (
    "best_metric", "best_global_step", "best_model_checkpoint", "global_step", "max_steps",
    "num_train_epochs", "num_input_tokens_seen", "train_batch_size", "trial_name",
)  # fmt: skip


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run, unless another file of it holds a longer history."""
    state, error = _state(log.read())
    if state is None:
        yield Problem("unreadable_file", f"not a trainer state: {error}", "error")
        return
    teller = _teller(log, _history(state))
    if teller is not None:
        shown = teller.relative_to(_top(log).parent)
        yield Problem(PART_OF_A_RUN, f"its history is the start of that in {shown}", "info")
        return
    yield _run(state, log)


def _state(content: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the fields of a state; NaN, which is no JSON but is written, becomes None."""
    try:
        fields = json.loads(content.decode("utf-8-sig", "replace"), parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        return None, str(error)
    if not isinstance(fields, dict) or not isinstance(fields.get("log_history"), list):
        return None, "it has no log_history"
    return fields, ""


def _history(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in state["log_history"] if isinstance(entry, dict)]


def _teller(log: Log, history: list[dict[str, Any]]) -> PurePosixPath | None:
    """Return another file whose history begins with this one, longest first; None if there is none.

    Of equal ones the file that stands first tells the run.
    """
    for place in _candidates(log):
        content = log.companion(place)
        state, _ = _state(content) if content is not None else (None, "")
        other = _history(state) if state else []
        if other[: len(history)] != history or not history:
            continue
        if len(other) > len(history) or min(place, log.path, key=_rank) == place:
            return place
    return None


def _candidates(log: Log) -> Iterator[PurePosixPath]:
    """Yield the states of the same training: around a checkpoint, or in the checkpoints below."""
    top = _top(log)
    folders = [top / word[:-1] for word in log.listing(top) if _CHECKPOINT.fullmatch(word[:-1])]
    ordered = sorted(folders, key=lambda folder: _number(folder.name), reverse=True)
    yield from (place for folder in [top, *ordered] if (place := folder / log.name) != log.path)


def _top(log: Log) -> PurePosixPath:
    """Return the folder of the run: that around a checkpoint's."""
    return log.folder.parent if _CHECKPOINT.fullmatch(log.folder.name) else log.folder


def _number(folder: str) -> float:
    """Return the step that a checkpoint's name tells; one called the last is."""
    match = _CHECKPOINT.fullmatch(folder)
    return float(match[1]) if match and match[1] else float("inf")


def _rank(place: PurePosixPath) -> tuple[int, str]:
    return len(place.parts), str(place)


def _run(state: Mapping[str, Any], log: Log) -> Run:
    history = _history(state)
    evaluations, problems = evaluations_of(_measured(history), log)
    whole: Mapping[str, Any] = next((e for e in reversed(history) if "train_runtime" in e), {})
    return Run(
        entry=None if _top(log) == log.folder else _top(log).name,
        framework="transformers",
        run_status=_status(state, whole),
        evaluations=evaluations,
        problems=problems if evaluations else (*problems, _NO_EVALUATION),
        extra=_extra(state, history, whole),
    )


_NO_EVALUATION = Problem("no_evaluation", "the run has no evaluation", "warning")


def _measured(history: list[dict[str, Any]]) -> list[Measured]:
    """Return the values of all entries but those that sum up the whole training."""
    found = []
    for entry in history:
        if "train_runtime" in entry:
            continue
        step, epoch = as_int(entry.get("step")), as_float(entry.get("epoch"))
        for word, value in entry.items():
            if word not in _PLACE and (value is None or isinstance(value, int | float)):
                # What is not of an evaluation was logged in training: `loss` is the loss there.
                metric = word if word.startswith(("eval_", "test_", "train_")) else f"train_{word}"
                found.append(Measured(metric, as_float(value), step, None, epoch))
    return found


def _status(state: Mapping[str, Any], whole: Mapping[str, Any]) -> RunStatus:
    done, planned = as_int(state.get("global_step")), as_int(state.get("max_steps"))
    if whole or (done is not None and planned is not None and 0 < planned <= done):
        return "success"
    return "truncated" if done is not None and planned is not None else "unknown"


def _extra(
    state: Mapping[str, Any], history: list[dict[str, Any]], whole: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what has no column; `eval_runtime` is the sum over all evaluations."""
    extra = {word: storable(state[word]) for word in _ABOUT if state.get(word) is not None}
    extra |= {word: storable(whole[word]) for word in _WHOLE if word in whole}
    spent = [
        seconds
        for entry in history
        for word, value in as_mapping(entry).items()
        if word.startswith("eval_") and word.endswith("_runtime")
        if (seconds := as_float(value)) is not None
    ]
    return extra | ({"eval_runtime": round(sum(spent), 6)} if spent else {})
