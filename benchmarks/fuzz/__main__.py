"""Mutilate logs, make up tables, and see what comes of them: `python benchmarks/fuzz --help`."""

import importlib
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    # Tables of a few rows: threads would cost more than they do.
    os.environ |= {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # Python puts the folder it runs on the path, not the one its modules are named from.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    command = importlib.import_module("benchmarks.fuzz.command")
    raise SystemExit(command.main(sys.argv[1:]))
