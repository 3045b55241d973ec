"""What the small readers make of single values, lines and bytes is as accepted.

Logs show them in passing; here stand the values at the borders: the largest, the empty, the torn.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise, product
from operator import itemgetter
from typing import Any

import polars as pl

from tests import made_stores as stores
from tests.accepted import Case, cases
from ttastats.base.errors import TtastatsError
from ttastats.formats import setups
from ttastats.formats.block import Metric, TimeColumn
from ttastats.outcomes import target
from ttastats_parsers import (
    checkpoints,
    mlflow,
    mlperf_layout,
    own_cells,
    own_choice,
    payloads,
    record_files,
    settings_files,
)
from ttastats_parsers.own_choice import UnfitError

Pieces = Iterator[tuple[Any, Any]]


def of(call: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    """Return the result of a call, or the type of its error and, if it is ours, the message."""
    about = [getattr(call, "__name__", "?"), *map(shortened, arguments)]
    try:
        return about, shortened(call(*arguments))
    except (ValueError, TtastatsError, UnfitError, OverflowError) as error:
        ours = not isinstance(error, json.JSONDecodeError | UnicodeError)
        return about, f"{type(error).__name__}: {error if ours else ''}"


def shortened(value: Any) -> Any:
    if isinstance(value, bytes | str) and len(value) > 200:
        return f"{value[:20]!r} of {len(value)}"
    return repr(value) if isinstance(value, bytes | float) else value


TEXTS = (
    "{}", "[1, 2", "{'a': None, 'b': True}", '{"a": null, \'b\': [false]}', "{a: 1, b: [x, true]}",
    '{"a": 1} and more', "0x1f", "0.37_14", '"0.37_14"', "", " ", "nan", "{'a': nan}", "{'a'",
    "{value: true, metadata: {lineno: 0, file: manual/x.py}}", "1e999", "(1, 2)", "b'x'", "a.b",
    "{1: 2}", "{'a': {1, 2}}", '{"a": "\tb"}', "{" * 20, "[" * 5000, "x" * 20_000,
    "'" + "x" * 16_383, "'" + "x" * 16_382 + "'", "'" + "x" * 16_383 + "'", "[1, null, -Infinity]",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 8, 8.0, 8.5, "8", " 8 ", "-8", "--8", "8.0", "[8]", "(8.5)", "1_0", "x", "",
    2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 2.0**63, 2**64, str(2**63), str(2**63 - 1), "9" * 50,
    "-" + "9" * 18, 2**53 + 1, str(2**53 + 1), 10**400, float("inf"), float("nan"), "inf", "1e400",
    [1], {"a": 1}, "\ud800", "é", [float("nan")], {1: 2}, {"a": {1}}, b"x", "x" * 300, object,
    [object], {"a": object},
)  # fmt: skip


def of_payloads() -> Pieces:
    for text in TEXTS:
        yield of(payloads.decode, text.encode("utf-8", "surrogatepass"))
    yield of(payloads.decode, b'{"a": 1}' + b" " * payloads.LONGEST + b"x")
    yield of(payloads.decode, b"\xff\xfe")
    for value in VALUES:
        for call in (payloads.as_float, payloads.as_int, payloads.storable, payloads.shown,
                     payloads.as_mapping):  # fmt: skip
            yield of(call, value)
    for stamp in (b"1.5", b"1.5.2", b"", b"9" * 400):
        yield of(payloads.seconds_of, stamp)


def of_settings() -> Pieces:
    deep: dict[str, Any] = {"x": 1}
    for _ in range(10):
        deep = {"d": deep}
    for settings in ({}, {"lr": 0.1, "seed": 3}, {"b": None, "a": {"c": 1, "run_dir": "x"}},
                     {"x" * n: n for n in range(30, 60)}, {"a": "b" * 118}, {"a": "b" * 119}, deep,
                     {"random_seed": "7", "train.seed": 8}, {"SEED": "x", "train.seed": 8.0},
                     {"rank": 1, "ranking": 2, "date-of": 3, "myseed": 4}):  # fmt: skip
        yield of(setups.entry_name, settings)
        yield of(setups.recorded_seed, settings)
        yield of(setups.flatten, settings)


YAML = r"""
--- # a comment
a: 1
"b c": two words # behind
'd''e': 'it''s'
g: "a\tb"
i: [1, 2]
k: -1.5e3
l: +.5
m: 12345678901234567890123
n: ~
o: null
p: true
q: false
r:
  s: 1
  t:
    u: 2
  v: 3
