"""Write the logs of two made-up systems that show why throughput is not time-to-accuracy.

Eight GPUs with eight times the batch finish an epoch four times as fast, and need about twice as
many epochs; one of their runs never gets there. Nothing was measured: the numbers are chosen.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from ttastats.recording.run_log import event_line

HERE = Path(__file__).parent / "Example"
START_MS = 1_767_225_600_000  # 1 January 2026, UTC
TARGET, BUDGET = 0.97, 30
SYSTEMS = {
    # name: (accelerators, global batch size, seconds per epoch, epochs to the target of each run)
    "one_gpu": (1, 64, 12.0, (9, 10, 11, 10, 9, 12, 10, 10, 11, 9)),
    "eight_gpus": (8, 512, 3.0, (19, 21, 18, 22, 20, 19, 21, 20, None, 18)),
}


def main() -> None:
    """Write every log and system description."""
    for system, (accelerators, batch, epoch_seconds, epochs) in SYSTEMS.items():
        folder = HERE / "results" / system / "digits"
        folder.mkdir(parents=True, exist_ok=True)
        for number, needed in enumerate(epochs):
            rng = random.Random(f"{system} {number}")
            lines = log(rng, number, batch, epoch_seconds, needed)
            (folder / f"result_{number}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        description = {
            "submitter": "Example",
            "division": "open",
            "system_name": system,
            "number_of_nodes": 1,
            "accelerators_per_node": accelerators,
            "accelerator_model_name": "Example GPU",
            "framework": "Example 1.0",
        }
        path = HERE / "systems" / f"{system}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(description, indent=2) + "\n", "utf-8")


def log(
    rng: random.Random, number: int, batch: int, epoch_seconds: float, needed: int | None
) -> list[str]:
    """Return the lines of one run that meets its target after `needed` epochs, or never."""
    clock = START_MS + number * 3_600_000

    def event(key: str, value: object = None, **metadata: object) -> str:
        return "0: " + event_line("POINT_IN_TIME", clock, key, value, metadata).rstrip("\n")

    lines = [event("submission_benchmark", "digits"), event("submission_division", "open")]
    lines += [event("seed", 1000 + number), event("global_batch_size", batch)]
    lines.append(event("eval_target", TARGET, metric="accuracy", higher_is_better=True))
    lines += [event("init_start"), event("init_stop")]
    clock += 2_000
    lines.append(event("run_start"))
    pace = epoch_seconds * rng.gauss(0.9, 0.006)
    for epoch in range(1, (needed or BUDGET) + 1):
        lines.append(event("epoch_start", epoch_num=epoch))
        clock += round(1000 * pace * rng.gauss(1.0, 0.004))
        lines += [event("epoch_stop", epoch_num=epoch), f"epoch {epoch} done"]
        clock += round(1000 * epoch_seconds * 0.1)
        lines.append(event("eval_accuracy", quality(rng, epoch, needed), epoch_num=epoch))
    status = "success" if needed else "aborted"
    lines.append(event("run_stop", status=status))
    return lines


def quality(rng: random.Random, epoch: int, needed: int | None) -> float:
    """Return an accuracy that rises towards the target and meets it in epoch `needed` only."""
    if epoch == needed:
        return round(TARGET + rng.uniform(0.0005, 0.003), 4)
    risen = TARGET - 0.6 * 0.7**epoch - 0.004
    return round(risen + rng.uniform(-0.003, 0.003), 4)


if __name__ == "__main__":
    main()
