"""Two examples for the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "guess": ("guess logs", "guess logs -o logs/ttastats.toml"),
    "ingest": (
        "ingest logs -o runs.parquet",
        "ingest logs --metric 'val_loss <= 3.4' --seconds 'elapsed s'",
    ),
    "runs": (
        "runs runs.parquet --where reached=no",
        "runs runs.parquet --format csv > runs.csv",
    ),
    "summary": (
        "summary runs.parquet --sort -cv --top 5",
        "summary runs.parquet --by system --target 75%",
    ),
    "rank": (
        "rank runs.parquet --where benchmark=llama2_70b_lora",
        "rank runs.parquet --mine supermicro --top 0",
    ),
    "variance": ("variance runs.parquet", "variance runs.parquet --where benchmark=resnet"),
    "compare": (
        "compare a.parquet b.parquet",
        "compare runs/adam runs/sgd --fail-on slower:2%",
    ),
    "claim": (
        "claim runs.parquet --quality 'val_loss <= 3.28'",
        "claim runs.parquet --seconds '<= 80'",
    ),
    "targets": ("targets runs.parquet", "targets a.parquet b.parquet --metric val_loss"),
    "report": (
        "report a.parquet b.parquet -o answer.html",
        "report runs.parquet --where benchmark=resnet",
    ),
    "plot": (
        "plot speedups a.parquet b.parquet -o speedups.pdf",
        "plot quality-time runs.parquet -o curves.svg --width paper-page",
    ),
    "power": ("power runs.parquet --detect 5%", "power --cv 14% --detect 10%"),
    "scaling": ("scaling runs.parquet", "scaling runs.parquet --by benchmark,submitter"),
    "score": ("score runs.parquet", "score runs.parquet --where submitter=Example --top 5"),
    "rcp": ("rcp runs.parquet", "rcp runs.parquet --where benchmark=llama2_70b_lora -v"),
    "record": (
        "record a.parquet b.parquet --rules nanogpt-track-1",
        "record --rules list",
    ),
    "problems": ("problems runs.parquet", "problems runs.parquet --code no_run_stop"),
    "profile": ("profile digits", "profile trace.json.gz"),
    "export": ("export runs.parquet -o runs.csv", "export runs.parquet -o logs"),
    "filter": (
        "filter runs.parquet --where benchmark=resnet -o resnet.parquet",
        "filter old.parquet new.parquet -o all.parquet",
    ),
    "train": ("train --emit-log --runs 5", "train my_workload.py --emit-log logs"),
    "sweep": (
        "sweep --batch-size 32,512 --runs 5 --emit-log logs",
        "sweep --precision fp32,bf16 --until-decided",
    ),
}
