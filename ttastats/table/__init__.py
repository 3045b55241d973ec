"""The table of runs and evaluations: its columns, and the Parquet files that hold it.

It imports base.
"""
