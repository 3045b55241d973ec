"""How often does `history` raise a false alarm, and how soon is a change found? With its peer.

    python benchmarks/history.py alarms [SERIES]     rates of false alarms of one series, by limit
    python benchmarks/history.py find [SERIES]       nights to a change, not found in 20, in 60
    python benchmarks/history.py otava [SERIES]      the same of Apache Otava, where it is installed

Series have 100 nights with noise of standard deviation 1. Sizes are in units of that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

NIGHTS, FIRST = 100, 10
#: Series made at a time.
_BATCH = 2_000


def noise(kind: str, rng: np.random.Generator, series: int) -> np.ndarray:
    x = rng.normal(size=(series, NIGHTS))
    if kind == "t3":
        x = rng.standard_t(3, size=x.shape) / np.sqrt(3)
    elif kind == "outliers":
        x = np.where(rng.random(x.shape) < 0.05, x + rng.exponential(6, x.shape), x)
    elif kind == "skewed":
        x = (rng.gamma(2, size=x.shape) - 2) / np.sqrt(2)
    elif kind == "three values":
        x = np.round(x)
    elif kind.startswith("alike "):
        r = float(kind.removeprefix("alike "))
        for night in range(1, NIGHTS):
            x[:, night] = r * x[:, night - 1] + np.sqrt(1 - r * r) * x[:, night]
    return x


def looks(x: np.ndarray) -> np.ndarray:
    """Return -log10 of the p value of each look, for many series."""
    from ttastats.stats import changes

    out = np.zeros(x.shape)
    for n in range(FIRST, x.shape[1] + 1):
        t = changes.split_statistics(changes.winsorised(x[:, :n]))[2].max(axis=1)
        out[:, n - 1] = -np.log10(2 * special.stdtr(n - 2, -t))
    return out


def peer(level: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return whether the last 40 nights of each series have a change point, by night; Otava."""
    from otava.analysis import compute_change_points  # in an environment of its own

    def by_night(x: np.ndarray) -> np.ndarray:
        out = np.zeros(x.shape)
        for row, series in enumerate(x.tolist()):  # an array gives it splits without a side
            for n in range(FIRST, len(series) + 1):
                points, _ = compute_change_points(series[:n], window_len=50, max_pvalue=level)
                out[row, n - 1] = 99.0 * bool(points)
                if points:  # an alarm stands
                    out[row, n - 1 :] = 99.0
                    break
        return out

    return by_night


def batches(series: int) -> Iterator[int]:
    yield from (min(_BATCH, series - start) for start in range(0, series, _BATCH))


KINDS = ("normal", "t3", "outliers", "skewed", "three values", "alike 0.2", "alike 0.4")


def alarms(
    by_night: Callable[[np.ndarray], np.ndarray], series: int, kinds: tuple[str, ...] = KINDS
) -> None:
    for kind in kinds:
        rng = np.random.default_rng(1)
        most = np.concatenate([by_night(noise(kind, rng, n)).max(1) for n in batches(series)])
        rates = {limit: round(100 * float((most > limit).mean()), 2) for limit in (4.6, 5.25)}
        exact = [round(float(np.quantile(most, 1 - share)), 2) for share in (0.01, 1 / 300)]
        print(
            f"{kind:<14} % above 10^-4.6, -5.25: {rates}; limits for 1, .33 %: {exact}", flush=True
        )


def find(by_night: Callable[[np.ndarray], np.ndarray], series: int, limit: float) -> None:
    for kind in ("normal", "outliers", "t3"):
        for size in (0.8, 1.6, 4.0):
            x = noise(kind, np.random.default_rng(2), series)
            x[:, 40:] += size
            alarm = by_night(x) > limit
            late = alarm[~alarm[:, :40].any(1)][:, 40:]
            nights = np.where(late.any(1), late.argmax(1) + 1, 99)
            print(
                f"{kind:<9} {size} sigma: median {np.median(nights):.0f} nights, not in 20 "
                f"{(nights > 20).mean():.2f}, not in 60 {(nights > 60).mean():.2f}, alarm before "
                f"{alarm[:, :40].any(1).mean():.2f}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    task, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if task == "alarms":
        alarms(looks, count or 20_000)
    elif task == "find":
        find(looks, count or 1_000, 4.6)
    else:
        alarms(peer(1e-5), count or 200, ("normal", "t3", "outliers", "alike 0.4"))
        alarms(peer(1e-3), count or 200, ("normal",))
        find(peer(1e-5), count or 200, 4.6)
