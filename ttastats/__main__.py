"""Runs the command line: `python -m ttastats`."""

from ttastats.cli import main

if __name__ == "__main__":
    main()
