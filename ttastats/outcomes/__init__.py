"""One row a run: which runs, at which target, when it was reached, what was counted.

It imports base and table.
"""
