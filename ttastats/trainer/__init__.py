"""The reference trainer: fresh runs whose logs say how fast a quality target was reached.

Only this package and `ttastats.profiler` import torch, when a command runs.
"""
