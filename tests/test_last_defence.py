"""A command that fails ends with a sentence and exit code 2, whatever the error."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import call, environment, finish, start
from tests.test_cli import refusal, run
from ttastats import cli
from ttastats.base.errors import TtastatsError

LOGS = ROOT / "examples" / "two_systems" / "Example" / "results"


@pytest.fixture
def table(tables: Path) -> Path:
    return tables / "both.parquet"


def printed(encoding: str, *words: str | Path) -> bytes:
    """Return what a command prints to a stream of this encoding."""
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding, write_through=True)
    with contextlib.redirect_stdout(stream), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["ttastats", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
    assert not end.value.code
    return buffer.getvalue()


class TestOtherEncodings:
    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii"])
    def test_a_table_is_printed_with_escapes(self, encoding: str, table: Path) -> None:
        text = printed(encoding, "summary", table, "--by", "hardware")
        assert b"----" in text
        assert b"mean TTA" in text

    def test_json_holds_the_same(self, table: Path) -> None:
        sides = ("--a", "accelerators=1", "--b", "accelerators=8")
        words = ("compare", table, *sides, "--format", "json")
        plain, escaped = (printed(name, *words) for name in ("utf-8", "latin-1"))
        assert not plain.isascii()
        assert escaped.isascii()
        assert json.loads(escaped) == json.loads(plain)

    def test_a_page_stays_utf_8(self, table: Path) -> None:
        assert "·" in printed("ascii", "report", table, "-o", "-").decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
@pytest.mark.parametrize("words", ["-m ttastats summary", "-u -m ttastats summary"])
def test_a_full_device_is_named(table: Path, words: str) -> None:
    variables = {name: text for name, text in environment().items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        code, _, stderr = finish(start(*words.split(), table, stdout=full, env=variables))
    assert code == 2
    assert stderr.strip().endswith("No space left on device")
    assert stderr.count("\n") == 1


def end_with(error: BaseException, patch: pytest.MonkeyPatch) -> None:
    def raising() -> None:
        raise error

    patch.setattr("ttastats.cli.app", raising)
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else SystemExit):
        cli.main()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("a\x07b"), r"internal error: KeyError: 'a\x07b'"),
        (MemoryError(), "not enough memory"),
        (PermissionError(13, "Permission denied", "/root/x"), "/root/x: Permission denied"),
    ],
)
def test_an_uncaught_exception_is_one_sentence(
    error: Exception, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    end_with(error, monkeypatch)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == f"ttastats: {text}"
    assert len(rest) == (not isinstance(error, OSError))
    assert ("TTASTATS_TRACEBACK=1" in "".join(rest)) is isinstance(error, KeyError)


def test_a_traceback_is_printed_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTASTATS_TRACEBACK", "1")
    end_with(ZeroDivisionError(), monkeypatch)
    stderr = capsys.readouterr().err
    assert stderr.startswith("Traceback (most recent call last):")
    assert "in raising" in stderr
    end_with(TtastatsError("is missing"), monkeypatch)
    assert capsys.readouterr().err == "ttastats: is missing\n"


def test_an_interrupt_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    end_with(KeyboardInterrupt(), monkeypatch)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_line_feeds_in_names_stay_in_their_line(tmp_path: Path) -> None:
    bad = tmp_path / "a\nttastats: all is well"
    stderr = refusal(run("summary", bad))
    assert r"a\nttastats: all is well: no such file" in stderr
    log = next(LOGS.rglob("*.txt"))
    folder = tmp_path / "x\ny"
    folder.mkdir()
    (folder / log.name).write_bytes(log.read_bytes()[:200])
    (folder / "b.txt").write_bytes(log.read_bytes())
    printed = run("ingest", folder, "-o", tmp_path / "t.parquet")
    assert r"x\ny" in printed.stderr
    assert "x\ny" not in printed.stderr


@pytest.mark.skipif(os.name == "nt", reason="there a stream is closed by other means")
def test_a_closed_standard_output_ends_as_usual(table: Path) -> None:
    words = f"exec {sys.executable} -m ttastats summary {table} >&-"
    process = call("sh", "-c", words)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="there a stream is closed by other means")
def test_a_closed_standard_error_costs_what_it_would_say_alone(tmp_path: Path) -> None:
    new = tmp_path / "x.parquet"
    words = f"exec {sys.executable} -m ttastats ingest {LOGS} -o {new} 2>&-"
    assert call("sh", "-c", words).returncode == 0
    assert run("summary", new).returncode == 0
