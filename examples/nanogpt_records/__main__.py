"""Judge the NanoGPT speedrun's records in a folder, and write a page of them all.

    python examples/nanogpt_records FOLDER -o audit.md

FOLDER is `records` of github.com/KellerJordan/modded-nanogpt, or a part of it: a folder for each
record, named by its date, with its logs or with folders of logs. A folder `baseline` among these
holds runs of the record before on the same machine: the others are judged against it. Where there
is none, the baseline is the record dated before, which was made elsewhere. Results of track 3 are
judged by their own runs alone; a log that lies in `results` itself is a result of its own.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ttastats import api, ingest
from ttastats.base.errors import TtastatsError
from ttastats.report import as_markdown
from ttastats.report.answer import Report

BASELINE = "baseline"
RULES = (("track_3", "nanogpt-track-3"), ("track_2", "nanogpt-track-2"), ("", "nanogpt-track-1"))
HEAD = """# Records of the NanoGPT speedrun, judged anew

Each folder is judged by the written rules of its track from its logs, as `ttastats record` does.

| folder | runs | mean loss | p | stop | mean time | verdict |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
"""


@dataclass(frozen=True, slots=True)
class Judged:
    """A folder of runs, and the runs it is compared with."""

    name: str
    table: Path
    against: str
    answer: Report | str


def units(root: Path) -> dict[str, list[Path]]:
    """Return the logs of each record by its name: those of a folder, or one log in `results`."""
    records: dict[str, list[Path]] = {}
    logs = (path for path in root.rglob("*") if path.suffix in {".txt", ".log"})
    for path in sorted(logs):
        unit = path if path.parent.name == "results" else path.parent
        records.setdefault(str(unit.relative_to(root)), []).append(path)
    return records


def tables(root: Path, into: Path) -> dict[str, Path]:
    """Ingest the logs of each record; one without a run is passed over."""
    ingested = {}
    for number, (name, logs) in enumerate(units(root).items()):
        table = into / f"{number}.parquet"
        try:
            ingest(logs, table, workers=1)
        except TtastatsError as error:
            print(f"passed over: {error}", file=sys.stderr)
        else:
            ingested[name] = table
    return ingested


def judged(ingested: Mapping[str, Path]) -> Iterator[Judged]:
    """Judge each record against the baseline beside it, or the one before on the same track."""
    before: dict[str, str] = {}
    for name, table in ingested.items():
        rules = next(rules for part, rules in RULES if part in name)
        beside = str(Path(name).parent / BASELINE)
        against = beside if beside in ingested else before.get(rules, "")
        if Path(name).name == BASELINE or rules == "nanogpt-track-3":
            against = ""
        sources = {key: ingested[key] for key in (against, name) if key}
        try:
            answer: Report | str = api.judge_record(
                *sources.values(), rules=rules, labels=list(sources)
            )
        except TtastatsError as error:
            answer = str(error)
        yield Judged(name, table, against, answer)
        if Path(name).name != BASELINE:
            before[rules] = name


def line(record: Judged) -> str:
    """Return the line of a record in the table of all."""
    if isinstance(record.answer, str):
        return f"| {record.name} | | | | | | not judged: {record.answer.splitlines()[0]} |\n"
    (row,) = record.answer.rows
    runs = api.run_table(record.table)
    seconds, steps = runs["run_seconds"].mean(), row["steps_b"] or runs["steps"].max()
    reasons = ", ".join(reason.partition(":")[0] for reason in row["reasons"])
    verdict = row["verdict"] + (f" ({reasons})" if reasons else "")
    if not record.against:
        quality = dict(check.split(": ") for check in row["checks"])["quality"]
        verdict = f"loss {'shown' if quality == 'passed' else 'not shown'}; no baseline"
    elif Path(record.against).name != BASELINE:
        verdict += "; the baseline was made elsewhere"
    cells = (
        record.name, row["n_b"], f"{row['quality_b']:.4f}", f"{row['quality_p']:.2g}",
        f"{steps:,.0f}", f"{seconds:.1f} s", verdict,
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |\n"


def page(records: Sequence[Judged]) -> str:
    """Return the page: a line for each folder, then the checks of each."""
    parts = [HEAD, *map(line, records)]
    for record in records:
        against = f" against {record.against}" if record.against else ""
        parts.append(f"\n## {record.name}{against}\n\n")
        parts.append(
            as_markdown.render_markdown(record.answer)
            if isinstance(record.answer, Report)
            else record.answer
        )
    return "".join(parts)


def main() -> int:
    """Read the folder, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("audit.md"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records = list(judged(tables(given.folder, Path(folder))))
        if not records:
            print(f"nanogpt_records: {given.folder}: no runs", file=sys.stderr)
            return 2
        given.output.write_text(page(records), "utf-8")
    print(f"wrote {given.output}: {len(records)} folders")
    return 0


if __name__ == "__main__":
    sys.exit(main())
