"""A second reader of MLPerf logs, slow and as different from the parsers as possible.

It decodes no JSON and knows no Python literals: every line is text, from which numbers and words
are cut. It shares no code with the project, so that both would have to be wrong in the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

SUCCESS = {"success", "succuss", "true"}
ABORTED = {"aborted", "abort", "fail", "false"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WANTED = ("run_start", "run_stop", "eval_accuracy", "eval_result")


class Line(NamedTuple):
    """One line of interest: its key, its time in seconds, and all of its text."""

    key: str
    time: Decimal
    text: str


@dataclass
class Reading:
    """What the text of a log says; `seconds` is None for a run that does not end."""

    seconds: Decimal | None
    status: str
    scores: list[float]


def read(content: bytes) -> Reading | None:
    """Return what a log says, or None if no run starts in it."""
    lines = [event for text in content.split(b"\n") if (event := interesting(text))]
    starts = [line for line in lines if line.key == "run_start"]
    if not starts:
        return None
    start = min(line.time for line in starts)
    stops = [line for line in lines if line.key == "run_stop" and line.time >= start]
    stop = stops[0] if stops else None
    scores = [number for line in evaluations(lines) for number in numbers(line)]
    decided = [line for line in lines if line.key == "eval_result"]
    if decided and ":::MLL " in decided[0].text:
        winner = after(decided[0].text, "timestamp")
        if NUMBER.match(winner):
            return Reading(Decimal(NUMBER.match(winner).group()), "success", scores)  # type: ignore[union-attr]
    if stop is None:
        return Reading(None, "truncated", scores)
    return Reading(stop.time - start, ending(stop.text), scores)


def interesting(raw: bytes) -> Line | None:
    """Return the key and time after the last token of a line."""
    at = raw.rfind(b":::ML")
    if at < 0 or not any(word.encode() in raw for word in WANTED):
        return None
    text = raw[at:].decode("latin-1").strip()
    if text.startswith(":::MLLOG"):
        key, unit = after(text, "key"), Decimal(1000)
        stamp = after(text, "time_ms")
        if not stamp:
            stamp, unit = after(text, "time_s"), Decimal(1)
    elif text.startswith(":::MLL"):
        words, unit = [*text.split(), "", ""], Decimal(1)
        stamp, key = words[1], words[2]
    else:
        before, _, behind = text.partition(") ")
        stamp, key, unit = [*before.split(), "", "", ""][2], behind, Decimal(1)
    key = re.split(r"\W", key, maxsplit=1)[0]
    number = re.match(r"\d+(\.\d+)?", stamp)
    if key not in WANTED or number is None:
        return None
    return Line(key, Decimal(number.group()) / unit, text)


def after(text: str, word: str) -> str:
    """Return what follows `word:`, whatever the quotes are, or nothing."""
    match = re.search(rf"\b{word}[\"']?: *[\"']?", text)
    return text[match.end() :] if match else ""


def ending(text: str) -> str:
    """Return how a `run_stop` line says that the run ended."""
    texts = (after(text, word) for word in ("status", "success", "value"))
    for words in texts:
        word = re.split(r"\W", words, maxsplit=1)[0].lower()
        if word in SUCCESS | ABORTED:
            return "success" if word in SUCCESS else "aborted"
    return "unknown"


def evaluations(lines: list[Line]) -> list[Line]:
    """Return the evaluations once each: neither doubled loggers nor ranks count twice."""
    result: list[Line] = []
    seen: dict[tuple[str, ...], Decimal] = {}
    for line in sorted((line for line in lines if line.key == "eval_accuracy"), key=moment):
        words = ("epoch", "epoch_num", "samples_count", "step_num", "metric")
        identity = (value_text(line), *(label(line.text, word) for word in words))
        if identity not in seen or line.time - seen[identity] > 1:
            result.append(line)
        seen[identity] = line.time
    return result


def label(text: str, word: str) -> str:
    """Return a label as text, the same for 1 and 1.0."""
    value = re.split(r"[,}\s]", after(text, word), maxsplit=1)[0]
    return str(float(value)) if NUMBER.fullmatch(value) else value


def moment(line: Line) -> Decimal:
    return line.time


def value_text(line: Line) -> str:
    """Return the text of a value: a number, or all up to the bracket that closes it."""
    text = after(line.text, "value")
    if text[:1] == "{":
        return text.partition("}")[0]
    if text[:1] == "[":
        return text.partition("]")[0]
    number = NUMBER.match(text)
    return number.group() if number else ""


def numbers(line: Line) -> list[float]:
    """Return the scores on a line: a pair of them is two metrics."""
    return [float(text) for text in NUMBER.findall(value_text(line))]
