"""What every other folder uses: errors, units, records of runs, benchmarks, writing files.

It imports no other folder.
"""

__version__ = "0.1.0"
