"""The reference trainer: fresh runs whose logs say how fast a quality target was reached.

Only this package imports torch, when a command runs. It imports the API and what that imports.
"""
