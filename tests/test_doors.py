"""Odd inputs at every door end in an answer or an error with a cause: never inside, never late."""

from __future__ import annotations

import datetime
import json
import os
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.programs import cpu_limit, python
from ttastats.formats.patterns import match_path
from ttastats.table.kind import _PARTS_KEY, HEAD, KEY

pytest.importorskip("benchmarks.fuzz.doors")  # an installed copy is tested without

from benchmarks.fuzz import around

DRAWS = 100 if os.environ.get("TTASTATS_LONG") else 10


@pytest.mark.parametrize("kind", ["arguments", "keys"])
def test_what_callers_and_blocks_give_ends_nothing_inside(kind: str) -> None:
    drawn = around.draw(kind, range(DRAWS), random.randrange(10**6) if DRAWS > 10 else 1)
    assert drawn.findings == []
    assert drawn.codes[0] > 0  # not all is refused


class TestLogs:
    """Logs with a block for a metric."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "logs"
        folder.mkdir()
        (folder / "ttastats.toml").write_text('[[logs]]\nfiles = "*"\nmetric = "val_loss"\n')
        return folder

    def runs(self, folder: Path) -> list[dict[str, Any]]:
        return [*tta.runs(tta.ingest(folder, folder.parent / "o.parquet").output).rows]

    @pytest.mark.parametrize("key", ["\ud800", "a\udfffb", "k" * 5_000])
    def test_may_have_names_that_are_no_text(self, key: str, folder: Path) -> None:
        rows = [{"step": n, key: n, "inner": {key: 1}, "val_loss": 3 - n} for n in range(3)]
        (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (run,) = self.runs(folder)
        assert run["value_final"] == 1

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    def test_in_parquet_may_hold_durations(self, unit: Any, folder: Path) -> None:
        lasts = [datetime.timedelta(seconds=10 * n) for n in (1, 2, 3)]
        columns = {"step": [1, 2, 3], "time": lasts, "val_loss": [3.0, 2.0, 1.0]}
        frame = pl.DataFrame(columns).cast({"time": pl.Duration(unit)})
        frame.write_parquet(folder / "a.parquet")
        toml = folder / "ttastats.toml"
        toml.write_text(toml.read_text() + 'seconds = "time s"\n')
        (run,) = self.runs(folder)
        assert run["run_seconds"] == 30

    def test_in_parquet_may_hold_bytes(self, folder: Path) -> None:
        columns = {"step": [1, 2], "val_loss": [3.0, 2.0], "note": [b"a", b"\xff"]}
        pl.DataFrame(columns).write_parquet(folder / "a.parquet")
        (run,) = self.runs(folder)
        assert run["value_final"] == 2

    @pytest.mark.parametrize("times", [0.5, 1.5])
    def test_are_limited_by_their_cells(
        self, times: float, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Rows with other keys have as many cells as rows times keys, whatever their bytes."""
        monkeypatch.setenv("TTASTATS_LIMIT_MB", "4")
        size = int((4 * 2**20 / 8 / 10 * times) ** 0.5)
        rows = ({"val_loss": n, **{f"c{n}_{k}": k for k in range(10)}} for n in range(size))
        (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
        if times < 1:
            assert len(self.runs(folder)) == 1
            return
        with pytest.raises(tta.TtastatsError, match=r"cells are larger than 4 MB.*LIMIT_MB"):
            self.runs(folder)

    def test_of_many_columns_are_guessed_in_time(self, folder: Path) -> None:
        (folder / "ttastats.toml").unlink()
        names = ["step", "val_loss", *(f"c{n}" for n in range(1_500))]
        (folder / "a.csv").write_text(
            "\n".join([",".join(names), *[",".join("1" * len(names))] * 3])
        )
        with cpu_limit(20.0):
            assert tta.guess(folder / "a.csv")


@pytest.mark.parametrize("seed", range(20))
def test_patterns_of_files_take_time_by_their_length(seed: int) -> None:
    rng = random.Random(seed)
    pieces = rng.choices(("*", "**/", "?", "{n%d}", "a", "*a", "{_}"), k=rng.randrange(10, 80))
    pattern = "".join(piece % n if "%d" in piece else piece for n, piece in enumerate(pieces))
    with cpu_limit(2.0):
        match_path(pattern + rng.choice(("", "c?", "b.csv")), "a" * rng.randrange(100, 400) + "b")


class TestTables:
    @pytest.fixture
    def table(self, tables: Path, tmp_path: Path) -> Path:
        folder = tmp_path / "t"
        tta.filter(tables / "both.parquet", output=f"{folder}/")
        return folder

    @pytest.mark.parametrize("times", [2, 3])
    def test_that_list_a_part_more_than_once_are_refused(self, times: int, table: Path) -> None:
        head = pl.read_parquet_metadata(table / HEAD)
        head.pop("ARROW:schema", None)
        head[_PARTS_KEY] = json.dumps(json.loads(head[_PARTS_KEY]) * times)
        pl.read_parquet(table / HEAD).write_parquet(table / HEAD, metadata=head)
        with pytest.raises(tta.TtastatsError, match="lists a part more than once"):
            tta.summary(table)

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[]", "3", "\x00"])
    def test_with_an_odd_footer_are_no_tables(
        self, text: str, tables: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "a.parquet"
        rows = pl.read_parquet(tables / "both.parquet").select("run_id")
        rows.write_parquet(path, metadata={KEY: text})
        with pytest.raises(tta.TtastatsError, match="not written by ttastats"):
            tta.summary(path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFO here")
    @pytest.mark.parametrize("name", ["a.parquet", "a"])
    def test_are_files_or_folders(self, name: str, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / name)
        with pytest.raises(tta.TtastatsError, match="neither a file nor a folder"):
            tta.summary(tmp_path / name)

    @pytest.mark.parametrize(
        "url", ["memory://m/x?y=secret/", "memory://m/x.parquet?y", "s3://a/b#c/"]
    )
    def test_are_written_to_urls_without_a_query(self, url: str, tables: Path) -> None:
        for write in (
            lambda: tta.ingest(tables.parent, url),
            lambda: tta.filter(tables / "both.parquet", output=url),
        ):
            with pytest.raises(tta.TtastatsError, match="without a query") as caught:
                write()
            assert "secret" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="signals are others")
@pytest.mark.parametrize("name", ["typer", "ttastats.cli", "msgspec", "polars"])
def test_an_interruption_of_the_first_imports_is_no_traceback(name: str, tables: Path) -> None:
    script = (
        "import sys, os, signal\n"
        # A shell starts what runs in the background so that it ignores interruptions.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, found, path, target=None):\n"
        f"        if found == {name!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from ttastats.__main__ import main\n"
        f"sys.argv = ['ttastats', 'summary', {str(tables / 'both.parquet')!r}]\n"
        "main()\n"
    )
    ended = python("-c", script)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert "Traceback" not in ended.stderr
