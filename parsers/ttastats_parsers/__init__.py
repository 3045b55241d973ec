"""The log formats ttastats reads, one module each."""

#: Modules of this package that are dialects. A new format adds its name here.
BUILTIN = (
    "mlperf_v05", "mlperf_mll", "mlperf_mllog", "dawnbench", "hf_trainer", "tfevents", "wandb",
    "mlflow", "mlflow_db", "mlflow_table", "optuna", "evaluations_npz", "sb3_monitor", "allennlp",
    "hyperfine", "pytest_benchmark", "times_table", "exported_rows",
)  # fmt: skip
