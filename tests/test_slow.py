"""A file that takes long is named while it holds up the others, and a quick one is not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ttastats as tta
from tests.programs import wait_until
from ttastats import cli
from ttastats.base import slow
from ttastats.ingestion.sources import Source


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is said of slow files, which are soon slow here."""
    texts: list[str] = []
    monkeypatch.setattr(slow, "SECONDS", 0.05)
    monkeypatch.setattr(slow, "_watch", slow._Watch())
    slow.name_files(texts.append)
    return texts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{name}.csv").write_text("step,val_loss\n1,2\n2,1\n")
    return tmp_path / "logs"


@pytest.mark.parametrize("act", [tta.ingest, tta.summary, tta.guess])
def test_a_file_that_takes_long_is_named_until_it_is_read(
    act: Callable[[Path], Any], folder: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
    usual = Source.blocks

    def named() -> list[str]:
        return [text for text in told if text.startswith(f"still reading {folder}/b.csv (")]

    def blocks(source: Source, *words: Any, **others: Any) -> Iterator[bytes]:
        if source.name.endswith("b.csv"):
            wait_until(lambda: len(named()) > 1)  # said once more, later
        return usual(source, *words, **others)

    monkeypatch.setattr(Source, "blocks", blocks)
    act(folder)
    assert len(named()) > 1
    seen = len(told)
    threading.Event().wait(0.3)  # no thread says more
    assert len(told) == seen


def test_a_library_says_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "_watch", slow._Watch())
    slow.begin("a")
    assert slow._watch.thread is None


def test_a_command_and_its_workers_say_it_on_stderr(
    told: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "app", lambda: slow.begin("of the command"))
    with pytest.raises(SystemExit):
        cli.main()
    wait_until(lambda: "of the command" in capsys.readouterr().err)
    slow.name_on_stderr()
    slow.begin("a\x1bb")
    wait_until(lambda: "still reading a\\x1bb (0 s)" in capsys.readouterr().err)
    slow.begin("")
    assert told == []
