"""Mutations of a log: each takes a random generator, a log and another one."""

from __future__ import annotations

import random
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes, bytes], bytes]

NUMBERS = (b"1e308", b"1e999", b"-1e308", b"9" * 400, b"9" * 5_000, b"0x1f", b"1_0", b"-0", b"00.7")
WORDS = (
    b"NaN",
    b"-Infinity",
    b"null",
    b"None",
    b"True",
    b"''",
    b'"\\ud800"',
    b"{}",
    b"[[]]",
    b"...",
)
TOKENS = (
    b":::MLLOG ",
    b":::MLL ",
    b":::MLPv0.5.0 ",
    b":::ML",
    b"\r",
    b"\n",
    b"\x00",
    b"\xff",
    b"\t",
)


def cut(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """End the log anywhere."""
    return log[: rng.randrange(len(log) + 1)]


def drop(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Lose some bytes in the middle."""
    start = rng.randrange(len(log) + 1)
    return log[:start] + log[start + rng.randrange(1, 80) :]


def swap(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Exchange two lines."""
    lines = log.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def flip(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Change a few bytes into any others."""
    changed = bytearray(log)
    for _ in range(rng.randrange(1, 9) if log else 0):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def splice(rng: random.Random, log: bytes, donor: bytes) -> bytes:
    """Continue with another log in the middle of a line."""
    return log[: rng.randrange(len(log) + 1)] + donor[rng.randrange(len(donor) + 1) :]


def repeat(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Repeat a piece many times."""
    start = rng.randrange(len(log) + 1)
    piece = log[start : start + rng.randrange(1, 300)]
    return log[:start] + piece * rng.randrange(2, 40) + log[start:]


def shuffle(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Put all lines in another order."""
    lines = log.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def glue(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Lose a line end."""
    at = log.find(b"\n", rng.randrange(len(log) + 1))
    return log if at < 0 else log[:at] + log[at + 1 :]


def insert(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Insert a token, or a byte that is no text, anywhere."""
    at = rng.randrange(len(log) + 1)
    return log[:at] + rng.choice(TOKENS) + log[at:]


def replace_value(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Write a huge number or a word where a number or a null stood."""
    at = log.find(rng.choice((b": ", b"\t")), rng.randrange(len(log) + 1)) + 2
    end = next((i for i in range(at, len(log)) if log[i] in b",}\n\t"), len(log))
    return log[:at] + rng.choice(NUMBERS + WORDS) + log[end:]


def nest(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Write a deeply nested value, closed or not."""
    depth = rng.choice((10, 400, 990, 1_500, 20_000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"-", b"")))
    deep = opening * depth + b"1" + closing * (depth if rng.random() < 0.7 else 0)
    at = log.find(b": ", rng.randrange(len(log) + 1)) + 2
    return log[:at] + deep + log[at:]


def stretch(rng: random.Random, log: bytes, _donor: bytes) -> bytes:
    """Make a line long with one character."""
    at = rng.randrange(len(log) + 1)
    letters = (b"a", b" ", b"\t", b"(", b"{", b'"', b"\\", b"9", b":", b",", b"\r", b"_", b"a.")
    return log[:at] + rng.choice(letters) * rng.choice((100, 5_000, 50_000)) + log[at:]


#: All ways, the long ones more rarely.
WAYS: tuple[Mutation, ...] = (
    *(cut, drop, swap, flip, splice, repeat, shuffle, glue, insert, replace_value) * 3,
    *(nest, stretch),
)


def mutilate(rng: random.Random, logs: list[bytes]) -> tuple[str, bytes]:
    """Return a log after one to three mutations, and their names."""
    log, names = rng.choice(logs), []
    for _ in range(rng.choice((1, 1, 2, 3))):
        way = rng.choice(WAYS)
        log = way(rng, log, rng.choice(logs))
        names.append(way.__name__)
    return "+".join(names), log
