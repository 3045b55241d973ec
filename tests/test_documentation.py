"""What the documents show is what the program does."""

from __future__ import annotations

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from tests.conftest import ROOT, matches_accepted
from tests.test_cli import run
from tests.wild_tables import nanogpt
from ttastats.answers.claim import ClaimRow
from ttastats.answers.compare.rows import QualitiesRow, TimesRow
from ttastats.answers.effects import EffectRow, LevelRow, ShareRow
from ttastats.answers.history import HistoryRow
from ttastats.answers.power import PowerRow
from ttastats.answers.problems import ProblemRow
from ttastats.answers.profile.profile import MemoryRow, OperatorRow, PartRow, RankRow, WorkRow
from ttastats.answers.profile.profile_change import ChangeRow
from ttastats.answers.profile.profile_measured import AblationRow, BatchRow, MeasuredRow, WorkersRow
from ttastats.answers.qualities import QualityRow, RunQualityRow
from ttastats.answers.rank import StandingRow
from ttastats.answers.rcp.rcp_row import RcpRow
from ttastats.answers.record.record import RecordRow, RulesRow
from ttastats.answers.runs import RunRow
from ttastats.answers.scaling import ScalingRow
from ttastats.answers.score import ScoreRow
from ttastats.answers.summary import SummaryRow
from ttastats.answers.targets import TargetRow
from ttastats.answers.variance import SourceRow, VarianceRow
from ttastats.formats.config import load_presets
from ttastats.ingestion.account import Account
from ttastats.output.plots import kinds
from ttastats.report.row import Key, Row, key_descriptions
from ttastats.table import schema
from ttastats.table.kind import KEY
from ttastats.traces import table as profile_table
from ttastats.traces.table import MEASURES
from ttastats.trainer.tables import SweepRow


def program(*words: str, cwd: Path) -> str:
    result = run(*words, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


def code_of(page: str, heading: str = "") -> str:
    """Return the first program behind a heading of a page."""
    _, _, text = (ROOT / page).read_text("utf-8").partition(heading or "\n")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]


def test_the_readme_shows_what_its_commands_print(two_systems: Path, tmp_path: Path) -> None:
    for name in ("one_gpu", "eight_gpus"):
        program("ingest", str(two_systems / name), cwd=tmp_path)
    shown = program("compare", "one_gpu.parquet", "eight_gpus.parquet", cwd=tmp_path)
    assert f"```text\n{shown}```" in (ROOT / "README.md").read_text("utf-8")


