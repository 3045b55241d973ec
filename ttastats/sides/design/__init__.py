"""Does the way in which runs were made allow a verdict about them?

`side` says how the runs of a side were made, `checks` what that keeps from a comparison of times or
of values at a budget, `findings` what it does to a verdict.
"""
