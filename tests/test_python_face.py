"""The Python functions: verdicts that can be asserted, arguments in any form, answers as values."""

from __future__ import annotations

import inspect
import io
import json
import math
import pickle
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ttastats as tta
from ttastats import api
from ttastats.cli import commands
from ttastats.cli.output import show
from ttastats.report.row import Rows, table_of
from ttastats.sides import helping

SLOWER = "slower:2%"


@pytest.fixture
def one(tables: Path) -> Path:
    return tables / "one_gpu.parquet"


@pytest.fixture
def eight(tables: Path) -> Path:
    return tables / "eight_gpus.parquet"


class TestGates:
    def test_are_true_if_they_passed(self, one: Path, eight: Path) -> None:
        passed, failed = (
            tta.compare(one, eight, fail_on=SLOWER),
            tta.compare(eight, one, fail_on=SLOWER),
        )
        assert passed.gate
        assert passed.check() is passed
        assert not failed.gate
        assert repr(failed.gate).startswith("Gate(passed=False, conditions=(")
        assert not tta.compare(eight, one, require=["not-slower:2%"]).gate
        assert tta.compare(eight, one).check().gate is None

    def test_raise_the_sentence_if_they_failed(self, one: Path, eight: Path) -> None:
        with pytest.raises(tta.GateFailed, match=r"(?s)fail_on='slower:2%'.* is at least .*slower"):
            tta.compare(eight, one, fail_on=SLOWER).check()
        assert issubclass(tta.GateFailed, tta.TtastatsError)

    def test_of_the_latest_nights_too(self, one: Path) -> None:
        assert isinstance(tta.history(one, fail_on=SLOWER), tta.Gated)
        assert tta.history(one).gate is None


#: What says the same: the keywords of a function, and those in texts.
ALIKE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a target": ("summary", {"target": 0.7}, {"target": ["0.7"]}),
    "a target of a metric": (
        "summary",
        {"target": {"accuracy": 0.7}},
        {"target": ["accuracy=0.7"]},
    ),
    "a signed target": ("runs", {"target": {"accuracy": ">=0.7"}}, {"target": "accuracy>=0.7"}),
    "a number of numpy": ("runs", {"target": np.float32(0.5)}, {"target": "0.5"}),
    "columns": ("summary", {"by": "benchmark,entry"}, {"by": ["benchmark", "entry"]}),
    "a budget": ("summary", {"at": {"epoch": 3}}, {"at": "epoch=3"}),
    "a limit": ("claim", {"seconds": 80}, {"seconds": "<= 80"}),
    "percent": ("summary", {"confidence": "90%"}, {"confidence": 0.9}),
    "a plan": ("power", {"cv": "14%", "effects": 0.05}, {"cv": 0.14, "effects": [0.05]}),
    "values": ("runs", {"where": {"seed": [1001, 1002]}}, {"where": "seed=1001,1002"}),
    "an expression": ("runs", {"where": pl.col("seed") <= 1002}, {"where": "seed<=1002"}),
    "expressions": (
        "runs",
        {"where": [pl.col("seed") <= 1004, pl.col("reached"), "seed>=1002"]},
        {"where": ["seed<=1004", "reached=yes", "seed>=1002"]},
    ),
    "an expression on the answer": (
        "summary",
        {"where": (pl.col("cv") < 9) & (pl.col("n") > 1)},
        {"where": ["cv<9", "n>1"]},
    ),
    "gates": ("history", {"fail_on": ["slower:2%"]}, {"fail_on": "slower:2%"}),
}


@pytest.mark.parametrize("name", ALIKE)
def test_values_are_taken_where_they_say_the_same_as_texts(name: str, one: Path) -> None:
    function, values, texts = ALIKE[name]
    sources = () if "cv" in texts else (one,)
    answers = [getattr(tta, function)(*sources, **given) for given in (values, texts)]
    assert answers[0].rows == answers[1].rows
    assert len(answers[0].rows)


@pytest.mark.parametrize("name", ["confidence", "margin", "epochs_fixed"])
def test_options_of_a_comparison_are_keywords_too(name: str, one: Path, eight: Path) -> None:
    given: dict[str, Any] = {"confidence": 0.8, "margin": 0.5, "epochs_fixed": True}
    keyword = {name: given[name]}
    answers = [
        tta.compare(one, eight, **keyword),
        tta.compare(one, eight, options=tta.Options(**keyword)),
        tta.compare(one, eight, options=keyword),
    ]
    assert answers[0].rows == answers[1].rows == answers[2].rows
    assert getattr(tta.Question(**keyword).judgement, name) == given[name]


