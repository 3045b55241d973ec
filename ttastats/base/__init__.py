"""What every other folder uses: errors, units, records of runs, benchmarks, writing files.

It imports no other folder.
"""
