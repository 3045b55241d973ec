"""The benchmark of readings classes a setup by what its runs tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import reading
from tests.made_logs import write

CURVE = "epoch,seconds,val_acc\n1,10,0.5\n2,20,0.7\n3,30,0.9\n"
TRUE: dict[str, object] = {
    "metric": "val_acc",
    "higher_is_better": True,
    "target": 0.7,
    "final": 0.9,
    "reached": True,
    "tta_seconds": 20.0,
    "epoch_to_target": 2.0,
    "step_to_target": None,
}
CASES: dict[str, tuple[str, dict[str, float]]] = {
    "right": (CURVE, {}),
    "asked": ("epoch,val_acc\n1,0.5\n1,0.7\n2,0.5\n2,0.9\n", {}),
    "marked": ("epoch,seconds,val_acc\n9,10,0.5\n10,20,0.7\n11,30,0.9\n",
               {"tta_seconds": 100.0, "epoch_to_target": 10.0}),
    "wrong": (CURVE, {"tta_seconds": 30.0}),
}  # fmt: skip


def test_a_setup_is_of_the_class_of_its_worst_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setups = []
    for name, (content, differing) in CASES.items():
        write(tmp_path, {f"{name}/seed1.csv": content})
        run = {"run": "seed 1", "file": f"{name}/seed1.csv", **TRUE, **differing}
        setups.append({"kind": name, "setup": name, "runs": [run]})
    (tmp_path / "truth.json").write_text(json.dumps(setups))
    assert [verdict for _, verdict, _ in reading.judge(tmp_path)] == list(CASES)
    assert reading.main([str(tmp_path), "--verbose"]) == 0
    printed = capsys.readouterr().out
    assert "tta_seconds is 20.0, not 30.0" in printed
    assert printed.endswith("| all | 1 | 1 | 1 | 1 |\n")
