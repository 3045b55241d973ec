"""One module or folder for each command: the rows, notes and sentences of its answer.

It imports sides, report, traces and what these import.
"""
