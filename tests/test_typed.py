"""A script that imports the installed package is checked by mypy and pyright: all names have types.

Of the checkout this says nothing, as its settings are not those of a user: `dev.py dist` asks.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import ttastats
from tests.programs import environment, python
from ttastats.sides import helping

SCRIPT = """
from pathlib import Path

import polars as pl

import ttastats as tta

account: tta.Account = tta.ingest([Path("logs")], "runs.parquet", workers=2)
tta.ingest("logs")
tta.summary("a.parquet", target={"accuracy": 0.9}, at={"step": 10}, where=pl.col("seed") > 1)
tta.runs("a.parquet", target=0.9, where=["seed>1", pl.col("reached")])
tta.compare("a.parquet", "b.parquet", confidence=0.9, margin=0.02, options={"fdr": True})
passed: bool = tta.compare("a.parquet", "b.parquet", fail_on="slower:2%").gate.passed
tta.compare("a.parquet", "b.parquet", require=["not-slower:2%"]).check().gate.findings
tta.history("a.parquet", fail_on="slower:2%").gate.failures
report: tta.Report = tta.compare("a.parquet", "b.parquet", target=["accuracy>=0.9"], same=True)
frame: pl.DataFrame = report.frame
print(account.runs, [row["run_id"] for row in report.rows], tta.__version__)
tta.plot("speedups", "a.parquet", "b.parquet")[0].save("speedups.svg")
with tta.record("logs", benchmark="digits", metric="accuracy", target=0.9, lr=0.1) as run:
    reached: bool = run.evaluation(0.8, epoch=1)
try:
    tta.summary(frame, by=["entry"], confidence=0.9)
except tta.TtastatsError as error:
    print(error.remedy)
"""
#: Calls of all other functions, with what else a caller may give.
OTHERS = (
    "from_frame(rows, run='seed', metric='acc', target={'acc': '>=0.75'}, nodes=1)",
    "from_frame(rows, run=['seed'], metric=['acc'], target='>=0.75', higher_is_better=True)",
    "guess('logs', output=Path('ttastats.toml')).config",
    "rcp('runs.parquet', draws=100).rows", "targets('runs.parquet', points=5).to_markdown()",
    "effects(rows, on=['lr', 'wd'], levels=['lr=1,2'], interactions=True).to_csv()",
    "judge_record('runs.parquet', rules='nanogpt-track-1', against=3.28).frame",
    "compare_profiles('a', 'b', by='operator').rows", "plot_profiles('step', ['a', 'b'])",
    "profile_page(['a', 'b'], output='page.html').html", "profiled('a').frame.height",
    "Question(where={'seed': [1, 2]}, price=[2.5, 'cost_per_hour'], unit='cost').judgement.ddof",
    "Options(margin=0.02, max_runs=20).confidence", "View(wide=True).strips",
    "ingest(['a', Path('b')], block={'metric': 'loss'}, guess=tta.guess, append=True).problems",
)  # fmt: skip
#: What is wrong in a script, with the kind of error that mypy finds: types are seen.
WRONG = {
    "tta.summary(1)": "arg-type",
    "tta.runs('a.parquet', target=[None])": "list-item",
    "tta.compare('a.parquet', 'b.parquet').gate.passed": "union-attr",
    "wrong: int = tta.runs('a.parquet')": "assignment",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "site-packages" not in Path(ttastats.__file__).parts:
        pytest.skip("the package is not installed, but a checkout: dev.py dist")
    folder = tmp_path_factory.mktemp("script")
    (folder / "right.py").write_text(SCRIPT)
    calls = (f"print(tta.{call})" for call in (*helping.EXAMPLES.values(), *OTHERS))
    rows = "rows = pl.DataFrame({'seed': [1], 'acc': [0.9]})"
    imports = ("from pathlib import Path", "import polars as pl", "import ttastats as tta", rows)
    (folder / "every.py").write_text("\n".join([*imports, *calls, ""]))
    lines = [f"{line}  # type: ignore[{code}]" for line, code in WRONG.items()]
    (folder / "wrong.py").write_text("\n".join(["import ttastats as tta", *lines, ""]))
    return folder


def pyright(folder: Path, *words: str) -> dict[str, object]:
    """Return the output of pyright, which uses the first Python of the path."""
    path = {"PATH": str(Path(sys.executable).parent)}
    proc = python("-m", "basedpyright", *words, "--outputjson", cwd=folder, env=environment(**path))
    answer: dict[str, object] = json.loads(proc.stdout)
    return answer


def test_mypy_takes_what_is_right_and_nothing_else(folder: Path) -> None:
    mypy = python("-m", "mypy", "--strict", "right.py", "every.py", "wrong.py", cwd=folder, env={})
    assert (mypy.returncode, mypy.stdout) == (0, "Success: no issues found in 3 source files\n")


def test_pyright_takes_what_is_right_and_nothing_else(folder: Path) -> None:
    (folder / "pyrightconfig.json").write_text(
        '{"typeCheckingMode": "strict", "enableTypeIgnoreComments": false}'
    )
    answer = pyright(folder, "right.py", "every.py", "wrong.py")
    errors = [d["file"] for d in answer["generalDiagnostics"] if d["severity"] == "error"]
    assert {Path(name).name for name in errors} == {"wrong.py"}
    assert len(errors) == len(WRONG)


def test_every_public_name_has_a_type(folder: Path) -> None:
    report = pyright(folder, "--verifytypes", "ttastats", "--ignoreexternal")["typeCompleteness"]
    known = {symbol["name"]: symbol["isTypeKnown"] for symbol in report["symbols"]}
    names = {f"ttastats.{name}" for name in dir(ttastats)} - {"ttastats.__version__"}
    assert {name for name in names if not known[name]} == set()
