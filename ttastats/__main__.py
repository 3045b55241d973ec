"""Runs the command line: `python -m ttastats`, and the program `ttastats`.

A process that is started to read logs begins by importing what the program was started from, so
nothing is imported here before it is needed.
"""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; the collector walks the libraries of this short process less often."""
    import gc

    gc.set_threshold(100_000)
    from ttastats.cli import main as run

    run()


if __name__ == "__main__":
    main()
