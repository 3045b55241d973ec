"""Every fixture of every dialect: read as accepted, whatever its line ends, noise and cuts.

A fixture is a file, or a folder of files that belong together.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import pytest
import xxhash

from tests.accepted import Case, cases
from tests.conftest import FIXTURES, matches_accepted
from ttastats.base.records import Problem, Run
from ttastats.formats import config
from ttastats.formats.block import Block
from ttastats.formats.config import FILE
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry
from ttastats.ingestion.reading import Reading
from ttastats.ingestion.reading import choose_dialect as reading_way

CASES = sorted(
    path
    for path in FIXTURES.glob("*/*")
    if not path.name.endswith(".expected.jsonl") and path.name != FILE
)
#: Dialects whose files are no text: they have no lines that end otherwise or stand between others.
BINARY = {"evaluations-npz", "mlflow-db", "tfevents", "wandb"}
#: Those that are one whole, such as a table or a JSON object: nothing stands between its lines.
WHOLE = {
    "allennlp", "dawnbench", "hf-trainer", "hyperfine", "mlflow", "mlflow-table", "optuna",
    "pytest-benchmark", "sb3-monitor", "table", "times-table", "ttastats-rows",
}  # fmt: skip
#: How far apart a file is cut: at every place only where there is time, and nowhere at a multiple
#: of the length of its lines.
STEP, AT_THE_END = (1, 60) if os.environ.get("TTASTATS_LONG") else (251, 8)
NOISE = b"epoch 3:  40%|####      | loss 1.25\r\xff\xfe not UTF-8\n"


@cache
def beside(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def dialect_of(path: Path) -> str:
    return path.relative_to(FIXTURES).parts[0]


def around(path: Path) -> Path:
    """Return the folder that holds all there is to a file: that of its case, or of its dialect."""
    parts = path.relative_to(FIXTURES).parts
    return FIXTURES.joinpath(*parts[: 2 if len(parts) > 2 else 1])


@cache
def blocks_of(folder: Path) -> tuple[Block, ...]:
    text = beside(folder).get(str(folder / FILE))
    return config.blocks(text.decode(), FILE, str(folder)) if text else ()


@cache
def way(path: Path) -> Any:
    reading = Reading(blocks=blocks_of(path.parent))
    return reading_way(path.read_bytes(), PurePosixPath(path.parent), path.name, None, reading)


def read(path: Path, data: bytes) -> list[Run | Problem]:
    """Return what is read of a file: nothing if it is of no dialect."""
    _, block, named = way(path)
    log = log_from_bytes(data, str(path), beside(around(path)), block=block, named=named)
    return list(registry.named(dialect_of(path)).parse(log))


def parsed(case: Path, change: Callable[[bytes], bytes] = lambda data: data) -> list[Run | Problem]:
    """Read all logs of a case, each changed, and the files beside them unchanged."""
    return [item for path in logs_of(case) for item in read(path, change(path.read_bytes()))]


@cache
def logs_of(case: Path) -> tuple[Path, ...]:
    """Return the files of a case that are logs: in a folder, others may lie beside them."""
    if case.is_file():
        return (case,)
    files = sorted(path for path in case.rglob("*") if path.is_file())
    known = ((path, way(path)[0]) for path in files)
    return tuple(p for p, dialect in known if dialect and dialect.name == dialect_of(p))


def plain(item: Run | Problem) -> dict[str, Any]:
    fields = {name: getattr(item, name) for name in item.__struct_fields__}
    if isinstance(item, Run):
        fields["evaluations"] = tuple(map(msgspec.structs.asdict, item.evaluations))
        fields["problems"] = tuple(map(msgspec.structs.asdict, item.problems))
    return {"record": type(item).__name__} | {
        key: value for key, value in fields.items() if value not in (None, (), {})
    }


def without_lines(items: list[Run | Problem]) -> str:
    """Return the items as text without line numbers, which noise lines shift."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in {"line", "message"}}
        return [strip(v) for v in value] if isinstance(value, list | tuple) else value

    return json.dumps([strip(plain(item)) for item in items], default=str)


def crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def marked(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data


def noisy(data: bytes) -> bytes:
    *lines, last = data.splitlines(keepends=True)
    return NOISE + b"".join(line + NOISE for line in lines) + last


@pytest.mark.parametrize("case", CASES, ids=lambda p: f"{p.parent.name}/{p.name}")
class TestFixture:
    def test_is_recognised_by_its_own_dialect_and_no_other(self, case: Path) -> None:
        assert logs_of(case)
        for path in logs_of(case):
            dialect, _, _ = way(path)
            assert dialect is not None
            assert dialect.name == dialect_of(case)

    def test_is_read_as_accepted(self, case: Path) -> None:
        lines = [json.dumps(plain(item), default=str) for item in parsed(case)]
        accepted = case.with_name(f"{case.name}.expected.jsonl")
        here = str(FIXTURES)
        text = "".join(f"{line}\n" for line in lines).replace(here, "fixtures")
        assert matches_accepted(accepted, text)

    @pytest.mark.parametrize("change", [crlf, marked, noisy])
    def test_reads_the_same_with_what_says_nothing(
        self, change: Callable[[bytes], bytes], case: Path
    ) -> None:
        if dialect_of(case) in (BINARY | WHOLE if change is noisy else BINARY):
            pytest.skip("no text, or nothing of other programs stands in it")
        plain_ends = parsed(case, lambda data: data.replace(b"\r\n", b"\n"))
        assert without_lines(parsed(case, change)) == without_lines(plain_ends)

    def test_never_raises_wherever_it_is_cut(self, case: Path) -> None:
        for path in logs_of(case):
            data = path.read_bytes()
            last = range(max(0, len(data) - AT_THE_END), len(data))
            for end in {*range(0, len(data), STEP), *last}:
                items = read(path, data[:end])
                assert all(isinstance(item, Run | Problem) for item in items)


#: What may stand where a number was.
ODD_NUMBERS = (b"nan", b"-1", b"1e999", b"", b"12", b'"x"', b"null", b"0", b"3.5")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutilated(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield a log with a line left out, repeated or moved, with odd numbers or wrong bytes."""
    data, draw = path.read_bytes(), random.Random(path.name)
    for _ in range(12 if dialect_of(path) in BINARY else 1):
        place, byte = draw.randrange(len(data)), draw.randrange(256)
        yield f"byte {place} is {byte}", data[:place] + bytes([byte]) + data[place + 1 :]
    if dialect_of(path) in BINARY:
        return
    lines = data.splitlines(keepends=True)
    for _ in range(2):
        here, there = draw.randrange(len(lines)), draw.randrange(len(lines))
        rest = lines[:here] + lines[here + 1 :]
        yield f"without line {here + 1}", b"".join(rest)
        yield f"twice line {here + 1}", b"".join([*lines[:here], lines[here], *lines[here:]])
        moved = [*rest[:there], lines[here], *rest[there:]]
        yield f"line {here + 1} moved to {there + 1}", b"".join(moved)
    numbers = list(NUMBER.finditer(data))
    for match in draw.sample(numbers, min(6, len(numbers))):
        odd = draw.choice(ODD_NUMBERS)
        about = f"{match[0].decode()} at {match.start()} is {odd.decode()}"
        yield about, data[: match.start()] + odd + data[match.end() :]


def in_short(items: Sequence[Run | Problem]) -> str:
    """Return the items in one line, with a digest of all but messages."""
    texts = []
    for item in items:
        if isinstance(item, Problem):
            texts.append(f"{item.code}:{item.line}")
            continue
        codes = "".join(f" {problem.code}:{problem.line}" for problem in item.problems)
        numbers = f"{item.run_seconds} s, {len(item.evaluations)} evaluations"
        texts.append(f"{item.run_status} {numbers}{codes}")
    whole = without_lines(list(items)).replace(str(FIXTURES), "")
    digest = xxhash.xxh3_64_hexdigest(whole.encode())
    return f"{'; '.join(texts) or 'nothing'} [{digest[:6]}]"


def of_mutilated(dialect: str) -> Iterator[str]:
    for path in (path for case in CASES if dialect_of(case) == dialect for path in logs_of(case)):
        yield f"{path.relative_to(FIXTURES)}"
        yield from (f"  {about}: {in_short(read(path, data))}" for about, data in mutilated(path))


KINDS = sorted(set(map(dialect_of, CASES)))


@cases("mutilated", **{kind: partial(of_mutilated, kind) for kind in KINDS})
def test_mutilated_logs_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_every_dialect_has_fixtures() -> None:
    assert {path.parent.name for path in CASES} >= set(registry.dialects())
