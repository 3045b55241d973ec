"""Every fixture of every dialect: read as accepted, whatever its line ends, noise and cuts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import FIXTURES, matches_accepted
from ttastats import registry
from ttastats.dialect import Log, log_from_bytes
from ttastats.records import Problem, Run

CASES = sorted(path for path in FIXTURES.glob("*/*") if not path.name.endswith(".expected.jsonl"))
NOISE = b"epoch 3:  40%|####      | loss 1.25\r\xff\xfe not UTF-8\n"


@cache
def beside(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.iterdir()}


def log_of(path: Path, data: bytes | None = None) -> Log:
    files = beside(path.parent)
    return log_from_bytes(files[str(path)] if data is None else data, str(path), files)


def parsed(path: Path, data: bytes | None = None) -> list[Run | Problem]:
    return list(registry.named(path.parent.name).parse(log_of(path, data)))


def plain(item: Run | Problem) -> dict[str, Any]:
    fields = {name: getattr(item, name) for name in item.__struct_fields__}
    if isinstance(item, Run):
        fields["evaluations"] = tuple(map(msgspec.structs.asdict, item.evaluations))
        fields["problems"] = tuple(map(msgspec.structs.asdict, item.problems))
    return {"record": type(item).__name__} | {
        key: value for key, value in fields.items() if value not in (None, (), {})
    }


def without_lines(items: list[Run | Problem]) -> str:
    """Give the items as text without line numbers, which noise lines shift."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in {"line", "message"}}
        return [strip(v) for v in value] if isinstance(value, list | tuple) else value

    return json.dumps([strip(plain(item)) for item in items], default=str)


@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}/{p.name}")
class TestFixture:
    def test_is_recognised_by_its_own_dialect_and_no_other(self, path: Path) -> None:
        dialect = registry.recognise(path.read_bytes())
        assert dialect is not None
        assert dialect.name == path.parent.name

    def test_is_read_as_accepted(self, path: Path) -> None:
        lines = [json.dumps(plain(item), default=str) for item in parsed(path)]
        accepted = path.with_name(f"{path.name}.expected.jsonl")
        assert matches_accepted(accepted, "".join(f"{line}\n" for line in lines))

    def test_reads_the_same_with_other_line_ends(self, path: Path) -> None:
        data = path.read_bytes().replace(b"\r\n", b"\n")
        crlf = data.replace(b"\n", b"\r\n")
        assert without_lines(parsed(path, crlf)) == without_lines(parsed(path, data))

    def test_reads_the_same_with_a_byte_order_mark(self, path: Path) -> None:
        marked = b"\xef\xbb\xbf" + path.read_bytes()
        assert without_lines(parsed(path, marked)) == without_lines(parsed(path))

    def test_reads_the_same_with_noise_between_the_lines(self, path: Path) -> None:
        if path.parent.name == "dawnbench":
            pytest.skip("a table has no lines of other programs in it")
        data = path.read_bytes()
        noisy = NOISE + b"".join(line + NOISE for line in data.splitlines(keepends=True)[:-1])
        noisy += data.splitlines(keepends=True)[-1]
        assert without_lines(parsed(path, noisy)) == without_lines(parsed(path))

    def test_never_raises_wherever_it_is_cut(self, path: Path) -> None:
        data = path.read_bytes()
        for end in range(len(data)):
            items = parsed(path, data[:end])
            assert all(isinstance(item, Run | Problem) for item in items)


def test_every_dialect_has_fixtures() -> None:
    assert {path.parent.name for path in CASES} >= {
        "dawnbench",
        "mlperf-mll",
        "mlperf-mllog",
        "mlperf-v0.5",
    }
