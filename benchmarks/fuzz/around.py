"""What lies around logs and tables: footers, files beside logs, stores, archives, names in plots.

Each draw makes a folder, runs commands on it, and looks for what must not be: an exception that
escapes, an end without a sentence, and a run that is gone without a word.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import math
import multiprocessing
import random
import re
import resource
import sqlite3
import struct
import tarfile
import time
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from benchmarks.fuzz import answers, columns, doors, mutations, tables
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.ingestion import manifest
from ttastats.output.plots import kinds, speedups
from ttastats.table import schema, store
from ttastats.table.kind import KEY, pack_json
from ttastats_parsers.record_files import crc32c

ROOT = Path(__file__).resolve().parents[2]
#: Draws that a process makes before the next one takes over.
BATCH = 250
#: This process, and those that it started: plots are drawn in one.
PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
#: One plot in so many is drawn as SVG, the others are pages, which a browser would draw.
DRAW_ONE_IN = 2
Files = dict[str, bytes]


@dataclass(slots=True)
class Tally:
    """The results of some draws of one kind."""

    count: int = 0
    commands: int = 0
    seconds: float = 0.0
    megabytes: float = 0.0
    codes: Counter[int | None] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def ask(self, words: Sequence[str]) -> answers.Answer:
        """Run a command and note what is wrong with its answer."""
        answer = answers.answer(words)
        self.commands += 1
        self.codes[answer.code] += 1
        self.findings += [f"{' '.join(map(repr, words))}\n  {text}" for text in answer.findings]
        return answer

    def add(self, tally: Tally) -> None:
        """Add the draws of another process."""
        self.count += tally.count
        self.commands += tally.commands
        self.seconds += tally.seconds
        self.megabytes = max(self.megabytes, tally.megabytes)
        self.codes += tally.codes
        self.findings += tally.findings


# ------------------------------------------------------------------------------------------ values


def anything(rng: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    if depth < 3 and rng.random() < 0.4:
        items = range(rng.choice((0, 1, 2, 5)))
        if rng.random() < 0.5:
            return [anything(rng, depth + 1) for _ in items]
        return {rng.choice(columns.TEXTS): anything(rng, depth + 1) for _ in items}
    return rng.choice((None, True, *columns.TEXTS, *columns.FLOATS, *columns.INTS, 10**400))


def changed(rng: random.Random, value: Any) -> Any:
    """Return a JSON value with another one somewhere in it."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(sorted(value))
        if rng.random() < 0.2:
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], changed(rng, value[at]), *value[at + 1 :]]
    return anything(rng)


def text_of(rng: random.Random, value: Any) -> str:
    """Return a value as JSON, which is sometimes invalid."""
    text = json.dumps(value)
    if rng.random() < 0.2:
        return mutations.mutilate(rng, [text.encode()])[1].decode("utf-8", "replace")
    return text


# ----------------------------------------------------------------------------------------- footers


def footers(rng: random.Random, folder: Path, tally: Tally) -> None:
    """Ask about a table whose footer, or whose list of parts, was changed."""
    path = folder / "a.parquet"
    rows = table(rng, folder, path)
    before = read_footer(path)
    if rng.random() < 0.3:
        path = folder / "parts"
        store.write(rows, path, in_parts=True)
        head = path / "_ttastats.parquet"
        names = json.loads(read_footer(head)["ttastats.parts"])
        odd = (["../a.parquet"], [str(folder / "a.parquet")], [*names, *names], ["."], names)
        parts = rng.choice((*odd, changed(rng, names), anything(rng)))
        write_footer(head, read_footer(head) | {"ttastats.parts": text_of(rng, parts)})
    else:
        key = rng.choice(sorted(before))
        write_footer(path, before | {key: changed_footer(rng, key, before[key])})
    out = str(folder / "o.parquet")
    commands = (
        ["runs", str(path), "-f", "json"],
        ["problems", str(path), "-f", "json"],
        ["summary", str(path)],
        ["compare", str(path), str(folder / "a.parquet"), "-f", "json"],
        ["ingest", str(folder / "log.txt"), "-o", str(path)],
    )
    for words in rng.sample(commands[:-1], 2):
        tally.ask(words)
    if tally.ask(["filter", str(path), "-o", out]).code == 0:
        expect_all(tally, rows, Path(out))
    tally.ask(commands[-1])


