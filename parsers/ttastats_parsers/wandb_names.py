"""The names that W&B gives to files of a run."""

HISTORY_FILE = "wandb-history.jsonl"
SUMMARY_FILE = "wandb-summary.json"
