"""Change the code and see whether a test fails: `python benchmarks/mutation --help`."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts the folder it runs on the path, not the one its modules are named from.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    command = importlib.import_module("benchmarks.mutation.command")
    raise SystemExit(command.main(sys.argv[1:]))
