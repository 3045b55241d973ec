"""What the tests of the page share: made-up runs, and a browser that logs everything."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tests.programs import PATIENCE
from ttastats.table import schema

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Names as a log could hold them; shown, they must do nothing.
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"onmouseover="alert(3)" x="',
    "javascript:alert(4)",
    "<img src=x onerror=alert(5)>",
    "]]><!--<svg onload=alert(6)>",
    "${alert(7)}`{{8}}\\u003cscript>",
    "right\u202eto left\u2028next\x1b[31mred\tand\nlines",
    "a\x07b",
    'acc $\\uparrow$ \\"',
)


def rows(
    entries: Sequence[str],
    runs: int = 3,
    benchmarks: Sequence[str] = ("digits",),
    seed: int = 0,
) -> pl.DataFrame:
    """Return a tidy table of runs with three evaluations each; the last run of an entry fails."""
    rng = random.Random(seed)
    result = []
    for number, entry in enumerate(entries):
        for benchmark in benchmarks:
            for run in range(runs):
                pace = 10.0 + number % 50 + rng.random()
                failed = runs > 2 and run == runs - 1
                result += _run(f"{entry}/{benchmark}/{run}", entry, benchmark, run, pace, failed)
    return pl.DataFrame(result, schema=schema.POLARS)


def _run(
    name: str, entry: str, benchmark: str, seed: int, pace: float, failed: bool
) -> list[dict[str, Any]]:
    common = {
        "run_id": name,
        "source": f"logs/{name}.txt",
        "content_digest": name,
        "suite": "made up",
        "benchmark": benchmark,
        "system": f"system of {entry}",
        "entry": entry,
        "hardware": entry,
        "seed": seed,
        "started_at": datetime(2026, 1, 1, tzinfo=UTC),
        "clock": "wall",
        "run_status": "success",
        "run_seconds": 3 * pace,
        "metric": "accuracy",
        "higher_is_better": True,
        "target_value": 0.9,
    }
    values = (0.5, 0.8, 0.85 if failed else 0.95)
    return [
        common
        | {"eval_index": index, "value": value, "seconds": (index + 1) * pace, "epoch": index + 1.0}
        for index, value in enumerate(values)
    ]


@dataclass(slots=True)
class PageLog:
    """The requests and messages of a page."""

    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        """Record every request, message, error and dialog of a page."""
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self._refuse(dialog))

    def _refuse(self, dialog: Any) -> None:
        self.messages.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    *,
    width: int = 1280,
    scheme: str = "light",
    fragment: str = "",
    **more: Any,
) -> Iterator[Page]:
    """Open a page from disk, as a reader would; in the end it must have stayed silent.

    `fragment` is what an address carries behind the file, with its `#`.
    Nothing may leave it but the reading of the file itself and of what is in it.
    """
    log = PageLog()
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, **more
    )
    try:
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        log.listen(page)
        page.goto(path.as_uri() + fragment)
        yield page
        assert log.messages == []
        urls = [url.removesuffix(fragment) for url in log.requests]
        elsewhere = [url for url in urls if not url.startswith(("data:", "blob:"))]
        assert elsewhere == [path.as_uri()]
    finally:
        context.close()


def draw_all(page: Page) -> None:
    """Open every section, and scroll to each plot until it is drawn."""
    page.evaluate(
        "for (const one of document.querySelectorAll('details.section, .more')) one.open = true"
    )
    reached = "one => one.dataset.drawn || (one.scrollIntoView(), false)"
    for figure in page.locator("figure[data-plot]").all():
        page.wait_for_function(reached, arg=figure.element_handle(), polling=30)


def marks(figure: Any) -> int:
    """Count the marks of a plot: symbols, lines, bars, areas and rules."""
    kinds = ("symbol", "line", "rect", "area", "rule", "trail")
    return int(figure.locator(", ".join(f".mark-{kind} > *" for kind in kinds)).count())


def data_of(text: str) -> dict[str, Any]:
    """Return the data a page carries, and those that are read when a section is opened."""
    (first,) = re.findall('<script type="application/json" id="data">(.*?)</script>', text)
    (packed,) = re.findall('<script type="text/plain" id="plots">(.*?)</script>', text)
    return json.loads(first) | json.loads(zlib.decompress(base64.b64decode(packed)))


def frame(table: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(table["columns"], infer_schema_length=None, strict=False)