def test_the_readmes_python_runs(
    two_systems: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = code_of("README.md").replace("benchmark=resnet", "benchmark=digits")
    (tmp_path / "logs").symlink_to(two_systems / "one_gpu")
    for name, folder in (("a", "one_gpu"), ("b", "eight_gpus")):
        program("ingest", str(two_systems / folder), "-o", f"{name}.parquet", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    shown = capsys.readouterr().out
    assert float(shown.splitlines()[-1]) == pytest.approx(1.741, abs=0.001)


def test_the_example_of_a_frame_makes_a_file_that_commands_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(code_of("docs/your-logs.md", "## Tables from other programs"), {})
    assert "1230.0" in capsys.readouterr().out
    assert program("summary", "measured.parquet", cwd=tmp_path).count("2/2") == 2


def test_the_loop_that_records_itself_can_be_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(code_of("docs/your-logs.md", "## Record your own loop"), {})
    program("ingest", "logs", "-o", "runs.parquet", cwd=tmp_path)
    assert " 3/3 " in program("summary", "runs.parquet", cwd=tmp_path)


def test_the_way_from_csv_files_to_a_verdict_works(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "your-logs.md").read_text("utf-8")
    shutil.copytree(ROOT / "examples" / "own_logs" / "logs", tmp_path / "logs")
    way, by_options = text.split("\n    ttastats guess")[1].split("Instead of a file")
    commands = re.findall(r"^    ttastats (.*)$", f"    ttastats guess{way}", re.MULTILINE)
    *_, verdict, in_one_step = [program(*shlex.split(words), cwd=tmp_path) for words in commands]
    assert len(commands) == 4
    assert all(" FASTER " in text for text in (verdict, in_one_step))
    (by_options,) = re.findall(r"^    ttastats (ingest logs --files .*)$", by_options, re.MULTILINE)
    program(*shlex.split(by_options), "-o", "same.parquet", cwd=tmp_path)
    sides = ("--a", "entry=adam", "--b", "entry=muon")
    assert program("compare", "same.parquet", *sides, cwd=tmp_path) == verdict
    (tmp_path / "logs.parquet").unlink()
    (block,) = re.findall(r"```toml\n(\[\[logs\]\]\nfiles     .*?)```", text, re.DOTALL)
    (tmp_path / "logs" / "ttastats.toml").write_text(block)
    program("ingest", "logs", cwd=tmp_path)
    assert program("summary", "logs.parquet", cwd=tmp_path).count("small_lm") == 3


def test_the_tutorial_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "tutorial.md"
    text = page.read_text("utf-8")
    shutil.copytree(ROOT / "examples" / "own_logs" / "logs", tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    assert matches_accepted(page, _TUTORIAL.sub(_with_results, text))
    assert text.count("    ttastats ") == 12  # two of them in what `guess` prints
    assert program("summary", "recorded.parquet", cwd=tmp_path).count("5/5") == 2
    assert (tmp_path / "answer.html").stat().st_size > 100_000


#: The steps of the tutorial: a program, or commands with what the last of them prints.
_TUTORIAL = re.compile(
    r"```python\n(?P<code>.*?)```"
    r"|(?P<commands>(?:^    ttastats [^\n]*\n)+)(?:\n```text\n(?P<shown>.*?)```)?",
    re.MULTILINE | re.DOTALL,
)


def _with_results(match: re.Match[str]) -> str:
    """Run a step of the tutorial, and return it with its output."""
    if match["code"]:
        exec(match["code"], {})
        return match[0]
    for line in match["commands"].splitlines():
        result = run(*shlex.split(line)[1:])
        assert result.returncode == (3 if "--fail-on" in line else 0), result.stderr
    if match["shown"] is None:
        return match[0]
    return f"{match['commands']}\n```text\n{result.stdout}```"


@pytest.mark.real
@pytest.mark.parametrize(
    ("page", "round_", "heading"),
    [
        ("statistics", "v0.5", "# "),
        ("claims", "v5.0", "\n## Reference convergence\n"),
    ],
)
def test_a_page_shows_what_its_command_prints_of_a_round(
    page: str,
    round_: str,
    heading: str,
    ingested_round: Callable[[str], Account],
    tmp_path: Path,
) -> None:
    if page == "claims":
        pytest.importorskip("mlperf_logging", reason="the records of it are not installed")
    path = ROOT / "docs" / f"{page}.md"
    before, _, after = path.read_text("utf-8").partition(heading)
    (tmp_path / f"{round_}.parquet").symlink_to(ingested_round(round_).output)
    renewed, count = _SHOWN.subn(lambda match: _with_output(match, tmp_path), after)
    assert count == 1
    assert matches_accepted(path, before + heading + renewed)


@pytest.mark.real
def test_the_page_of_claims_shows_what_its_commands_print(wild: Path, tmp_path: Path) -> None:
    page = ROOT / "docs" / "claims.md"
    before, heading, after = page.read_text("utf-8").partition("\n## Reference convergence\n")
    nanogpt(wild, tmp_path)
    renewed, count = _SHOWN.subn(lambda match: _with_output(match, tmp_path), before)
    assert count == 3
    assert matches_accepted(page, renewed + heading + after)
    undecided = run("claim", "record_88.parquet", "--quality", "val_loss <= 3.279", cwd=tmp_path)
    assert undecided.returncode == 3
    assert "33 more runs of this kind" in undecided.stdout
    assert "for record 88 and 3.279, 33 more" in " ".join(renewed.split())


#: Commands, and what the last of them prints.
_SHOWN = re.compile(r"((?:^    [^\n]*\n)+)\n```text\n(.*?)```", re.MULTILINE | re.DOTALL)


def _with_output(match: re.Match[str], folder: Path) -> str:
    """Return commands with the output of the last, whose input is in the folder."""
    parts = re.split(r"^    (?=ttastats)", match[1].replace("\\\n", ""), flags=re.MULTILINE)[1:]
    printed = program(*shlex.split(parts[-1].removeprefix("ttastats")), cwd=folder)
    return f"{match[1]}\n```text\n{printed}```"


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "parsers" / "README.md"):
        if not page.exists():
            continue
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            if (ROOT / "dev.py").exists():  # an installed copy has a part of the pages only
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_command_of_the_readme_exists() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"^    ttastats (\w+)", text, re.MULTILINE))
    known = program("--help", cwd=ROOT)
    assert named
    assert all(f" {name} " in known for name in named)


def test_every_kind_of_plot_stands_beside_its_question() -> None:
    page = (ROOT / "docs" / "output.md").read_text("utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \| ([^|]+\?) \|", page, re.MULTILINE)
    assert dict(listed) == {kind: question for kind, (_, question) in kinds.KINDS.items()}


