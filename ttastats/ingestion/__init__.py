"""From logs to one table: which files, how they are opened, by which dialect, in which process.

It imports base, table, formats, traces, outcomes and the parsers.
"""
