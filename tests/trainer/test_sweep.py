"""Does a sweep run its grid in turns, go on after a kill, and end in Table 7?"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs PyTorch")

from tests.trainer.runs import request, small
from ttastats.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.trainer import after, experiment, sweep, table_7

GRID = {"batch_size": [64, 512]}


def plan(root: Path, runs: int = 2, **changes: object) -> sweep.Plan:
    options = small(target=0.5, epochs=12, **changes)
    return sweep.plan(request(root), options, GRID, range(runs))


def report(done: sweep.Plan) -> Report:
    table = after.table_of([place.results for place in done.setups.values()])
    return table_7.report(table, {name: place.system for name, place in done.setups.items()})


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweep")
    experiment.make(plan(root).missing)
    return root


def order(of: sweep.Plan) -> list[tuple[int, int]]:
    return [(one.settings.seed, one.settings.batch_size) for one in of.runs]


def test_setups_take_turns_and_none_is_always_first(tmp_path: Path) -> None:
    assert order(plan(tmp_path, runs=3)) == [
        (0, 64), (0, 512), (1, 512), (1, 64), (2, 64), (2, 512),
    ]  # fmt: skip


def test_every_combination_is_a_setup(tmp_path: Path) -> None:
    grid = {"batch_size": [64, 512], "width": [8], "precision": ["fp32", "bf16"], "optimizer": []}
    made = sweep.plan(request(tmp_path), small(), grid, range(1))
    assert list(made.setups) == [
        "batch_size 64, precision fp32",
        "batch_size 64, precision bf16",
        "batch_size 512, precision fp32",
        "batch_size 512, precision bf16",
    ]
    assert len({place.system for place in made.setups.values()}) == 4


def test_the_same_setup_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="are the same"):
        sweep.plan(request(tmp_path), small(), {"batch_size": [64, 64]}, range(1))


def test_a_finished_sweep_has_nothing_left_to_run(swept: Path) -> None:
    again = plan(swept)
    assert (len(again.runs), len(again.missing)) == (4, 0)


def test_other_settings_or_seeds_are_run(swept: Path) -> None:
    assert len(plan(swept, runs=3).missing) == 2
    assert len(plan(swept, optimizer="adamw").missing) == 4


def test_an_incomplete_log_is_run_again_stays_and_counts(swept: Path, tmp_path: Path) -> None:
    import shutil

    root = tmp_path / "copy"
    shutil.copytree(swept, root)
    done = plan(root)
    victim = done.setups["batch_size 512"].results / "result_1.txt"
    lines = victim.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if '"epoch_stop"' in line)
    torn = "".join(lines[: at + 1]) + lines[at + 1][:40]  # as a killed machine may leave it
    victim.write_text(torn)
    missing = plan(root).missing
    assert [(one.settings.seed, one.settings.batch_size) for one in missing] == [(1, 512)]
    experiment.make(missing)
    assert plan(root).missing == ()
    assert victim.read_text() == torn
    assert (victim.parent / "result_2.txt").exists()
    rows = {row["setup"]: row for row in report(done).rows}
    assert {name: (row["reached"], row["n"]) for name, row in rows.items()} == {
        "batch_size 64": (2, 2),
        "batch_size 512": (2, 3),
    }


def test_table_7_sets_throughput_beside_time_to_accuracy(swept: Path) -> None:
    first, second = report(plan(swept)).rows
    assert (first["setup"], first["verdict"]) == ("batch_size 64", "baseline")
    assert (first["throughput_speedup"], first["speedup"]) == (1.0, 1.0)
    assert (first["speedup_low"], first["speedup_high"]) == (None, None)  # it is no estimate
    assert second["setup"] == "batch_size 512"
    assert second["verdict"] in {"faster", "slower", "same", "undecided"}
    for key in ("throughput_speedup", "speedup", "cpu_throughput_speedup", "cpu_tta_speedup"):
        assert second[key] > 0
    assert second["epochs_ratio"] == pytest.approx(first["epochs_mean"] / second["epochs_mean"])


def test_the_tables_show_the_setups_in_words(swept: Path) -> None:
    import io

    from rich.console import Console

    from ttastats.render import as_table

    stream = io.StringIO()
    as_table.render(report(plan(swept)), Console(file=stream, width=200))
    text = stream.getvalue()
    assert "speedup over batch_size 64" in text
    assert "batch_size 512 trains" in text
