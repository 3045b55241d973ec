"""What does each dependency cost? Measures an install and renews the table in CONTRIBUTING.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PAGE = HERE / "CONTRIBUTING.md"
#: A row of the table: package, what is imported of it, purpose, MB, ms.
ROW = re.compile(r"^\| `(?P<package>[\w.-]+)` \| `(?P<module>[\w.]+)` \| [^|]+ \|.*$")
TOTAL = re.compile(r"\d+ MB in total")

#: Runs in the new environment. A package is told with what it alone brings, without bytecode.
SIZES = """
import importlib.metadata, json, re, sys
plain = lambda name: re.sub("[-_.]+", "-", name).lower()
found = {plain(each.name): each for each in importlib.metadata.distributions()}
needs = {name: {plain(re.match(r"[\\w.-]+", line)[0]) for line in each.requires or ()
                if "extra ==" not in line} & set(found) for name, each in found.items()}
size = {name: sum(path.locate().stat().st_size for path in each.files or ()
                  if path.locate().exists()) for name, each in found.items()}
direct = needs["ttastats"]
def brought(name):
    reached = {name}
    while more := set().union(*(needs[one] for one in reached)) - reached - direct:
        reached |= more
    return reached
by = {name: brought(name) for name in direct}
alone = {name: sum(size[one] for one in own if sum(one in other for other in by.values()) == 1)
         for name, own in by.items()}
everything = sum(size[one] for one in set().union(*by.values())) + size["ttastats"]
print(json.dumps({"alone": alone, "all": everything}))
"""
TIME = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"


def main() -> None:
    """Install the checkout into a new environment, and write what that costs."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-compile", HERE], check=True)
        sizes = json.loads(_stdout(python, SIZES))

        def measured(row: re.Match[str]) -> str:
            code = TIME.format(row["module"])
            seconds = min(float(_stdout(python, code)) for _ in range(5))
            size = sizes["alone"][row["package"]] / 1e6
            start = row[0].rsplit("|", 3)[0]
            return f"{start}| {size:.1f} | {1000 * seconds:.0f} |"

        text = "\n".join(ROW.sub(measured, line) for line in PAGE.read_text("utf-8").splitlines())
    text = TOTAL.sub(f"{sizes['all'] / 1e6:.0f} MB in total", text)
    PAGE.write_text(text + "\n", "utf-8")


def _stdout(python: Path, code: str) -> str:
    command = [python, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout


if __name__ == "__main__":
    sys.exit(main())
