"""Finding the dialect of a file, and loading one from another package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import ttastats as tta
from ttastats.base.errors import TtastatsError
from ttastats.ingestion import registry


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    registry.dialects.cache_clear()
    registry._recognisers.cache_clear()
    yield
    registry.dialects.cache_clear()
    registry._recognisers.cache_clear()


def test_an_unknown_dialect_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TtastatsError, match=r"Known dialects: allennlp, dawnbench, .*, mlperf-mll"):
        registry.named("neptune")


@pytest.mark.usefixtures("fresh_registry")
def test_two_claimants_are_an_error_that_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = SimpleNamespace(name="greedy", recognises=lambda _head: True)
    known = {**registry.dialects(), "greedy": greedy}
    monkeypatch.setattr(registry, "dialects", lambda: known)
    monkeypatch.setattr(registry, "_recognisers", registry._recognisers.__wrapped__)
    with pytest.raises(TtastatsError, match="several dialects: dawnbench, greedy"):
        registry.recognise(b"epoch\thours\ttop1Accuracy\n")


PLUGIN = '''
"""Lines such as `score 12.5 0.7`: seconds and quality."""
from ttastats.base.records import Evaluation, Run

name = "scores"

def recognises(head):
    return head.startswith(b"score ")

def parse(log):
    rows = [line.split() for line in log.read().decode().splitlines()]
    yield Run(
        benchmark="my_own",
        run_seconds=float(rows[-1][1]),
        evaluations=tuple(
            Evaluation(number, "score", float(value), float(value), float(seconds),
                       target_value=0.7, higher_is_better=True)
            for number, (_, seconds, value) in enumerate(rows)
        ),
    )
'''


def installed(folder: Path, module: str, source: str, name: str) -> Path:
    """Lay out a package as an installer would, with its entry point."""
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{name} = {module}\n")
    return folder


@pytest.mark.usefixtures("fresh_registry")
def test_a_dialect_of_another_package_is_picked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed(tmp_path, "scores_plugin", PLUGIN, "scores"))
    (tmp_path / "a.txt").write_text("score 5.0 0.5\nscore 9.5 0.71\n")
    table = tta.ingest([tmp_path / "a.txt"], tmp_path / "x.parquet", workers=1).output
    (row,) = tta.runs(table).rows
    assert (row["dialect"], row["reached"], row["tta_seconds"]) == ("scores", True, 9.5)


@pytest.mark.usefixtures("fresh_registry")
def test_a_broken_plugin_is_named_and_the_others_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed(tmp_path, "broken_plugin", "1 / 0\n", "broken"))
    message = "the dialect 'broken' of 'broken_plugin' cannot be loaded: division by zero"
    with pytest.warns(RuntimeWarning, match=message):
        assert "dawnbench" in registry.dialects()
