"""Finding the dialect of a file, and picking up one that another package brings."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.programs import python
from ttastats.base.errors import TtastatsError
from ttastats.ingestion import registry


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    registry.dialects.cache_clear()
    registry._recognisers.cache_clear()
    yield
    registry.dialects.cache_clear()
    registry._recognisers.cache_clear()


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"noise\n:::MLPv0.5.0 resnet 1.0 (a:1) run_start\n", "mlperf-v0.5"),
        (b"noise\n 0: :::MLL 1.0 run_start: {}\n", "mlperf-mll"),
        (b'noise\n[1,0]<stdout>::::MLLOG {"key": "x"}\n', "mlperf-mllog"),
        (b"epoch\thours\ttop1Accuracy\n", "dawnbench"),
        (b"\xef\xbb\xbfepoch\tf1Score\thours\n", "dawnbench"),
        (b"epoch\thours\tloss\n", None),
        (b"nothing of the kind\n", None),
        (b"", None),
        (b'{"number": 1}', None),
        (bytes(range(256)) * 4, None),
    ],
)
def test_a_file_is_recognised_by_its_content(head: bytes, name: str | None) -> None:
    found = registry.recognise(head)
    assert (found.name if found else None) == name


def test_an_unknown_dialect_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TtastatsError, match=r"Known dialects: dawnbench, .*, mlperf-mll"):
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


def installed(folder: Path, module: str, source: str, entry_point: str) -> Path:
    """Lay out a package as an installer would, with its entry point."""
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{entry_point}\n")
    return folder


def run_with(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process that sees the packages of a folder."""
    code = textwrap.dedent(
        f"""
        import sys
        sys.path[:0] = [{str(folder)!r}, *{sys.path!r}]
        from ttastats.cli import main
        main()
        """
    )
    return python("-c", code, *arguments, cwd=folder)


def test_a_dialect_of_another_package_is_picked_up(tmp_path: Path) -> None:
    folder = installed(tmp_path, "scores_plugin", PLUGIN, "scores = scores_plugin")
    (folder / "logs").mkdir()
    (folder / "logs" / "a.txt").write_text("score 5.0 0.5\nscore 9.5 0.71\n")
    done = run_with(folder, "ingest", "logs")
    assert (done.returncode, "1 run, 2 evaluations" in done.stderr) == (0, True), done.stderr
    done = run_with(folder, "runs", "logs.parquet", "--format", "csv")
    assert "scores" in done.stdout
    assert ",true,9.5," in done.stdout


def test_a_broken_plugin_is_named_and_the_others_work(tmp_path: Path) -> None:
    folder = installed(tmp_path, "broken_plugin", "1 / 0\n", "broken = broken_plugin")
    (folder / "a.tsv").write_text("epoch\thours\tf1Score\n1\t0.5\t0.8\n")
    done = run_with(folder, "ingest", "a.tsv")
    assert done.returncode == 0
    said = "the dialect 'broken' of 'broken_plugin' cannot be loaded: division by zero"
    assert said in done.stderr
