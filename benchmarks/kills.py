"""What is left where writers and questions are killed? `python benchmarks/kills.py --help`

Each command is killed at random moments, in processes that are forked from one which has imported
all. What it writes is then the old or the new, and once it has come to its end all is as if nobody
had been killed. In a race of writers, of which one is killed, no run of the others is lost.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from ttastats import api, cli

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "examples" / "two_systems" / "Example" / "results"
#: Commands with the one before them; OUT is the output, on a disk or in a bucket.
WRITERS = {
    "file": ("ingest A -o OUT/x.parquet", "ingest A B -o OUT/x.parquet"),
    "folder": ("ingest A -o OUT/x/", "ingest A B -o OUT/x/"),
    "append": ("ingest A -o OUT/x/", "ingest B -o OUT/x/ --append"),
    "partition": ("ingest A -o OUT/x/ --partition system",
    "ingest A B -o OUT/x/ --partition system"),
    "workers": ("ingest A -o OUT/x.parquet", "ingest A B -o OUT/x.parquet --workers 2"),
    "filter": ("filter T -o OUT/x.parquet --where system=one_gpu", "filter T -o OUT/x.parquet"),
    "filter into a folder": ("filter T -o OUT/x/ --where system=one_gpu", "filter T -o OUT/x/"),
}  # fmt: skip
#: Commands whose outputs are no tables, on a disk.
OTHERS = {
    "export of rows": ("export T -o OUT/x.csv --where system=one_gpu", "export T -o OUT/x.csv"),
    "export of logs": ("runs T", "export T -o OUT/x/"),  # which replaces none
    "page": ("report T -o OUT/x.html --where system=one_gpu", "report T -o OUT/x.html"),
    "plot": ("plot tta T -o OUT/x.svg --where system=one_gpu", "plot tta T -o OUT/x.svg"),
    "question": ("runs A", "runs A B"),
    "question without a cache": ("runs A --no-cache", "runs A B --no-cache"),
    "comparison": ("compare A B", "compare A B"),
}  # fmt: skip
RACES = {
    "race of files": ("ingest A -o OUT/x.parquet", "ingest A B -o OUT/x.parquet"),
    "race of appends": ("ingest A -o OUT/x/ --append", "ingest B -o OUT/x/ --append"),
}
ONE, BOTH = [("one_gpu", 10)], [("eight_gpus", 10), ("one_gpu", 10)]
#: Starts an S3 server, says where, and ends with its parent.
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""


class Place:
    """A folder with an output, temporary files and a cache, or a bucket in place of the output."""

    def __init__(self, folder: Path, bucket: str = "") -> None:
        self.folder, self.bucket = folder, bucket
        for name in ("out", "tmp", "cache"):
            (folder / name).mkdir()
        os.environ |= {"TMPDIR": f"{folder}/tmp", "XDG_CACHE_HOME": f"{folder}/cache"}
        self.output = bucket or f"{folder}/out"

    def words(self, command: str) -> list[str]:
        """Return the words of a command."""
        names = {"A": f"{LOGS}/one_gpu", "B": f"{LOGS}/eight_gpus", "T": f"{self.folder}/t.parquet"}
        words = (names.get(word, word) for word in shlex.split(command))
        return [word.replace("OUT", self.output) for word in words]

    def start(self, command: str, act: Callable[[], object] | None = None) -> int:
        """Return a process that runs a command and leads its group; its output is in a file."""
        if child := os.fork():
            return child
        with suppress(BaseException):
            os.setsid()
            file = os.open(self.said(os.getpid()), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(file, 1), os.dup2(file, 2)
            code = 99
            try:
                sys.argv = ["ttastats", *self.words(command)]
                code = int(bool((act or cli.main)()))
            except SystemExit as end:
                code = int(end.code or 0)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code)
        os._exit(98)

    def said(self, child: int) -> Path:
        """Return the file with the output of a process."""
        return self.folder / f"{child}.said"

    def end(self, child: int) -> tuple[int, str]:
        """Wait for the end of a process; return its code and what it said."""
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        text = self.said(child).read_text() if self.said(child).exists() else ""
        self.said(child).unlink(missing_ok=True)
        return code, text

    def run(self, command: str, act: Callable[[], object] | None = None) -> str:
        """Run a command to its end, or something in its place, and return what it said."""
        code, text = self.end(self.start(command, act))
        if code not in {0, 1}:
            raise RuntimeError(f"{command}: {code}\n{text}")
        return text

    def state(self, command: str) -> str:
        """Return what the output of a command holds: runs of a table, or a digest of a file."""
        output = next((w for w in command.split() if w.startswith("OUT")), "")
        if not output:
            return ""
        if output.endswith((".parquet", "x/")) and not command.startswith("export"):
            place = output.replace("OUT", self.output)
            return self.run("", lambda: print(runs_of(place))).strip()
        path = Path(output.replace("OUT", self.output))
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        return str([hash(each.read_bytes()) for each in files if each.is_file()])

    def files(self) -> list[str]:
        """Return what lies in the output, the cache and the temporary folder, without numbers."""
        names = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*")]
        if self.bucket:
            names += bucket_names(self.bucket)
        shown = (re.sub(r"[0-9a-f]{8,}|\d+", "N", name) for name in names)
        return sorted(name for name in shown if "cache/ttastats/" not in name or "tmp" in name)


def bucket_names(bucket: str) -> list[str]:
    """Return the keys of a bucket and of what was begun there, asked from a process of its own."""
    program = (
        f"import s3fs; s = s3fs.S3FileSystem(); b = {bucket[5:]!r}\n"
        "begun = [each['Key'] + ' begun' for each in s.list_multipart_uploads(b.split('/')[0])]\n"
        "print(*s.find(b), *begun, sep='\\n')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return ended.stdout.split("\n")


def runs_of(table: str) -> list[tuple[str, int]]:
    """Return the number of runs of each system in a table."""
    runs = api.read(table).select("system", "source", "run_id").unique().collect()
    return runs["system"].value_counts().sort("system").rows()


def kills(place: Place, old: str, new: str, times: int, rng: random.Random) -> Iterator[str]:
    """Kill a command so often; yield what is wrong then."""
    place.run(old)
    before = place.state(old) if old != "runs T" else "[]"
    began = time.monotonic()
    place.run(new)
    took, after = time.monotonic() - began, place.state(new)
    clean, hits = place.files(), 0
    for number in range(times):
        place.run(old)
        if old == "runs T":
            shutil.rmtree(place.folder / "out" / "x", ignore_errors=True)
        child = place.start(new)
        time.sleep(rng.uniform(0, 1.1) * took)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        code, _ = place.end(child)
        hits += code == -signal.SIGKILL
        if (state := place.state(new)) not in {before, after}:
            yield f"kill {number}: holds {state!r}, neither {before!r} nor {after!r}"
    place.run(old)
    if old == "runs T":
        shutil.rmtree(place.folder / "out" / "x", ignore_errors=True)
    place.run(new)
    left = list((Counter(place.files()) - Counter(clean)).elements())
    if place.state(new) != after:
        yield f"the next holds {place.state(new)!r}, not {after!r}"
    yield from (f"left behind: {name}" for name in left)
    print(f"    {hits} of {times} were alive")


def races(place: Place, first: str, second: str, times: int, rng: random.Random) -> Iterator[str]:
    """Let three writers run so often, one of which is killed; yield what is wrong then."""
    place.run(first)
    began = time.monotonic()
    place.run(second)
    took = time.monotonic() - began
    clean = place.files()
    for number in range(times):
        commands = [first, second, rng.choice((first, second))]
        children = [place.start(command) for command in commands]
        time.sleep(rng.uniform(0, 1.5) * took)
        killed = rng.randrange(3)
        with suppress(ProcessLookupError):
            os.killpg(children[killed], signal.SIGKILL)
        ends = [place.end(child) for child in children]
        for at, (code, text) in enumerate(ends):
            if at != killed and (code not in {0, 1}):
                yield f"race {number}: {commands[at]} ended with {code}: {text[-300:]}"
        if (state := place.state(second)) not in {str(ONE), str(BOTH)}:
            yield f"race {number}: holds {state!r}"
        if "--append" in first and state != str(BOTH):
            yield f"race {number}: lost runs"
    place.run(first)
    place.run(second)
    left = Counter(place.files()) - Counter(clean)
    yield from (f"left behind: {name}" for name in left.elements())


@contextmanager
def bucket() -> Iterator[str]:
    """Yield the URL of an empty bucket of a server on the loopback address."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    os.environ |= {
        "AWS_ENDPOINT_URL": server.stdout.readline().strip(), "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    program = "import s3fs; s3fs.S3FileSystem().mkdir('bucket')"
    subprocess.run([sys.executable, "-c", program], check=True)
    try:
        yield "s3://bucket"
    finally:
        server.kill()


