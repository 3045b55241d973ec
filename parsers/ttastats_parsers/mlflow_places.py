"""Where does what lie in MLflow's file store?"""

from __future__ import annotations

from pathlib import PurePosixPath

META = "meta.yaml"
PARTS = frozenset({"metrics", "params", "tags"})
_ID_LENGTH = 32
_ID_LETTERS = frozenset("0123456789abcdef")


def run_folder(path: str) -> PurePosixPath | None:
    """Return the folder of the run that a metric, a parameter or a tag belongs to."""
    if not ("/metrics/" in path or "/params/" in path or "/tags/" in path):  # asked of every file
        return None
    parts = PurePosixPath(path).parts
    for number in range(1, len(parts) - 1):
        run = parts[number - 1]
        if parts[number] in PARTS and len(run) == _ID_LENGTH and _ID_LETTERS.issuperset(run):
            return PurePosixPath(*parts[:number])
    return None
