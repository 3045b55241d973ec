"""Which workloads are built in, and in which module? Without torch, for the command line."""

BUILT_IN = {
    "digits": "ttastats.trainer.workloads.digits",
    "digits-lm": "ttastats.trainer.workloads.digits_lm",
    "gpt": "ttastats.trainer.workloads.gpt",
    "cifar10": "ttastats.trainer.workloads.cifar10",
    "airbench94": "ttastats.trainer.workloads.airbench94",
    "airbench96": "ttastats.trainer.workloads.airbench96",
}
