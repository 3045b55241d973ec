"""Plots and pages of runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from ttastats.api.answers import summarize_entries
from ttastats.api.comparing import conditions_of, judged_sides
from ttastats.api.tables import with_choice_notes
from ttastats.base import arguments
from ttastats.base.errors import raise_if
from ttastats.outcomes.target import expect_metric
from ttastats.sides import choice, question
from ttastats.sides.choice import Choice
from ttastats.sides.options import (
    ComparisonBudgetKeywords,
    ComparisonKeywords,
    Gates,
    refuse_excluded,
    several,
)
from ttastats.sides.question import Question, Source, takes

if TYPE_CHECKING:
    from ttastats.output.page.document import Page
    from ttastats.output.plots.material import Material
    from ttastats.output.plots.plot import Plots

#: Letters of the name of a side in the sentences of a page.
_LONGEST_LABEL = 40


@takes(ComparisonKeywords)
def plots(*sources: Source, **keywords: Unpack[ComparisonKeywords]) -> Plots:
    """Return every plot that applies to some runs: those of each benchmark first, then of several.

    With one source, plots are grouped by entry; with several, each is compared with the first.
    """
    from ttastats.output.plots import kinds  # scipy costs start-up time
    from ttastats.output.plots.plot import Plots

    return Plots(kinds.all_plots(material(*sources, **keywords)))


@takes(ComparisonKeywords)
def plot(
    kind: str,
    *sources: Source,
    metric: str = "",
    on: Sequence[str] = (),
    **keywords: Unpack[ComparisonKeywords],
) -> Plots:
    """Return the plots of one kind, one per benchmark or one for all; see `plots`.

    Parameters
    ----------
    metric
        Draw this metric, which may be a training metric, instead of the quality; for `quality-time`
        and `quality-epochs`.
    on
        Settings of `effects`, as there; by default those recorded that vary.
    """
    from ttastats.output.plots import kinds  # scipy costs start-up time
    from ttastats.output.plots.plot import Plots

    on = several(on)
    draw = kinds.drawer_of(kind, metric, on)
    return Plots(draw(replace(material(*sources, metric=metric, **keywords), on=on)))


@takes(ComparisonBudgetKeywords)
def html_report(
    *sources: Source,
    output: str | Path | None = None,
    title: str = "",
    also: Sequence[str] = (),
    fail_on: Gates = None,
    require: Gates = None,
    command: str = "",
    on_progress: Callable[[int, int], None] | None = None,
    **keywords: Unpack[ComparisonBudgetKeywords],
) -> Page:
    """Return one self-contained HTML page: verdict, numbers and plots.

    One source is summarized; with several, the first is the baseline. At a budget, the page
    compares qualities.

    Parameters
    ----------
    output
        Path of the page, which is written atomically; no input, nor any file but a report, is
        overwritten.
    also, fail_on, require
        Metrics and conditions as in `compare`; the result is in `Page.gate`.
    command
        Command to show on the page.
    on_progress
        Called with the number of kinds of plots that are drawn, and that of all.
    """
    from ttastats.output.page import content, document
    from ttastats.output.plots import kinds, speedups, tta
    from ttastats.report.fitting import shorten_names

    raise_if(
        len(sources) < 2 and (fail_on or require or also),
        "needs two sides",
        "--fail-on" if fail_on else "--require" if require else "--also",
        "Give two files, the baseline first, or --a and --b.",
    )
    query = Question(**keywords)
    options, also = query.judgement, several(also)
    refuse_excluded(options, query.budget, also)
    conditions = conditions_of(query, fail_on, require)
    if output is not None:
        document.expect_page_path(
            Path(output), [path for source in sources for path in question.files(source)]
        )
    names = question.short_labels(sources, query.labels)
    choices = choice.sides(sources, query)
    names = choice.side_names(choices, names)
    short = shorten_names(names, _LONGEST_LABEL) or {}  # sentences repeat them
    page_material = _chosen_material(choices, query, [short.get(name, name) for name in names])
    runs = [side.runs for side in choices]
    if page_material.compares:
        answer = judged_sides(page_material.sides, query, conditions, also=also)
    else:
        answer = summarize_entries(choices[0], query, options.ddof, options.confidence)
    answer = with_choice_notes(answer, *choices)
    page = document.make_page(
        content.page_content(
            list(zip(names, runs, strict=True)),
            dataclasses.replace(
                answer, notes=(*answer.notes, *kinds.slow_kind_notes(page_material))
            ),
            # The first screen shows what these would: of a comparison, and of a summary.
            kinds.all_plots(
                page_material,
                without=(speedups.KIND if page_material.compares else tta.KIND,),
                on_progress=on_progress,
            ),
            title=title,
            conditions=[
                *map(str, arguments.conditions("where", query.where)),
                *(f"target {text}" for text in arguments.targets("target", query.target)),
            ],
            confidence=options.confidence,
            command=command,
            looks=content.find_looks(page_material.sides),
        )
    )
    if output is not None:
        document.write_page(Path(output), page.html)
    return page


@takes(ComparisonKeywords)
def material(
    *sources: Source, metric: str = "", **keywords: Unpack[ComparisonKeywords]
) -> Material:
    """Return the data that plots are made of, for runs of one or more sources."""
    query = Question(**keywords)
    names = question.labels(sources, query.labels)
    choices = choice.sides(sources, query)
    for side in choices if metric else ():
        expect_metric(side.rows, metric, "--metric", of_training=True)
    return replace(_chosen_material(choices, query, names), metric=metric)


def _chosen_material(choices: Sequence[Choice], query: Question, names: Sequence[str]) -> Material:
    from ttastats.output.plots.material import make_material  # scipy costs start-up time

    sides = choice.as_sides(choices, query, names)
    return make_material(sides, query)
