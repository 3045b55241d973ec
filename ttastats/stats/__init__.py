"""Statistics as pure functions of arrays.

It imports no other folder.
"""
