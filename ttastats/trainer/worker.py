"""What does one worker that `--workers` started do? `python -m ttastats.trainer.worker JOB`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ttastats import atomic
from ttastats.errors import TtastatsError
from ttastats.trainer import launch, progress, session

#: How often a worker looks whether it was left alone.
_LOOK_SECONDS = 1.0


def main() -> None:
    """Make the runs of a job; the first worker answers with them, or with what went wrong."""
    threading.Thread(target=_follow_parent, args=(launch.starter(),), daemon=True).start()
    job = launch.job_from_text(Path(sys.argv[1]).read_text("utf-8"))
    leads = os.environ.get("RANK") == "0"
    answer: dict[str, Any]
    try:
        with progress.watcher() as watcher:
            made = session.run_all(job.planned, watcher, write_dawnbench=job.dawnbench)
        answer = {"made": [session.made_as_plain(one) for one in made]}
    except TtastatsError as error:
        answer = {"error": {"what": error.what, "where": error.where, "remedy": error.remedy}}
    except Exception:
        if leads:
            raise
        sys.exit(1)  # the first worker met the same, or has left, and says why
    if leads:
        atomic.write_text(job.answer, json.dumps(answer))
    sys.stdout.flush()
    sys.stderr.flush()
    # gloo's threads now and then abort a process that winds down in the usual way.
    os._exit(0)


def _follow_parent(parent: int) -> None:
    """Ask this worker to stop when the process that started it is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
