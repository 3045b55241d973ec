"""Does every command say what the design or the values of runs keep them from showing?

A table of each kind, asked by each command that judges it: the condition, or what is proposed,
stands on a screen, in Markdown, JSON, HTML and on the page.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from tests.test_order import forms, on_places
from tests.test_same import MONDAY, TUESDAY
from tests.test_sessions import BEGIN
from tests.test_whole_sentences import VARIED, logged
from ttastats import api
from ttastats.report.answer import Report
from ttastats.sides.options import Options

Sides = tuple[pl.DataFrame, ...]
Draw = random.Random


def one_after_the_other(draw: Draw) -> Sides:
    """Return all runs of A, and then B, which is half as fast or twice."""
    ratio = draw.choice([0.5, 2.0])
    return tuple(logged(name, seconds, VARIED, day=day) for name, seconds, day in
                 (("a", 200, 0), ("b", 200 * ratio, draw.uniform(380, 410) / 1440)))  # fmt: skip


def drifting(draw: Draw) -> Sides:
    """Return sides one after the other on a machine that slows by about a twentieth a run."""
    slower = draw.uniform(1.04, 1.06)
    return tuple(
        pl.concat([
            logged(f"{name}{n}", 100 * (1 + (name == "b")) * slower ** (n + 8 * (name == "b")),
                   [VARIED[n]], entry=name, day=(n + 8 * (name == "b")) / 36)
            for n in range(8)
        ])
        for name in "ab"
    )  # fmt: skip


def in_unlike_units(draw: Draw) -> Sides:
    """Return sides of which A counts seconds and B minutes."""
    minutes = draw.uniform(2, 4)
    return logged("a", 60 * minutes, VARIED), logged("b", minutes, VARIED)


def on_days(draw: Draw) -> Sides:
    """Return times of sides in turn on days that differ by more than the sides."""
    return tuple(on_places(draw, 0.05, 1.02, host=False))


def ends(draw: Draw, level: Callable[[int, str], float], noise: float, **more: Any) -> Sides:
    """Return runs of 40 evaluations whose losses stay at a level, on five days of three."""
    rows = [
        {"run": f"{name}{day}{number}", "entry": name, "epoch": epoch, "seconds": 30.0 * epoch,
         "when": BEGIN + timedelta(days=day + (name == "b") * more.get("after", 0),
                                   minutes=60 * number + 30 * (name == "b")),
         "loss": level(day, name) + draw.gauss(0, noise * (1 + (name == "b") * more.get("b", 0)))}
        for day in range(5) for number in range(3) for name in "ab" for epoch in range(1, 41)
    ]  # fmt: skip
    return tuple(
        api.from_frame(
            pl.DataFrame(rows).filter(entry=name), run="run", entry="entry", metric="loss",
            seconds="seconds", epoch="epoch", started_at="when", higher_is_better=False,
        )
        for name in "ab"
    )  # fmt: skip


def on_days_at_the_end(draw: Draw) -> Sides:
    return ends(draw, lambda day, name: 3 - 0.01 * day - 0.0015 * (name == "b"), 0.0005)


def one_after_the_other_at_the_end(draw: Draw) -> Sides:
    return ends(draw, lambda _, name: 3 + 0.01 * (name == "b"), 0.002, after=5)


def noisier(draw: Draw) -> Sides:
    return ends(draw, lambda *_: 3.0, 0.02, b=draw.uniform(0.8, 1.5))


def unlike_grids(draw: Draw) -> Sides:
    """Return runs of one curve over seconds, of which B is evaluated more rarely."""
    return tuple(
        api.from_frame(
            pl.DataFrame([
                {"run": f"{name}{n}", "entry": name, "epoch": epoch, "seconds": every * epoch,
                 "loss": 3 + 2 * 0.9 ** (every * epoch / 10) + draw.gauss(0, 1e-3)}
                for n in range(8) for epoch in range(1, 30)
            ]), run="run", entry="entry", metric="loss", seconds="seconds", epoch="epoch",
            higher_is_better=False,
        )
        for name, every in (("a", 10.0), ("b", draw.uniform(11.5, 14.0)))
    )  # fmt: skip


def equal_values(draw: Draw) -> Sides:
    return (logged("a", draw.uniform(90, 100), [3] * draw.randint(5, 9)),)


def of_few_sessions(_: Draw) -> Sides:
    return MONDAY, TUESDAY


def undecided(draw: Draw) -> Sides:
    return tuple(logged(name, draw.uniform(99, 101), VARIED[:5], noise=0.3) for name in "ab")


def unequal(draw: Draw) -> Sides:
    """Return sides of 15 and 5 runs of which one of the larger straggles."""
    pace = draw.uniform(170, 185)
    return (logged("a", 200, [4] * 14 + [12], noise=0.02, evaluated=30),
            logged("b", pace, [4, 5, 4, 4, 4], noise=0.02, evaluated=30))  # fmt: skip


def page(*sides: pl.DataFrame, **asked: Any) -> Iterator[str]:
    yield html.unescape(api.html_report(*sides, **asked).html)


def answer(ask: Callable[..., Report], **asked: Any) -> Callable[..., Iterator[str]]:
    def say(*sides: pl.DataFrame) -> Iterator[str]:
        yield from forms(ask(*sides, **asked))

    return say


def gate(*sides: pl.DataFrame, **asked: Any) -> Iterator[str]:
    """Yield what a gate says, if each form of its answer does."""
    report = api.compare(*sides, **asked)
    assert report.gate is not None
    said = " ".join(finding.text for finding in report.gate.findings)
    plain = [" ".join(re.sub(r"</?code>|[`\\]", "", text).split()) for text in forms(report)]
    assert all(finding.text in text for finding in report.gate.findings for text in plain)
    yield said


def together(ask: Callable[..., Report], **asked: Any) -> Callable[..., Iterator[str]]:
    def say(*sides: pl.DataFrame) -> Iterator[str]:
        report = ask(pl.concat(sides), **asked)
        yield from forms(getattr(report, "displayed", report))

    return say


def asked_of(say: Callable[..., Iterator[str]], **asked: Any) -> Callable[..., Iterator[str]]:
    return lambda *sides: say(*sides, **asked)


LOOKS = Options(max_runs=20)
#: What is asked of a claim in times: by each command, gates that fail and that pass with it.
TIMES: dict[str, Callable[..., Iterator[str]]] = {
    "compare": answer(api.compare), "targets": answer(api.targets),
    "looks": answer(api.compare, options=LOOKS), "report": page,
    "throughput": answer(api.compare, options=Options(same_convergence=True)),
    "rank": together(api.rank), "summary": together(api.summary),
    "report of entries": lambda *sides: page(pl.concat(sides)),
    "gate": lambda *sides: gate(*sides, fail_on="slower:1%", require="not-slower:1%"),
    "gate the other way": lambda a, b: gate(b, a, fail_on="slower:1%", require="not-slower:1%"),
}  # fmt: skip
END: dict[str, Any] = {"at_end": True}
BEST: dict[str, Any] = {"at_end": True, "best": True}
AT: dict[str, Any] = {"at": "seconds=100"}

Asked = dict[str, Callable[..., Iterator[str]]]
#: Tables of each kind, what is said of them, and by which commands.
KINDS: dict[str, tuple[Callable[[Draw], Sides], str, Asked]] = {
    "order": (one_after_the_other, "in this order", TIMES),
    "sessions of qualities": (one_after_the_other_at_the_end, "in these sessions", {
        "compare": answer(api.compare, **END), "report": asked_of(page, **END),
        "gate": asked_of(gate, **END, fail_on="worse:0.1", require="not-worse:0.1"),
        "failed gate": asked_of(gate, **END, fail_on="worse:0.001")}),
    "drift": (drifting, "while time per epoch drifts", TIMES),
    "units": (in_unlike_units, "if both clocks count in one unit", {
        asked: say for asked, say in TIMES.items() if "gate" not in asked}),
    "blocks": (on_days, "--block day would find", {
        "compare": answer(api.compare), "report": page}),
    "blocks of a plan": (on_days, "compared by --block day detect", {
        "power": together(api.power)}),
    "blocks of qualities": (on_days_at_the_end, "--block day would find a difference of 0.00", {
        "at the end": answer(api.compare, **END), "report": asked_of(page, **END),
        "at": answer(api.compare, at="epoch=40")}),
    "best": (noisier, "the best of noisier evaluations", {
        "compare": answer(api.compare, **BEST), "report": asked_of(page, **BEST),
        "gate": asked_of(gate, **BEST, require="not-worse:0.001")}),
    "grids": (unlike_grids, "evaluation intervals differ", {
        "compare": answer(api.compare, **AT), "report": asked_of(page, **AT),
        "gate": asked_of(gate, **AT, require="not-worse:0.001")}),
    "equal values": (equal_values, "if no run differs", {
        "claim": answer(api.claim, quality="val_loss <= 3.4")}),
    "same": (of_few_sessions, "2 sessions alike do not exclude 78%", {
        "compare": answer(api.compare, same=True)}),
    "range": (undecided, "nothing shows that the target does not matter", {
        "targets": answer(api.targets)}),
    "margin": (unequal, "with unequal numbers of runs", {
        "compare": answer(api.compare, options=Options(margin=0.6)), "report": page,
        "undecided": answer(api.compare, options=Options(margin=0.2)),
        "report of the undecided": asked_of(page, options=Options(margin=0.2)),
        "gate": asked_of(gate, require="not-slower:20%")}),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("kind", "asked"), [(kind, asked) for kind, (*_, every) in KINDS.items() for asked in every]
)
def test_what_runs_cannot_show_is_said_in_every_form(kind: str, asked: str, seed: int) -> None:
    make, says, ask = KINDS[kind]
    sides = make(random.Random(f"{kind} {seed}"))
    for text in ask[asked](*sides):
        assert says in " ".join(re.sub(r"</?code>|[`\\]", "", text).split())