w:
- 1
- x: 1
  y: 2
-
  z: 3
- - 4
  - 5
- text
A: |
  first line
  second: line
B: >-
  folded
C:
E:
    text of
    several lines
F: rest
  goes on here
-x: dash
K: 1234567890123456789
L: 12345678901234567890
M: +1234567890123456789
G: a:b
H: http://x
I: ""
J: ''
"""
SHORT = ("", "a: 1\nf: 'torn\nb: 2", 'a: 1\nh: "torn', "a: 1\nj: {x\nb: 2", "D: - no list",
         "a", "- 1\n- 2", "a:\n b: 1\nc: 2", "a: |\nb: 1", "a:\n- 1\nb: 2",
         "- a: 1\n  b: 2\n- c",
         "a:\n  - b:\n      - c: 1\n    d: 2", "a:\n\tb: 1", "-", "- ", "a: - b\n c: 1", ": 1",
         "a: 1\na: 2", "a:\n  b\n  c", "a: 'x' # y", "a: #b", "a: b#c", "{a: 1}", "a: 1.", "a: .",
         "a: 1e5", "a: 0x1f", "x\ny: 1", "a:\n      b: 1\n   c: 2\n d: 3")  # fmt: skip


def of_yaml() -> Pieces:
    yield of(settings_files.of_yaml, YAML.encode())
    for text in SHORT:
        yield of(settings_files.of_yaml, text.encode())
    for depth in (38, 39, 40, 41):
        deep = "\n".join(f"{' ' * n}k:" for n in range(depth)) + f"\n{' ' * depth}z: 1"
        yield of(settings_files.of_yaml, deep.encode())
        yield of(settings_files.of_yaml, b"a:\n" + b"- " * depth + b"x: 1")
    draw = random.Random("yaml")
    lines = YAML.split("\n")
    for _ in range(30):
        chosen = (line for line in lines if draw.random() < 0.3)
        indented = [" " * draw.choice([0] * 20 + [1, 2]) + line for line in chosen]
        yield of(settings_files.of_yaml, "\n".join(indented).encode())


def fields(message: bytes) -> list[Any]:
    """Return the fields up to the first that cannot be read, and why."""
    result: list[Any] = []
    try:
        for number, value in record_files.fields(message):
            result.append([number, shortened(value)])
    except ValueError as error:
        result.append(str(error))
    return result


def of_bytes() -> Pieces:
    draw = random.Random("bytes")
    for _ in range(150):
        size = draw.randrange(14)
        yield of(fields, bytes(draw.choices(b"\x08\x09\x0d\x12\x13\x01\x02\x80\xff", k=size)))
    for size in (8, 9, 10, 11):
        yield of(record_files.varint, b"\xff" * size + b"\x01", 0)
    for value in (0, 2**63 - 1, 2**63, 2**64 - 1, 2**70, b"x"):
        yield of(record_files.signed, value)
    for value in (b"abcd", b"abcdefgh", b"abc", 5):
        for call in (record_files.single, record_files.double, record_files.text):
            yield of(call, value)
        for size in (None, 4):
            yield of(record_files.block, value, size)


def of_records() -> Pieces:
    whole = b"".join(stores.tfrecord(b"x" * size) for size in (0, 1, 30, 300, 7))
    for place in (0, 5, 8, 12, 16, 20, 40, 62, 80, 130, 300, len(whole) - 5):
        for data in (whole[:place], whole[:place] + b"?" + whole[place + 1 :]):
            torn = record_files.tf_records(data)
            yield ("tfrecords", place, len(data)), [[len(r) for r in torn.data], *torn[1:]]
    store = stores.wandb_store([b"a" * size for size in (3, 32_730, 5, 32_760, 70_000, 1, 40)])
    places = (7, 10, 14, 17, 20, 32_760, 32_764, 32_768, 32_770, 65_530, 65_536, 65_540, 100_000)
    for place in (*places, len(store) - 3):
        for data in (store[:place], store[:place] + b"?" + store[place + 1 :],
                     store[:place] + bytes(9) + store[place + 9 :]):  # fmt: skip
            read = record_files.LevelDBRecords(data, 7)
            sizes = [len(record) for record in read.data()]
            yield ("leveldb", place, len(data)), [sizes, read.torn, read.damaged]


TARGETS = ("0.75", "75%", "75 %", "map=0.2", "val/loss@1<=0.9", '"validation loss"<=0.9',
           "acc>=90%", "acc>0.5", "acc", "", "=0.5", "acc = 0.5", "a b>=1", "acc>=x", "1e3", "-1",
           '""=1')  # fmt: skip
PLACES = ("/m/1/{}/metrics/a", "/m/{}/params/x/y", "/m/x/tags/y", "/m/{}/tags", "/{}/tags/y",
          "/a/b", "/m/{}0/metrics/a", "/metrics/a", "/m/metrics/{}/metrics/a")  # fmt: skip


def of_words() -> Pieces:
    for text in TARGETS:
        result = of(target.parse, text)
        yield result[0], str(result[1])
    for text in PLACES:
        yield of(lambda path: str(mlflow.run_folder(path)), text.format("0123abcd" * 4))
    watts = ([], [(0, 1)], [(0, 100), (10, 200)], [(10, 200), (0, 100), (5, 50)], [(2, 9), (9, 9)],
             [(0, 1), (1, 1), (1, 3), (10, 3)], [(1, 5), (10, 5)])  # fmt: skip
    for readings in watts:
        columns = [list(map(itemgetter(place), readings)) for place in (0, 1)]
        for start, stop in (*pairwise((0, 1, 5, 10, 12)), (0, 10)):
            yield of(mlperf_layout.integral, *columns, start, stop)


CELLS = (
    "a,b\n1,2", "a,b\n" + '"' + "x" * 200_000 + '",1', "# x\n\na;b\n1;2\n", "1,2\n3,4", "", "\n\n",
    'a,b\n"1\n2",3\n4,5', 'a,b\n"1,2\n3,4\n5,6', 'a,b\n"' + "1\n" * 98 + '",3', "a\n1,\n2,3",
    'a,b\n"' + "1\n" * 99 + '",3', 'a,b\n"' + "1\n" * 100 + '",3', "a,a,a,\n1,2,3,4\na,a,a,\n",
    "a b\n" + "1 2\n" * 7, "a|b,c\n1|2,3", '{"a": 1}', '{"a": [1, 2]}', '[{"a": 1}, 5]', "[1]", "{",
    '{"a": 1}\n{', '{"a": {"0": 1, "1": 2}, "b": {"1": 3}}', '{"a": {"values": [1]}, "b": "x"}',
    '{"a": [{"x": 1}], "b": [{"y": 1}, {"y": 2}]}', '{"a": {}}', '{"a": []}',
    '{"a": NaN}\n{"a": 1}',
    '{"a": 1' + "0" * 400 + '}\n{"a": true}', '{"a": "\\ud800"}\n{}', '[\n{"a": 1}\n]', "PAR1",
    '["a"]', '{"a": 1,\n{"a": 2}\n{"a": 3}',
    '{\n"a": [1, 2]\n}', '{\n"a": 1\n}\n', "7", '"x"', '{"a": {"b": {"c": 1}}}\n{"a": {"b": 2}}',
)  # fmt: skip


def of_units() -> Pieces:
    """Yield targets compared with values of the same unit, or of another one."""
    values: tuple[list[float], ...] = (
        [], [0.5], [1.0], [0.2, 1.0], [0.0, 1.01], [20.0, 97.0], [-1.0, 0.5], [-1.0, 50.0],
    )  # fmt: skip
    for aim in (None, 0.01, 0.97, 1.0, 1.5, 97.0, 100.0, 101.0):
        for up, percent in product((True, False, None), (True, False)):
            for column in values:
                metric = Metric("acc", up, aim, percent)
                result, problem = checkpoints.in_one_unit(metric, column)
                if problem is not None:
                    yield [aim, up, percent, column], [result.target, problem.message]


STAMPS = ("2024-02-29 23:59:58.250", "2024-02-29T23:59:58+0200", "23:59:58.5 x", "1.7e9", "-", "x",
          "29 10:11", "Feb 29 10:11:12", "240229", "60", "2024-02-29 23:59:58,250")  # fmt: skip
FORMS = (None, "unix", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S,%f", "%Y-%m-%dT%H:%M:%S%z",
         "%H:%M:%S.%f x", "%H:%M:%S%f", "%d %H:%M", "%b %d %H:%M:%S", "%y%m%d", "%s", "%Q",
         "%F %H:%M:%S", "%e %H:%M", "%j", "%d %H")  # fmt: skip


def of_columns() -> Pieces:
    """Yield the values of columns of stamps and of any type, and the problems of cells."""
    for form in FORMS:
        clock = TimeColumn("t", 60.0, form)
        read = own_choice.times(pl.Series(STAMPS), clock).to_list()
        yield [form, own_choice.is_dated(clock)], [moment and round(moment, 6) for moment in read]
    for cells in ([True, None], [1, 2**62], [1.5, float("nan")], [[1], []], [" 7 %", "1e3", "N/A"],
                  ["--", "", "x"] * 4, [{"a": 1}]):  # fmt: skip
        column = pl.Series("c", cells)
        numbers = own_choice.numbers(column)
        lines = pl.Series(range(5, 5 + len(cells)))
        problems = [[p.message, p.line] for p in own_choice.not_numbers(column, numbers, lines)]
        wholes = [own_choice.whole(n) for n in numbers if n is None or n == n]
        yield shortened(str(cells)), [own_choice.texts(column).to_list(), wholes, problems]


SYSTEMS: tuple[Any, ...] = (
    {"nodes": [{"num_accelerators": 8, "num_nodes": "2", "accelerator": "X"}], "framework": "F"},
    {"nodes": {"num_nodes": 3}, "hardware": " H "}, {"nodes": []}, {"nodes": [3], "hardware": 5},
    {"nodes": "x"}, {"nodes": [{"num_nodes": 0, "num_accelerators": 8}]}, {"division": "open"},
    {"number_of_nodes": 4, "accelerators_per_node": "8", "accelerator_model_name": "A"},
    {"number_of_nodes": "", "accelerators_per_node": 2}, {"system_name": "PLACEHOLDER"},
)  # fmt: skip
LINES = (
    "entry: {x}",
    """entry: {"value": "{'nodes': '{1: 2}', 'division': 'closed'}"}""",
    """hardware: {"value": "H"}\nentry: {"value": "{'nodes': \\"{'num_nodes': 2}\\"}"}""",
)


def of_systems() -> Pieces:
    for fields in SYSTEMS:
        yield fields, str(mlperf_layout._system(fields))
        yield of(mlperf_layout._mapping_of, json.dumps(fields).replace("}", ",}").encode())
    for text in (*LINES, "[1]", "\ufeff{}", "{" * 2000, '{"a": 1,]'):
        yield of(mlperf_layout._mapping_of, text.encode())
        yield of(mlperf_layout._logged_mapping_of, text.encode())


def of_cells() -> Pieces:
    def read(text: str) -> Any:
        rows = own_cells.rows_of(text.encode())
        problems = [(problem.code, problem.message, problem.line) for problem in rows.problems]
        cells = [[shortened(cell) for cell in row] for row in rows.frame.head(9).rows()]
        return [rows.frame.columns, cells, rows.lines.head(9).to_list(), problems]

    for text in CELLS:
        about, result = of(read, text)
        yield about, re.sub("no Parquet file.*", "", result) if isinstance(result, str) else result


PIECES = (of_units, of_payloads, of_settings, of_yaml, of_bytes, of_records, of_words, of_cells,
          of_columns, of_systems)  # fmt: skip


def in_json(pieces: Callable[[], Pieces]) -> Iterator[str]:
    for about, piece in pieces():
        with suppress(RecursionError):
            yield json.dumps([about, piece], default=str)


@cases("pieces", **{function.__name__: partial(in_json, function) for function in PIECES})
def test_pieces_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
