"""The reference trainer: fresh runs whose logs say how fast a quality target was reached.

Only this package imports torch. `ttastats.cli.train` imports it when a command runs.
"""