def table(rng: random.Random, folder: Path, path: Path) -> pl.DataFrame:
    """Write a table with a manifest and problems, of which some are of no file."""
    _, rows = columns.table(rng, columns.setups(rng), "a")
    log = next(iter(cases()["mlperf-mllog"].values()))
    (folder / "log.txt").write_bytes(log)
    manifest_text = manifest.encode([], {"others": ["a"]}, (None, None, "evaluations"))
    problems = [Problem("x", "text", "info", 1, "a"), Problem("y", "text", "error", None, None)]
    store.write(rows, path, manifest=manifest_text, problems=problems)
    return rows


def read_footer(path: Path) -> dict[str, str]:
    metadata = pl.read_parquet_metadata(path)
    metadata.pop("ARROW:schema", None)
    return metadata


def write_footer(path: Path, metadata: Mapping[str, str]) -> None:
    pl.read_parquet(path).write_parquet(path, metadata=dict(metadata))


def changed_footer(rng: random.Random, key: str, text: str) -> str:
    """Return a random value of a key in a footer, packed or not."""
    if key == KEY:
        return text_of(rng, changed(rng, json.loads(text)))
    value = json.loads(zlib.decompress(base64.b64decode(text)))
    way = rng.choice((pack_json, pack_json, pack_json, json.dumps, torn, deep))
    return way(changed(rng, value)) if way in {pack_json, json.dumps} else way(text)