#: Calls with a wrong value, and the parameter that the error names.
REFUSED: dict[str, str] = {
    "tta.Options(estimand='median')": "estimand=",
    "tta.Options(confidence=95)": "confidence=",
    "tta.Options(margin=-3)": "margin=",
    "tta.Options(seed='x')": "seed=",
    "tta.Options(ddof=True)": "ddof=",
    "tta.summary(one, confidence=95)": "confidence=",
    "tta.summary(one, confidence='95')": "confidence=",
    "tta.summary(one, confidence=0.4)": "confidence=",
    "tta.summary(one, confidence=1 - 1e-15)": "confidence=",
    "tta.claim(one, seconds=80, level=5e-324)": "level=",
    "tta.summary(one, confidence=float('nan'))": "confidence=",
    "tta.compare(one, eight, confidence=[.9])": "confidence=",
    "tta.compare(one, eight, margin=-1)": "margin=",
    "tta.compare(one, eight, margin=0)": "margin=",
    "tta.compare(one, eight, margin=-0.0)": "margin=",
    "tta.compare(one, eight, options={'margn': 1})": "options=",
    "tta.compare(one, eight, options=3)": "options=",
    "tta.compare(one, eight, view='wide')": "view=",
    "tta.compare(one, eight, fail_on=0.02)": "fail_on=",
    "tta.compare(one, eight, fail_on='slow')": "fail_on=",
    "tta.compare(one, eight, require=True)": "require=",
    "tta.compare(one, eight, same='no')": "same=",
    "tta.compare(one)": "",
    "tta.power(cv=14)": "cv=",
    "tta.power(cv=-1)": "cv=",
    "tta.power(cv=0.14, power=80)": "power=",
    "tta.power(cv=0.14, effects=[5])": "effects=",
    "tta.power(cv=0.14, n=2.5)": "n=",
    "tta.power()": "cv=",
    "tta.summary(one, top=-1)": "top=",
    "tta.summary(one, top='all')": "top=",
    "tta.summary(one, ddof=50)": "ddof=",
    "tta.summary(one, where=5)": "where=",
    "tta.summary(one, where='seed')": "where=",
    "tta.summary(one, where=pl.lit(True))": "where=",
    "tta.runs(one, where=pl.col('seed') + 1)": "where=",
    "tta.runs(one, where=pl.col('sed') == 1)": "where=",
    "tta.runs(one, where=pl.col('seed') > 5000)": "where=",
    "tta.summary(one, target=float('nan'))": "target=",
    "tta.summary(one, target=True)": "target=",
    "tta.summary(one, target='acc>')": "target=",
    "tta.summary(one, target={'acc': None})": "target=",
    "tta.summary(one, at=10)": "at=",
    "tta.summary(one, at={'day': 10})": "at=",
    "tta.summary(one, at={'epoch': 3, 'step': 4})": "at=",
    "tta.summary(one, unit='epoch')": "unit=",
    "tta.summary(one, unit=3)": "unit=",
    "tta.summary(one, by=3)": "by=",
    "tta.summary(one, by='benchmrk')": "by=",
    "tta.summary(one, price=-1, unit='cost')": "price=",
    "tta.summary(one, price=3)": "price=",
    "tta.summary(one, metric='x')": "metric=",
    "tta.summary(one, sort='cvv')": "sort=",
    "tta.summary(1)": "",
    "tta.summary(one, pool=1)": "TypeError",
    "tta.summary(one, confidnce=.9)": "TypeError",
    "tta.claim(one, seconds=[80])": "seconds=",
    "tta.claim(one, seconds=-80)": "seconds=",
    "tta.claim(one)": "quality=",
    "tta.claim(one, quality='loss', level=5)": "level=",
    "tta.effects(one, on=[])": "on=",
    "tta.effects(one, on=[3])": "on=",
    "tta.rcp(one, draws=0)": "draws=",
    "tta.targets(one, points=0)": "points=",
    "tta.judge_record(one, rules=3)": "rules=",
    "tta.problems(one, codes=3)": "codes=",
    "tta.plot('speedup', one, eight)": "",
    "tta.read(one, where=5)": "where=",
    "tta.export(one, 3)": "output=",
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_wrong_value_is_an_error_that_names_its_parameter(
    call: str, one: Path, eight: Path
) -> None:
    scope = {"tta": tta, "pl": pl, "one": one, "eight": eight}
    if REFUSED[call] == "TypeError":
        with pytest.raises(TypeError, match=r"summary\(\) got an unexpected keyword argument"):
            eval(call, scope)
        return
    with pytest.raises(tta.TtastatsError) as caught:
        eval(call, scope)
    text = str(caught.value)
    assert REFUSED[call] in text
    assert caught.value.remedy, text
    assert "--" not in text, text


class TestPaths:
    """A path is a path, however it is given: never its letters."""

    @pytest.fixture
    def folder(self, two_systems: Path, tmp_path: Path) -> Path:
        shutil.copytree(two_systems / "one_gpu", tmp_path / "logs" / "one")
        shutil.copytree(two_systems / "eight_gpus", tmp_path / "logs" / "one" / "e" / "eight")
        return tmp_path

    @pytest.mark.parametrize("shape", [str, Path, lambda path: [path], lambda path: {Path(path)}])
    @pytest.mark.parametrize("path", ["..", "../..", "eight", ".", "../../one"])
    def test_of_logs(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, shape: Callable[..., Any]
    ) -> None:
        monkeypatch.chdir(folder / "logs" / "one" / "e")
        account = tta.ingest(shape(path), folder / "out.parquet")
        assert account.runs == (10 if path in {".", "eight"} else 20)

    @pytest.mark.parametrize("paths", [3, [], [3], None, {"a": 1}, b"logs"])
    def test_others_are_refused(self, paths: Any, tmp_path: Path) -> None:
        with pytest.raises(tta.TtastatsError, match=r"^paths="):
            tta.ingest(paths, tmp_path / "out.parquet")

    @pytest.mark.parametrize("name", ["z.csv", "z.jsonl", "Z.CSV", "z.json"])
    def test_of_tables_are_not_of_other_files(self, name: str, one: Path, tmp_path: Path) -> None:
        for write in (
            lambda: tta.ingest(str(tmp_path), tmp_path / name),
            lambda: tta.filter(one, output=tmp_path / name),
        ):
            with pytest.raises(tta.TtastatsError, match="a table is a Parquet file"):
                write()


#: Calls for an answer of each kind of row.
ANSWERS: dict[str, str] = {
    "summary": "tta.summary(one)",
    "summary of several": "tta.summary([one, eight])",
    "the first": "tta.summary([one, eight], top=1)",
    "at a budget": "tta.summary(one, at_end=True)",
    "compare": "tta.compare(one, eight)",
    "a gate": "tta.compare(eight, one, fail_on='slower:2%')",
    "qualities": "tta.compare(one, eight, at_end=True)",
    "also": "tta.compare(one, eight, also='accuracy')",
    "looks": "tta.compare(one, eight, options={'max_runs': 20})",
    "runs": "tta.runs(one)",
    "runs at a budget": "tta.runs(one, at='epoch=3')",
    "rank": "tta.rank([one, eight])",
    "variance": "tta.variance(one)",
    "sources": "tta.variance(one, sources='seed')",
    "history": "tta.history(one)",
    "effects": "tta.effects([one, eight], on='accelerators')",
    "power": "tta.power(one)",
    "a plan": "tta.power(cv=0.1)",
    "scaling": "tta.scaling([one, eight])",
    "score": "tta.score(one)",
    "claim": "tta.claim(one, seconds=80)",
    "targets": "tta.targets(one)",
    "two targets": "tta.targets(one, eight)",
    "problems": "tta.problems(one)",
}


@cache
def answer_of(call: str, one: Path, eight: Path) -> tta.Report:
    """Return an answer, which no test can change."""
    answer: tta.Report = eval(call, {"tta": tta, "one": one, "eight": eight})
    return answer


@pytest.mark.parametrize("name", ANSWERS)
class TestAnswers:
    def test_are_values(self, name: str, one: Path, eight: Path) -> None:
        answer = answer_of(ANSWERS[name], one, eight)
        again = answer_of.__wrapped__(ANSWERS[name], one, eight)
        copy = pickle.loads(pickle.dumps(answer))
        assert answer == again == copy
        assert hash(answer) == hash(again) == hash(copy)
        assert type(copy) is type(answer)
        assert str(copy) == str(answer)
        assert copy.frame.equals(answer.frame)
        assert (copy.to_json(), copy.to_csv()) == (answer.to_json(), answer.to_csv())
        assert copy.to_markdown() == answer.to_markdown()
        assert answer != tta.power(cv=0.2)

    def test_give_their_rows(self, name: str, one: Path, eight: Path) -> None:
        answer = answer_of(ANSWERS[name], one, eight)
        assert bool(answer)
        assert [*answer] == [*answer.rows]
        assert len(answer) == len(answer.rows) == answer.frame.height
        for row in answer:
            before = dict(row)
            for change in ("row['x'] = 1", "row.update(x=1)", "row.clear()", "row.pop('n', 0)"):
                with pytest.raises(TypeError, match="read-only"):
                    exec(change, {"row": row})
            with pytest.raises(TypeError, match="read-only"):
                row |= {"x": 1}  # type: ignore[operator]
            assert row == before
        json.dumps(answer.rows, default=str)
        for key, value in (answer.rows[0] if answer.rows else {}).items():
            if len(answer) == 1 and key not in tta.Report.__annotations__:
                assert getattr(answer, key) == value
            elif len(answer) > 1 and key not in tta.Report.__annotations__:
                with pytest.raises(AttributeError, match=r"see \.rows or \.frame"):
                    getattr(answer, key)
        with pytest.raises(AttributeError, match="has no attribute 'spedup'"):
            _ = answer.spedup

    def test_have_frames_of_one_schema(self, name: str, one: Path, eight: Path) -> None:
        """Types are those of the keys, whatever is unknown: those without a value are text."""
        answer = answer_of(ANSWERS[name], one, eight)
        frame = answer.frame
        assert pl.Null not in frame.dtypes, [n for n, t in frame.schema.items() if t == pl.Null]
        for row in () if isinstance(answer.records, Rows) else answer.records:
            own = row.to_dict()
            blank = {key: value if isinstance(value, dict) else None for key, value in own.items()}
            assert table_of([row], [blank]).schema == frame.select(blank.keys()).schema
        assert pl.read_parquet(written(frame)).equals(frame)

    def test_are_rendered_as_on_the_command_line(
        self, name: str, one: Path, eight: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        answer = answer_of(ANSWERS[name], one, eight)
        for kind, text in (
            ("json", answer.to_json()), ("csv", answer.to_csv()), ("md", answer.to_markdown())
        ):  # fmt: skip
            show(answer, kind)
            assert capsys.readouterr().out.rstrip("\n") == text.rstrip("\n")
        rows = json.loads(answer.to_json(), parse_constant=pytest.fail)["rows"]
        for row, values in zip(rows, answer.rows, strict=True):
            for key, value in values.items():
                if isinstance(value, float):
                    assert row[key] is None if not math.isfinite(value) else row[key] == value
        assert json.loads(answer.to_json())["schema"] == 1


def written(frame: pl.DataFrame) -> io.BytesIO:
    file = io.BytesIO()
    frame.write_parquet(file)
    file.seek(0)
    return file


def test_an_infinite_time_is_no_text_among_numbers(one: Path) -> None:
    answer = tta.summary(one, target=0.9999)
    assert math.inf in answer.rows[0].values()
    (row,) = json.loads(answer.to_json())["rows"]
    assert row["ert_seconds"] is None
    assert "inf" not in row.values()


def test_answers_of_different_runs_are_put_together(one: Path, eight: Path) -> None:
    frames = [
        tta.compare(a, b, target=target).frame
        for a, b in ((one, eight), (eight, one))
        for target in (0.1, 0.5, 0.97, 0.9999)
    ]
    assert pl.concat(frames).height == len(frames)
    summaries = [tta.summary(one, target=target).frame for target in (0.1, 0.5, 0.9999)]
    assert pl.concat(summaries).height == len(summaries)


#: Programs that read rows of ours, and give them back as a frame.
READERS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda stem: pl.read_csv(stem.with_suffix(".csv")),
    "csv of pandas": lambda stem: pd.read_csv(stem.with_suffix(".csv")),
    "json lines": lambda stem: pl.read_ndjson(stem.with_suffix(".jsonl")),
    "json lines of pandas": lambda stem: pd.read_json(stem.with_suffix(".jsonl"), lines=True),
    "pandas": lambda stem: pl.read_parquet(stem.with_suffix(".parquet")).to_pandas(),
    "csv by pandas": lambda stem: pd.read_csv(
        io.StringIO(pl.read_parquet(stem.with_suffix(".parquet")).to_pandas().to_csv())
    ),
    "csv by polars": lambda stem: pl.read_csv(
        pl.read_parquet(stem.with_suffix(".parquet")).write_csv().encode()
    ),
    "ingest of csv": lambda stem: ingested(stem.with_suffix(".csv")),
    "ingest of json lines": lambda stem: ingested(stem.with_suffix(".jsonl")),
    "csv itself": lambda stem: stem.with_suffix(".csv"),
}


def ingested(path: Path) -> Path:
    output = path.with_name(f"again{path.suffix}.parquet")
    tta.ingest(path, output)
    return output


@pytest.fixture(scope="module")
def exported(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path without an ending of the exported rows of two systems and odd runs."""
    folder = tmp_path_factory.mktemp("exported")
    rows = [
        {"seed": seed, "epoch": epoch, "s": 10.0 * epoch, "loss": 3.0 / epoch, "e": entry}
        for seed, entry in enumerate(("=SUM(A1)", 'a "b", c', "-x;=y", "007"))
        for epoch in (1, 2, 3)
    ]
    odd = tta.from_frame(
        pl.DataFrame(rows), run="seed", metric="loss", value=None, seconds="s", epoch="epoch",
        benchmark="b", entry="e", seed="seed", target=1.2, higher_is_better=False,
    )  # fmt: skip
    both = pl.concat([pl.read_parquet(tables / "both.parquet"), odd])
    both.write_parquet(folder / "rows.parquet")
    for ending in ("csv", "jsonl"):
        tta.export(folder / "rows.parquet", folder / f"rows.{ending}")
    return folder / "rows"


@pytest.mark.parametrize("reader", READERS)
def test_what_is_written_is_read(reader: str, exported: Path) -> None:
    names = ["benchmark", "entry", "seed", "reached", "tta_seconds", "target", "run_status"]
    names += ["accelerators", "started_at", "epochs", "run_seconds", "extra"]
    before = api.run_table(exported.with_suffix(".parquet")).select(names)
    after = api.run_table(READERS[reader](exported)).select(names)
    if reader in {"csv", "csv of pandas"}:  # texts that are no formulas in a spreadsheet
        entry = pl.col("entry").str.replace_all(r"(^|;)'", "${1}")
        after = after.with_columns(entry)
    order = ["entry", "seed"]
    assert_frame_equal(before.sort(order), after.sort(order))


def test_a_frame_without_directions_is_taken_from_pandas() -> None:
    rows = {"run": [1, 1, 2, 2], "s": [1.0, 2, 1, 2], "acc": [0.1, 0.9, 0.2, 0.8]}
    table = tta.from_frame(pl.DataFrame(rows), run="run", metric="acc", seconds="s")
    assert tta.runs(table.to_pandas(), target=0.5) == tta.runs(table, target=0.5)


FUNCTIONS = [
    name for name in sorted({*tta.__all__, "filter"}) if inspect.isfunction(getattr(tta, name))
]


class TestHelp:
    """`help` says of each function what it takes, what comes back, what is refused, an example."""

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_lists_every_parameter(self, name: str) -> None:
        function = getattr(tta, name)
        text = inspect.getdoc(function) or ""
        listed = re.search(r"(?s)^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE)
        assert listed, text
        heads = re.findall(r"^\S.*", listed[1], re.MULTILINE)
        told = {part for head in heads for part in head.split(", ")}
        given = inspect.signature(function).parameters.values()
        assert {p.name for p in given if p.kind is not p.VAR_KEYWORD} <= told

    @pytest.mark.parametrize("name", helping.EXAMPLES)
    def test_gives_an_example_that_runs(
        self, name: str, one: Path, eight: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        text = inspect.getdoc(getattr(tta, name)) or ""
        assert all(f"\n{title}\n" in text for title in ("Returns", "Raises", "Examples"))
        assert "--" not in re.sub(r"-{3,}\n", "", text)
        monkeypatch.chdir(tmp_path)
        for called, path in (("a", one), ("b", eight)):
            shutil.copy(path, f"{called}.parquet")
        pl.concat([pl.read_parquet(one), pl.read_parquet(eight)]).write_parquet("runs.parquet")
        (example,) = re.findall(r"^>>> (.*)", text, re.MULTILINE)
        assert eval(example, {"tta": tta}) is not None

    def test_has_the_words_of_the_command(self) -> None:
        command = commands.make_command("summary")
        (told,) = (
            str(getattr(param, "help", "")) for param in command.params if param.name == "clock"
        )
        assert told in (inspect.getdoc(tta.summary) or "")


#: Ways to give a target, and what each says of value and direction.
GOALS: dict[str, tuple[Any, float, bool | None]] = {
    "a number": (0.75, 0.75, None),
    "a text": ("0.75", 0.75, None),
    "percent": ("75%", 0.75, None),
    "at least": (">=0.75", 0.75, True),
    "at least, by metric": ({"quality": ">= 75%"}, 0.75, True),
    "at most": ("<=0.75", 0.75, False),
    "a number of numpy": (np.float32(0.75), 0.75, None),
}


@pytest.mark.parametrize("name", GOALS)
def test_a_frame_takes_targets_as_a_recording_does(name: str, tmp_path: Path) -> None:
    goal, value, higher = GOALS[name]
    rows = pl.DataFrame({"run": [1, 2], "quality": [0.5, 0.8]})
    table = tta.from_frame(rows, run="run", metric="quality", target=goal)
    assert table["target_value"].unique().to_list() == [value]
    assert table["higher_is_better"].unique().to_list() == [higher]
    if not isinstance(goal, dict):
        run = tta.record(tmp_path, benchmark="b", metric="quality", target=goal)
        with run:
            assert run.evaluation(0.7) is (higher is False)


#: Calls of functions below the API with a wrong value, and the parameter that the error names.
BELOW: dict[str, str] = {
    "tta.from_frame(rows, run='run', metric='acc', target='>x')": "target=",
    "tta.from_frame(rows, run='run', metric='loss', target='>=3')": "target=",
    "tta.from_frame(rows, run='run', metric='acc', target='<=3', higher_is_better=True)": "target",
    "tta.from_frame(rows, run='run', metric='acc', higher_is_better=3)": "higher_is_better=",
    "tta.from_frame(rows, run=[], metric='acc')": "run=",
    "tta.from_frame(rows, run='run', metric=[])": "metric=",
    "tta.from_frame(rows, run='run', metric=iter(()))": "metric=",
    "tta.from_frame(rows, run=3, metric='acc')": "run=",
    "tta.from_frame(rows, run='run', metric='acc', seconds=[1])": "seconds=",
    "tta.from_frame(rows, run='run', metric='acc', nodes=object())": "nodes=",
    "tta.record(3, benchmark='b', metric='acc', target=1)": "logs=",
    "tta.record('x', benchmark=None, metric='acc', target=1)": "benchmark=",
    "tta.record('x', benchmark='b', metric='acc', target=[1])": "target=",
    "tta.record('x', benchmark='b', metric='acc', target=1, seed='x')": "seed=",
    "tta.record('x', benchmark='b', metric='acc', target=1, nodes=-1)": "nodes=",
    "tta.guess(3)": "path=",
    "tta.guess('a' * 5000)": "path=",
    "tta.guess('x', output=3)": "output=",
    "tta.ingest('x', workers='x')": "workers=",
    "tta.ingest('x', block=5)": "block=",
    "tta.ingest('x', block={5: 5})": "block=",
    "tta.ingest('x', guess=5)": "guess=",
    "tta.ingest('x', executor={})": "executor=",
    "tta.ingest('a/' * 3000)": "paths=",
    "tta.summary('a\\ud800')": "'a\\ud800'",
    "tta.summary('a\\0')": "'a\\x00'",
    "tta.summary('a' * 5000)": "str",
    "tta.summary(rows, level=[])": "level",
    "tta.View(strips=[])": "strips=",
    "tta.problems()": "sources=",
    "tta.problems(())": "no file given",
    "tta.plots()": "sources=",
    "tta.filter(output='x.parquet')": "sources=",
    "tta.summary(np.array(0.5))": "ndarray",
    "tta.summary([[1]])": "list",
}


@pytest.mark.parametrize("call", BELOW)
def test_doors_below_the_api_name_the_parameter_too(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pl.DataFrame({"run": [1, 2], "acc": [0.5, 0.8], "loss": [1.0, 2.0]})
    with pytest.raises((tta.TtastatsError, TypeError)) as caught:
        eval(call, {"tta": tta, "np": np, "rows": rows})
    text = str(caught.value)
    assert BELOW[call] in text
    assert isinstance(caught.value, tta.TtastatsError) or "unexpected keyword" in text
