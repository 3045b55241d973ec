"""Declared dependencies are used, used ones are declared, and nothing else is needed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import python

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

#: How code names what is installed by another name.
NAMED = {
    "alembic": "sqlalchemy",  # MLflow's stores in SQLite need both
    "backports-zstd": "backports",
    "font-source-sans-pro": "font_source_sans_pro",
    "flask-cors": "flask_cors",
    "fonttools": "fontTools",
    "hydra-core": "hydra",
    "markdown-it-py": "markdown_it",
    "mlflow-skinny": "mlflow",
    "pytest-xdist": "-n",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "vl-convert-python": "vl_convert",
}
#: Packages of users, for whom there are callbacks, or with which fsspec asks web servers; the
#: official logger and that of NVIDIA's driver, used where they are there.
OF_USERS = {
    "aiohttp", "keras", "lightning", "mlperf_logging", "pynvml", "pytorch_lightning",
    "transformers",
}  # fmt: skip


def names(requirements: Sequence[str]) -> set[str]:
    matches = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {NAMED.get(match[0], match[0].replace("-", "_")) for match in matches if match}


IMPORTED = re.compile(
    r"^ *(?:import (?=[\w.]+(?: as| +#|$))|from (?=[\w.]+ import))(\w+)", re.MULTILINE
)
WORD = re.compile(r"""(["'])([\w-]+)\1""")


def mentioned(*places: str) -> tuple[set[str], set[str]]:
    """Return the imported modules, and modules and programs that texts name."""
    files = (path for place in places for path in ROOT.glob(place) if path != Path(__file__))
    text = "\n".join(path.read_text("utf-8") for path in files)
    return set(IMPORTED.findall(text)), {word for _, word in WORD.findall(text)}


PRODUCT = ("ttastats/**/*.py", "parsers/**/*.py")


def test_the_core_is_what_the_product_imports() -> None:
    imported, named = mentioned(*PRODUCT)
    ours = {"ttastats", "ttastats_parsers", "compression"}  # of Python 3.14: backports
    foreign = imported - set(sys.stdlib_module_names) - ours - OF_USERS - names(EXTRAS["train"])
    core = names(PROJECT["dependencies"])
    only_found = {"font_source_sans_pro"}  # its import would open every font
    assert foreign == core - only_found
    assert only_found <= named


@pytest.mark.parametrize(
    ("extra", "places"),
    [
        ("train", ("ttastats/trainer/**/*.py",)),
        ("cluster", ("ttastats/ingestion/workers.py",)),
        ("writers", ("tests/test_real_writers.py", "tests/test_tracking.py")),
        ("dev", ("tests/**/*.py", "dev.py", "benchmarks/**/*.py")),
    ],
)
def test_an_extra_is_used_by_those_it_is_for(extra: str, places: tuple[str, ...]) -> None:
    by_hand = {"import_linter", "ipykernel", "pre_commit"}  # commands; the notebook's cells
    assert names(EXTRAS[extra]) - by_hand <= set().union(*mentioned(*places))


def test_the_documentation_says_what_each_is_for() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `([\w.-]+)` \| `[\w.]+` \| [^|]+ \| [\d.]+ \| \d+ \|$", page, re.MULTILINE
    )
    assert sorted(rows) == sorted(
        match[0] for text in PROJECT["dependencies"] if (match := re.match(r"[\w.-]+", text))
    )


#: As where they are not installed, for those who look as for those who import.
WITHOUT = """
from importlib.machinery import PathFinder
found = PathFinder.find_spec
absent = {absent!r}
PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.split(".")[0] in absent else found(name, *rest)
)
"""

COMMANDS = """
from ttastats.cli import app
commands = '''
ingest {logs}/one_gpu -o a.parquet
ingest {logs}/eight_gpus -o b.parquet
runs a.parquet
summary a.parquet
variance a.parquet
history a.parquet
effects a.parquet --on seed
compare a.parquet b.parquet
targets a.parquet b.parquet
power a.parquet
scaling a.parquet b.parquet
score a.parquet
problems a.parquet
filter a.parquet -o c.parquet
export a.parquet -o a.csv
export a.parquet -o logs
report a.parquet b.parquet -o page.html
plot speedups a.parquet b.parquet -o speedups.svg
'''
for command in commands.strip().splitlines():
    try:
        app(command.split())
    except SystemExit as end:
        assert not end.code, command
"""


def without(absent: Sequence[str], code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = WITHOUT.format(absent=set(absent)) + code
    path = f"import sys; sys.path[:] = {sys.path!r}\n"
    return python("-c", path + program, cwd=cwd)


def test_every_command_works_where_only_the_core_is_installed(
    two_systems: Path, tmp_path: Path
) -> None:
    absent = ["torch", "sklearn", "distributed"]
    process = without(absent, COMMANDS.format(logs=two_systems), tmp_path)
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "page.html").read_text("utf-8").endswith("</html>\n")
