"""Questions of a test with their accepted answers: rows, notes, sentence and gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest

from tests.accepted import cases
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report

#: By what they show; a question that is refused has its message as the answer.
Questions = Mapping[str, Callable[[], Report]]


def accepted_answers(name: str, questions: Questions) -> pytest.MarkDecorator:
    """Return a decorator that runs a test with the answers of all questions as one case."""
    return cases("questions", **{name: partial(_answers, questions)})


def _answers(questions: Questions) -> Iterator[Any]:
    for shows, question in questions.items():
        yield f"---------- {shows}"
        try:
            report = question()
        except TtastatsError as error:
            yield str(error)
            continue
        for row in report.rows:
            yield {key: value for key, value in row.items() if value is not None}
        for line in (line for table in report.displayed.tables for line in table.rows):
            if line.details or line.more:
                yield [*line.details, *line.more]
        for note in report.notes:
            yield f"{note.code}: {note.text}{note.mark and f' {note.mark}'}"
        yield report.sentence
        if report.gate is not None:
            yield report.gate
