"""The reference trainer: fresh runs whose logs say how fast a quality target was reached.

Only this package imports torch, when a command runs. It imports the API and what that imports.
"""

#: The module of each built-in workload. Without torch, for the command line.
BUILT_IN = {
    "digits": "ttastats.trainer.workloads.digits",
    "digits-small": "ttastats.trainer.workloads.digits_small",
    "digits-lm": "ttastats.trainer.workloads.digits_lm",
}