def main(arguments: list[str]) -> int:
    """Kill what is named; return 1 if anything is wrong."""
    options = argparse.ArgumentParser(prog="benchmarks/kills.py", description=__doc__)
    options.add_argument("names", nargs="*", help=f"of {', '.join((*WRITERS, *OTHERS, *RACES))}")
    options.add_argument("--kills", type=int, default=40, help="of each command")
    options.add_argument("--bucket", action="store_true", help="in a bucket (needs moto and s3fs)")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args(arguments)
    os.environ |= {"POLARS_MAX_THREADS": "1", "COLUMNS": "100"}
    for name in ("polars", "ttastats.ingestion.ingest", "scipy.special"):
        importlib.import_module(name)
    if given.bucket:
        importlib.import_module("pyarrow.dataset")
    wrong = 0
    with bucket() if given.bucket else nullcontext("") as url:
        for name, (old, new) in {**WRITERS, **({} if url else OTHERS), **RACES}.items():
            if given.names and name not in given.names:
                continue
            with tempfile.TemporaryDirectory(prefix="ttastats-kills-", dir="/tmp") as folder:
                place = Place(Path(folder), f"{url}/{name.replace(' ', '_')}" if url else "")
                place.run(f"ingest A B -o {folder}/t.parquet")
                act = races if name in RACES else kills
                found = list(act(place, old, new, given.kills, random.Random(given.seed)))
            wrong += len(found)
            print(
                f"{name}: {given.kills} kills, {len(found)} findings",
                *found,
                sep="\n    ",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
