"""Train a small classifier with two batch sizes, and record every run: `python examples/record`."""

from __future__ import annotations

import numpy as np

import ttastats as tta

RNG = np.random.default_rng(0)
TRUTH, SAMPLES = RNG.normal(size=200), RNG.normal(size=(12_000, 200))
CLASSES = np.where(SAMPLES @ TRUTH > 0, 1.0, -1.0)


def train(batch: int, seed: int, epochs: int = 60) -> None:
    """Train until 96 % of new samples are classified correctly, or the epochs are used up."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=200) / 5
    settings = {"benchmark": "halves", "metric": "accuracy", "target": 0.96, "seed": seed}
    with tta.record("logs", system=f"batch-{batch}", global_batch_size=batch, **settings) as run:
        for epoch in range(1, epochs + 1):
            for indices in rng.permutation(10_000).reshape(-1, batch):
                wrong = CLASSES[indices] - np.tanh(SAMPLES[indices] @ weights)
                weights += 0.01 * wrong @ SAMPLES[indices] / batch
            guesses = np.sign(SAMPLES[10_000:] @ weights)
            if run.evaluation(np.mean(guesses == CLASSES[10_000:]), epoch=epoch):
                break


if __name__ == "__main__":
    for number in range(1, 6):
        train(50, number)
        train(250, number)
