"""The logs that are mutilated: the fixtures, and cuttings of the public logs."""

from __future__ import annotations

import random
from pathlib import Path

#: Lines of one cutting, and bytes of one of its lines: enough for a run, quick to read again.
LINES = 40
LONGEST = 2_000


def fixtures(root: Path) -> list[bytes]:
    """Return the fixtures of every dialect whose logs are text."""
    paths = sorted(path for path in (root / "fixtures").rglob("*") if path.is_file())
    logs = (path.read_bytes() for path in paths if not path.name.endswith(".expected.jsonl"))
    return [log for log in logs if b"\0" not in log]


def cuttings(data: Path, rng: random.Random, number: int) -> list[bytes]:
    """Return short versions of some public logs, chosen at random."""
    files = sorted(path for path in data.rglob("*") if path.is_file())
    texts = (cutting(path.read_bytes(), rng) for path in rng.sample(files, min(number, len(files))))
    return [text for text in texts if text]


def cutting(content: bytes, rng: random.Random) -> bytes:
    """Return the lines that make a run, some others, and a little of the output between them."""
    lines = [line[:LONGEST] for line in content.split(b"\n")]
    telling = [i for i, line in enumerate(lines) if b"run_st" in line or b"submission_b" in line]
    scores = [i for i, line in enumerate(lines) if b"eval_acc" in line][:10]
    sampled = rng.sample(range(len(lines)), min(LINES // 2, len(lines)))
    numbers = sorted({0, *telling[:8], *scores, *sampled})
    return b"\n".join(lines[i] for i in numbers) + b"\n"
