"""The reference trainer: fresh runs whose logs say how fast a quality target was reached.

Only this package imports torch, when a command runs. It imports the API and what that imports.
"""

#: The module of each built-in workload. Without torch, for the command line.
BUILT_IN = {
    "digits": "ttastats.trainer.workloads.digits",
    "digits-lm": "ttastats.trainer.workloads.digits_lm",
    "gpt": "ttastats.trainer.workloads.gpt",
    "cifar10": "ttastats.trainer.workloads.cifar10",
    "airbench94": "ttastats.trainer.workloads.airbench94",
    "airbench96": "ttastats.trainer.workloads.airbench96",
}
