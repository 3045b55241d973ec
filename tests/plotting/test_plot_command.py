"""`ttastats plot` as a user meets it: files written whole, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.plotting import made
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.table import store


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Return two tables: a slow side and a fast one."""
    paths = [tmp_path / "slow.parquet", tmp_path / "fast.parquet"]
    for path, outcomes in zip(paths, (made.SLOW, made.FAST), strict=True):
        store.write(made.rows(outcomes), path)
    return [str(path) for path in paths]


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["plot", *words])
    if isinstance(result.exception, TtastatsError):
        return 2, result.stdout, str(result.exception)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("html", b"<!d")],
)
def test_a_plot_is_written_in_the_format_of_its_name(
    files: list[str], tmp_path: Path, suffix: str, begins: bytes
) -> None:
    output = tmp_path / f"speedups.{suffix}"
    code, out, err = run("speedups", *files, "-o", str(output))
    assert (code, out) == (0, "")
    assert output.read_bytes().startswith(begins)
    assert f"wrote {output}" in err
    assert "A 4/5, B 5/5" in err  # the caption, to be copied
    assert {path.name for path in tmp_path.iterdir()} == {
        "slow.parquet", "fast.parquet", output.name
    }  # fmt: skip


def test_an_old_plot_stays_if_the_new_one_cannot_be_drawn(files: list[str], tmp_path: Path) -> None:
    output = tmp_path / "x.svg"
    output.write_text("old")
    code, _, err = run("speedups", files[0], "-o", str(output))
    assert code == 2
    assert "two files" in err
    assert output.read_text() == "old"


def test_without_a_place_runs_are_dots_in_the_terminal(files: list[str]) -> None:
    code, out, _ = run("tta", *files)
    assert code == 0
    assert "Time-to-accuracy: resnet" in out
    assert "4/5" in out
    assert "×" in out  # the run that failed
    assert "10 runs of 2 sides: 9 reached top1_accuracy ≥ 0.75, 1 failed." in out


@pytest.mark.parametrize(
    ("kind", "remedy"), [("quality-time", "`ttastats runs FILE`"), ("quality-epochs", "unit=")]
)
def test_curves_of_single_evaluations_are_refused(kind: str, remedy: str) -> None:
    with pytest.raises(TtastatsError) as refused:
        api.plot(kind, made.rows([(100.0, 1)]))
    assert remedy in str(refused.value)


def test_what_no_text_can_show_says_how_to_write_it(files: list[str]) -> None:
    code, _, err = run("speedups", *files)
    assert code == 2
    assert "-o speedups.svg" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["histogram", "{}"], "unknown plot kind 'histogram'"),
        (["tta"], "no input file"),
        (["tta", "{}", "-o", "x.gif"], ".svg, .pdf, .png, .html"),
        (["tta", "{}", "-o", "x.svg", "--width", "wide"], "paper-column"),
        (["tta", "{}", "-o", "{}"], "has no supported plot format"),
        (["tta", "{}", "-o", "/nowhere/x.svg"], "/nowhere/x.svg"),
        (["tta", "{}", "--where", "benchmark=none"], "no run has benchmark=none"),
    ],
)
def test_misuse_is_one_message_that_says_what_to_do(
    files: list[str], words: list[str], message: str
) -> None:
    code, _, err = run(*(word.format(files[0]) for word in words))
    assert code == 2
    assert message in err


def test_several_benchmarks_are_named_when_one_file_is_asked_for(tmp_path: Path) -> None:
    both = tmp_path / "both.parquet"
    store.write(made.many_kinds(), both)
    code, _, err = run("tta", str(both), "-o", str(tmp_path / "x.pdf"))
    assert code == 2
    assert "bert, resnet" in err
    assert "--where benchmark=bert" in err
    code, _, _ = run("tta", str(both), "-o", str(tmp_path / "x.pdf"), "--where", "benchmark=bert")
    assert code == 0
    code, _, _ = run("tta", str(both), "-o", str(tmp_path / "x.html"))
    assert code == 0


def test_kinds_are_listed_with_the_questions_they_answer() -> None:
    code, out, _ = run("list")
    assert code == 0
    assert "How long did each run take, and how sure is the mean?" in out


def test_intervals_are_of_the_confidence_asked_for_and_say_so(
    files: list[str], tmp_path: Path
) -> None:
    for kind in ("tta", "speedups"):
        output = tmp_path / f"{kind}.html"
        code, _, err = run(kind, *files, "--confidence", "80%", "-o", str(output))
        assert code == 0
        assert "its 80% " in err
        assert "80% interval" in output.read_text()
    output = str(tmp_path / "x.svg")
    code, _, err = run("quality-epochs", files[0], "--confidence", "80%", "-o", output)
    assert code == 2
    assert "Supported by: tta, " in err
