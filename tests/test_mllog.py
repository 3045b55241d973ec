"""The one place where lines of MLPerf logs are made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from ttastats.recording import run_log


def event_of(value: Any, **metadata: Any) -> dict[str, Any]:
    line = run_log.event_line("POINT_IN_TIME", 1_000, "key", value, metadata)
    assert line.endswith("\n")
    assert line.startswith(":::MLLOG ")
    event: dict[str, Any] = json.loads(line.removeprefix(":::MLLOG "))
    return event


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_values_that_json_lacks_are_null(number: float) -> None:
    event = event_of({"a": [1.5, number]}, b=number)
    assert event["value"] == {"a": [1.5, None]}
    assert event["metadata"] == {"b": None}
    assert event_of(np.float32(number))["value"] is None


def test_numbers_of_other_libraries_are_numbers_and_anything_else_is_its_text() -> None:
    assert event_of(np.int64(3))["value"] == 3
    assert event_of(np.float32(0.5))["value"] == 0.5
    assert event_of(np.array([0.5]))["value"] == 0.5
    assert event_of(Path("data"))["value"] == "data"
    assert event_of(np.array([1, 2]))["value"] == "[1 2]"


def test_a_text_that_holds_the_token_is_no_second_event() -> None:
    text = ':::MLLOG {"key": "run_stop"}'
    line = run_log.event_line("POINT_IN_TIME", None, "note", text, {text: text})
    assert line.count(":::ML") == 1
    assert event_of(text)["value"] == text


def test_a_torn_line_and_other_text_are_passed_over() -> None:
    whole = run_log.event_line("POINT_IN_TIME", 1, "seed", 3, {})
    text = f"epoch 1\n0: {whole}{whole[:40]}"
    assert [(event["key"], event["value"]) for event in run_log.read_events(text)] == [("seed", 3)]


def test_the_line_is_made_in_one_place_only() -> None:
    folders = ("ttastats", "benchmarks", "examples")
    programs = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    marks = ("MLLOG {json", '":::MLLOG " + ')
    writers = [p.name for p in programs if any(mark in p.read_text("utf-8") for mark in marks)]
    assert writers == ["run_log.py"]