def torn(text: str) -> str:
    return text[: len(text) // 2]


def deep(_text: str) -> str:
    return base64.b64encode(zlib.compress(b"[" * 200_000)).decode()


def expect_all(tally: Tally, rows: pl.DataFrame, path: Path) -> None:
    """Note the runs that a filter without a condition lost."""
    lost = rows.select(schema.RUN).unique().join(pl.read_parquet(path), on=schema.RUN, how="anti")
    if not lost.is_empty():
        tally.findings.append(f"filter lost {lost.height} runs of {path}")


# -------------------------------------------------------------------------------------- companions


def cases() -> dict[str, Files]:
    """Return the fixtures: folders of files that belong together, by dialect and name."""
    files_of: dict[str, Files] = {}
    for path in sorted((ROOT / "fixtures").rglob("*")):
        if not path.is_file() or ".expected." in path.name:
            continue
        dialect, *below = path.relative_to(ROOT / "fixtures").parts
        case = f"{dialect}/{below[0]}" if len(below) > 1 else dialect
        files_of.setdefault(case, {})["/".join(below)] = path.read_bytes()
    return files_of


#: Formats whose runs lie in several files.
_SEVERAL = ("wandb/", "tfevents/", "mlflow/", "hf-trainer/", "sb3-monitor/", "evaluations-npz/")
SYSTEM = {
    "division": "closed", "submitter": "Org", "system_name": "one", "number_of_nodes": "1",
    "accelerators_per_node": 8, "accelerator_model_name": "V100", "framework": "torch",
}  # fmt: skip


def companions(rng: random.Random, folder: Path, tally: Tally) -> None:
    """Ingest logs beside which files were changed; no log that is as it was may be gone."""
    files = rng.choice((submission, stored, stored, board))(rng)
    logs = folder / "logs"
    written(logs, files)
    whole = sources_of(logs, folder / "whole.parquet")
    companions_of_logs = [name for name in files if not is_log(name)]
    for name in rng.sample(companions_of_logs, min(len(companions_of_logs), rng.choice((1, 1, 2)))):
        (logs / name).write_bytes(companion(rng, files[name]))
    names = {f"{logs}/{name}" for name in files if is_log(name)}
    answer = tally.ask(["ingest", str(logs), "-o", str(folder / "x.parquet")])
    after = sources_of(logs, folder / "x.parquet") if answer.code in {0, 1} else set()
    for lost in (whole & names) - after:
        tally.findings.append(f"{lost} had a run before another file was changed")


def is_log(name: str) -> bool:
    """Return whether a file of a case is a log, not what lies beside one."""
    last = name.rpartition("/")[2]
    return last.endswith((".txt", ".wandb", ".tsv", ".npz")) or "tfevents" in last


def submission(rng: random.Random) -> Files:
    """Return a log of a submission with all that may describe it."""
    log = rng.choice(list(cases()["mlperf-mllog"].values()))
    top = rng.choice(("v5.0/Org", "training_results_v4.1/Org", "v0.5/Org"))
    system = json.dumps(SYSTEM).encode()
    return {
        f"{top}/results/one/resnet/result_0.txt": log,
        f"{top}/results/one/resnet/scaling.json": b'{"scaling_factor": 1.04}',
        f"{top}/systems/one.json": system,
        f"{top}/results/one/entry.json": system,
        f"{top}/results/one/resnet/power/result_0/node_0.txt": b"1,2,3\n",
    }


def stored(rng: random.Random) -> Files:
    """Return the files of a run of another program."""
    all_cases = cases()
    name = rng.choice([case for case in all_cases if case.startswith(_SEVERAL)])
    files = dict(all_cases[name])
    for path in [path for path in files if path.endswith(".wandb")]:
        above = path.rpartition("/")[0]
        files.setdefault(f"{above}/files/wandb-summary.json", b'{"_step": 4, "_runtime": 20.5}')
        files.setdefault(f"{above}/files/config.yaml", b"lr:\n  value: 0.2\n")
    return files


def board(rng: random.Random) -> Files:
    """Return results of DAWNBench with their descriptions."""
    files = cases()["dawnbench"]
    stem = rng.choice(sorted(name for name in files if name.endswith(".tsv")))[:-4]
    return {name: data for name, data in files.items() if name.startswith(stem)}


def companion(rng: random.Random, content: bytes) -> bytes:
    """Return a changed version of a file beside a log."""
    with contextlib.suppress(ValueError):
        if rng.random() < 0.6:
            return text_of(rng, changed(rng, json.loads(content))).encode()
    if rng.random() < 0.3:
        return text_of(rng, anything(rng)).encode()
    return mutations.mutilate(rng, [content or b"{}", b'{"_wandb": {"runtime": 3}}'])[1]


def written(folder: Path, files: Files) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def sources_of(folder: Path, output: Path) -> set[str]:
    """Return the files that a table names, in its runs or its problems."""
    if not output.exists():
        answers.answer(["ingest", str(folder), "-o", str(output)])
    if not output.exists():
        return set()
    sources = {problem.source or "" for problem in store.read_problems(output)}
    return sources | set(pl.read_parquet(output, columns=["source"]).to_series())


# ------------------------------------------------------------------------------------------ stores


def stores(rng: random.Random, folder: Path, tally: Tally) -> None:
    """Ingest a changed database, event file, W&B store or file of arrays."""
    binary = ("mlflow-db", "tfevents", "wandb", "evaluations-npz")
    files = {
        name: data
        for case, content in cases().items()
        if case.split("/")[0] in binary
        for name, data in content.items()
        if is_log(name) or name.endswith(".db")
    }
    name = rng.choice(sorted(files))
    data = files[name]
    if name.endswith(".db"):
        data = database(rng, data)
    elif "tfevents" in name and rng.random() < 0.7:
        data = events(rng, data)
    elif name.endswith(".wandb") and rng.random() < 0.7:
        data = blocks(rng, data)
    if rng.random() < 0.3:
        data = mutations.mutilate(rng, [data])[1]
    last = name.rpartition("/")[2]
    written(folder, {"mlflow.db" if last.endswith(".db") else last: data})
    (path,) = folder.iterdir()
    answer = tally.ask(["ingest", str(path), "-o", str(folder / "x.parquet")])
    if answer.code in {0, 1}:
        tally.ask(["runs", str(folder / "x.parquet"), "-f", "json"])


COLUMN_TYPES = ("TEXT", "INTEGER", "BLOB", "FLOAT")
COMPUTED = (
    "hex(zeroblob(1e8))", "hex(zeroblob(1e5))", "zeroblob(1e9)", "printf('%1000000s', 'a')", "1/0",
    "replace(hex(zeroblob(1e5)), '0', 'abcdefgh')", "char(0)", "NULL", "x'ff00'", "9e999", "-1",
)  # fmt: skip


def database(rng: random.Random, data: bytes) -> bytes:
    """Return a database after random statements."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        for _ in range(rng.choice((1, 1, 2, 4))):
            with contextlib.suppress(sqlite3.Error):
                connection.execute(statement(rng, connection))
                connection.commit()
        with contextlib.suppress(sqlite3.Error):
            return connection.serialize()
    return data


def statement(rng: random.Random, connection: sqlite3.Connection) -> str:
    """Return a statement that changes a table."""
    name = rng.choice(("experiments", "runs", "metrics", "params", "tags"))
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] or ["x"]
    column, value = rng.choice(names), rng.choice(COMPUTED)
    kind = rng.choice(COLUMN_TYPES)
    return rng.choice(
        (
            f"ALTER TABLE {name} ADD COLUMN new{rng.randrange(99)} {kind} "
            f"GENERATED ALWAYS AS ({value})",
            f"ALTER TABLE {name} ADD COLUMN new{rng.randrange(99)} {kind} DEFAULT 'a'",
            f"UPDATE {name} SET {column} = {value}",
            f"UPDATE {name} SET {column} = '{'a' * 2_000_000}'",
            f"INSERT INTO {name} SELECT * FROM {name}",
            f"DELETE FROM {name}",
            f"ALTER TABLE {name} RENAME COLUMN {column} TO other",
            f"DROP TABLE {name}",
            f"CREATE VIEW v{rng.randrange(99)} AS SELECT * FROM {name}",
        )
    )


def events(rng: random.Random, data: bytes) -> bytes:
    """Return an event file with changed bytes in its records, and valid checksums."""
    whole, offset = b"", 0
    while offset + 16 <= len(data):
        (size,) = struct.unpack_from("<Q", data, offset)
        record = data[offset + 12 : offset + 12 + size]
        if rng.random() < 0.3:
            record = mutations.mutilate(rng, [record])[1]
        head = struct.pack("<Q", len(record))
        whole += head + masked(head) + record + masked(record)
        offset += 16 + size
    return whole


def masked(data: bytes) -> bytes:
    """Return the checksum of a record as event files hold it."""
    plain = int(crc32c([data])[0])
    return struct.pack("<I", ((plain >> 15 | plain << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def blocks(rng: random.Random, data: bytes) -> bytes:
    """Return a W&B store with changed bytes in its records, and valid checksums."""
    whole, offset = data[:7], 7
    while offset + 7 <= len(data):
        _, size, kind = struct.unpack_from("<IHB", data, offset)
        record = data[offset + 7 : offset + 7 + size]
        if rng.random() < 0.3:
            record = mutations.mutilate(rng, [record])[1][:20_000]
        checksum = zlib.crc32(record, zlib.crc32(bytes([kind])))
        whole += struct.pack("<IHB", checksum, len(record), kind) + record
        offset += 7 + size
    return whole


# ---------------------------------------------------------------------------------------- archives


def archives(rng: random.Random, folder: Path, tally: Tally) -> None:
    """Ingest an archive with members of odd names and sizes, some of one name, or damaged."""
    files = list(cases()["mlperf-mllog"].values())
    names = [f"a/result_{number}.txt" for number in range(3)]
    odd = ("../a.txt", "/a/result_0.txt", "a/", "", "a\\b.txt", "é/\u202e.txt", "x" * 300, *names)
    members = [(rng.choice((*names, *odd)), rng.choice(files)) for _ in range(rng.randint(1, 4))]
    way = rng.choice(("zip", "tar", "tar.gz"))
    data = zipped(rng, members) if way == "zip" else tarred(members, way)
    damage = rng.random() < 0.4
    if damage:
        data = mutations.mutilate(rng, [data])[1]
    path = folder / f"a.{way}"
    path.write_bytes(data)
    answer = tally.ask(["ingest", str(path), "-o", str(folder / "x.parquet")])
    logs = Counter(name for name, _ in members if not name.endswith("/"))  # the others are folders
    double = any(count > 1 for count in logs.values())
    if answer.code == 0 and double and not damage:
        tally.findings.append("members of one name are no problem")


def zipped(rng: random.Random, members: Sequence[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    method = rng.choice((zipfile.ZIP_DEFLATED,) * 3 + (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2))
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name or "empty"), content, method)
        if rng.random() < 0.05:  # more than may be read of it
            with archive.open("b/trainer_state.json", "w") as member:
                for _ in range(70):
                    member.write(b" " * 1_000_000)
    return buffer.getvalue()


def tarred(members: Sequence[tuple[str, bytes]], way: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if way == "tar.gz" else "w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name or "empty")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------- names

#: What is markup, an escape or an end to a renderer of plots, beside what is to other outputs.
NAMES = (
    *columns.HOSTILE, "a\x07b", "acc $\\uparrow$", "\\xi", '\\"', "'", '"', "a\nb", "a\\nb", "]]>",
    "&lt;", "&#0;", "\ufffe", "\uffff", "datum['x']", "a.b[0]", "a[b]", "a\\.b", "\\", "%s", "{0}",
    "\ud800", "\x7f", "\u2028", "a" * 5_000, " ", "",
)  # fmt: skip
TITLES = ("benchmark", "metric", "entry")
NAMED = (
    "system", "submitter", "hardware", "framework", "source", "round", "suite", "division",
)  # fmt: skip


def names(rng: random.Random, folder: Path, tally: Tally) -> None:
    """Draw a kind of plot over tables with names that no renderer expects."""
    (_, first), (_, second) = tables.both(rng)
    rows = pl.concat([first.with_columns(side=1), second.with_columns(side=2)])
    for column in (*rng.sample(TITLES, rng.choice((1, 2, 3))), *rng.sample(NAMED, 2)):
        present = rows[column].drop_nulls().unique(maintain_order=True).to_list()
        # Names stay apart, and say nothing that cannot be written as UTF-8.
        renamed = {
            name: f"{rng.choice(NAMES)}{n or ''}".encode("utf-8", "replace").decode()
            for n, name in enumerate(present)
        }
        rows = rows.with_columns(pl.col(column).replace(renamed))
    paths = [folder / "a.parquet", folder / "b.parquet"]
    for side, path in enumerate(paths, start=1):
        store.write(rows.filter(side=side).drop("side"), path)
    ending = "svg" if rng.randrange(DRAW_ONE_IN) == 0 else "html"
    for kind in rng.sample(sorted(kinds.KINDS), 4):  # most suit some tables only
        out = folder / f"{kind}.{ending}"
        files = paths if kind == speedups.KIND else paths[: rng.choice((1, 1, 2))]
        words = ["plot", kind, *map(str, files), "-o", str(out)]
        if tally.ask(words).code == 0:
            tally.findings += [f"{' '.join(map(repr, words))}\n  {text}" for text in undrawn(out)]
            break


def undrawn(path: Path) -> Iterator[str]:
    """Return the faults of a plot file, beyond the checks of every file."""
    text = path.read_text("utf-8")
    if path.suffix == ".svg":
        if not re.search(r"<(path|line|rect|circle)\b", text):
            yield f"{path.name} shows no mark"
        return
    for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL):
        if '"mark"' not in data:
            yield f"{path.name} shows no mark"


# --------------------------------------------------------------------------------------------- all

KINDS: dict[str, Callable[[random.Random, Path, Tally], None]] = {
    source.__name__: source
    for source in (companions, stores, archives, names, footers, doors.arguments, doors.keys)
}


def draw(kind: str, numbers: Sequence[int], seed: int) -> Tally:
    """Make the draws of some numbers of a kind."""
    tally, begun = Tally(), time.process_time()
    for number in numbers:
        # Each has a source of chance of its own, so that one can be made again alone.
        rng = random.Random(f"{kind}-{seed}-{number}")
        before = len(tally.findings)
        with TemporaryDirectory(prefix="ttastats-fuzz-") as folder:
            try:
                KINDS[kind](rng, Path(folder), tally)
            except TtastatsError as error:
                tally.findings.append(f"making: {error}")
            except Exception as error:
                tally.findings.append(f"making: {answers.escaped(error)}")
        tally.findings[before:] = [f"{kind} {number}: {text}" for text in tally.findings[before:]]
        tally.count += 1
    tally.seconds = time.process_time() - begun
    peaks = (resource.getrusage(process).ru_maxrss for process in PROCESSES)
    tally.megabytes = max(peaks) / 1024
    return tally


def draw_all(count: int, seed: int) -> Iterator[tuple[str, Tally]]:
    """Make so many draws of each kind; return their results, with the peak of the processes."""
    context = multiprocessing.get_context("spawn")
    for kind in KINDS:
        whole = Tally()
        of_kind = range(math.ceil(count / len(KINDS)))
        for start in of_kind[::BATCH]:
            numbers = of_kind[start : start + BATCH]
            try:
                with ProcessPoolExecutor(1, mp_context=context) as pool:
                    whole.add(pool.submit(draw, kind, numbers, seed).result())
            except BrokenProcessPool:
                whole.findings.append(f"{kind} {numbers}: the process was aborted")
        yield kind, whole


def text(draws: Mapping[str, Tally], seed: int) -> str:
    """Return the page."""
    lines = [
        f"| seed {seed} | draws | commands | exit codes | CPU s | peak MB | findings |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, tally in draws.items():
        codes = ", ".join(f"{code}: {n:,}" for code, n in sorted(tally.codes.items(), key=str))
        lines.append(
            f"| {kind} | {tally.count:,} | {tally.commands:,} | {codes} | {tally.seconds:.0f} | "
            f"{tally.megabytes:,.0f} | {len(tally.findings)} |"
        )
    return "\n".join([*lines, *(text for tally in draws.values() for text in tally.findings[:20])])