def test_every_preset_stands_in_the_table_of_known_kinds() -> None:
    page = (ROOT / "docs" / "your-logs.md").read_text("utf-8")
    table = page.split("\n### Known kinds\n")[1].split("\n### ")[0]
    named = re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\| (`[^|]*)", table, re.MULTILINE)))
    assert set(named) == set(load_presets())


def ends_with(page: Path, lines: Iterable[str]) -> bool:
    """Check that a page ends with the lists of the program; the text before them stays."""
    head, *_ = re.split(r"\n(?=- |## )", page.read_text("utf-8"))
    return matches_accepted(page, "\n".join([head, *lines]) + "\n")


def test_the_page_of_columns_is_that_of_the_schema() -> None:
    page = ROOT / "docs" / "columns.md"
    assert f"\nSchema version {schema.RUNS.version}. " in page.read_text("utf-8")
    assert f"`{KEY}`" in page.read_text("utf-8")
    assert ends_with(page, (
        f"- `{column.name}` ({column.dtype}, {'run' if column.of_run else 'evaluation'}): "
        f"{column.description}"
        for column in schema.COLUMNS
    ))  # fmt: skip


def test_the_page_of_a_profile_s_columns_is_that_of_the_schema() -> None:
    page = ROOT / "docs" / "profile_columns.md"
    assert f"\nSchema version {profile_table.PROFILES.version}. " in page.read_text("utf-8")
    assert f"`{KEY}`" in page.read_text("utf-8")
    rows = [f"- `{c.name}` ({c.dtype}): {c.description}" for c in profile_table.COLUMNS]
    measures = [
        f"- `{name}` ({unit or 'text'}): {meaning}" for name, (unit, meaning) in MEASURES.items()
    ]
    assert ends_with(page, [*rows, "", "## Measures", "", *measures])


#: The rows of each command, in the order in which `ttastats --help` names these.
ANSWERS: dict[str, tuple[type[Row], ...]] = {
    "runs": (RunRow, RunQualityRow),
    "summary": (SummaryRow, QualityRow),
    "rank": (StandingRow,),
    "variance": (VarianceRow, SourceRow),
    "history": (HistoryRow,),
    "effects": (EffectRow, ShareRow, LevelRow),
    "compare": (TimesRow, QualitiesRow, ChangeRow),
    "claim": (ClaimRow,),
    "targets": (TargetRow,),
    "power": (PowerRow,),
    "scaling": (ScalingRow,),
    "score": (ScoreRow,),
    "rcp": (RcpRow,),
    "record": (RecordRow, RulesRow),
    "problems": (ProblemRow,),
    "profile": (
        PartRow, WorkRow, OperatorRow, RankRow, MemoryRow, MeasuredRow, BatchRow, AblationRow,
        WorkersRow,
    ),
    "train": (SweepRow,),
}  # fmt: skip
#: Units that depend on the answer.
UNITS = {"axis": "unit of `axis`", "metric": "unit of the metric", "unit": "`unit`"}


#: Names, unit and meaning; and what the meaning is about where it says "its" or "the same".
Line = tuple[tuple[str, ...], str, str, str]


def keys_of(kind: type[Row]) -> list[Line]:
    """Return the lines about the keys of a row, keys of one meaning in one line."""
    keys, before, subject = key_descriptions(kind), "", ""
    lines: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for name, key in keys.items():
        stem = name.rpartition("_")[0]
        if key.unit != "same":
            before = key.unit
        unit = keys[stem].unit if key.unit == "same" and stem in keys else before
        meaning = re.sub("^(lower|upper) limit of", "limits of", key.meaning)
        refers = re.search(r"\b(its|their|the same)\b", meaning)
        subject = subject if refers else meaning
        line = UNITS.get(unit, unit), meaning, subject if refers else ""
        lines[line] = (*lines.get(line, ()), name)
    return [(names, *line) for line, names in lines.items()]


def list_of_keys(lines: Iterable[Line]) -> Iterator[str]:
    yield ""
    for names, unit, meaning, _ in lines:
        in_unit = f" ({unit})" if unit else ""
        yield f"- {', '.join(f'`{name}`' for name in names)}{in_unit}: {meaning}"


def test_the_page_of_keys_is_that_of_the_rows() -> None:
    kinds_of = {kind: keys_of(kind) for kinds_ in ANSWERS.values() for kind in kinds_}
    counts = Counter(line for lines in kinds_of.values() for line in lines)
    shared: list[Line] = []
    for line, count in counts.items():
        if count >= 2 and not any(line[0] == other[0] for other in shared):
            shared.append(line)
    page = ["## Keys of several answers", *list_of_keys(shared)]
    for command, kinds_ in ANSWERS.items():
        page += ["", f"## {command}"]
        for kind in kinds_:
            lines = kinds_of[kind]
            page += ["", cleandoc(kind.__doc__ or ""), *list_of_keys(
                line for line in lines if line not in shared
            )]  # fmt: skip
            also = [name for line in lines if line in shared for name in line[0]]
            if also:
                page += ["- and from above " + ", ".join(f"`{name}`" for name in also)]
    assert ends_with(ROOT / "docs" / "keys.md", page)


@pytest.mark.parametrize("kind", [kind for kinds_ in ANSWERS.values() for kind in kinds_])
def test_every_key_of_a_row_has_a_meaning(kind: type[Row]) -> None:
    keys = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if not keys[name]:  # programs do not read it
            continue
        parts = (
            hint,
            *get_args(hint),
            *(hints for part in get_args(hint) for hints in get_args(part)),
        )
        is_part = any(isinstance(part, type) and issubclass(part, Row) for part in parts)
        assert name == "keys" or is_part or any(isinstance(part, Key) for part in parts), name
