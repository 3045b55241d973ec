"""Which module of Python's library is a line of code from? Text classification.

The lines come with Python, so that another version of it is another task. Every fifth is held out.

    ttastats train examples/workloads/modules.py --runs 5 --emit-log logs
    ttastats sweep examples/workloads/modules.py --set lr=0.002,0.02 --emit-log sweep
"""

import argparse
import inspect
import re
import statistics
import tarfile
import zlib

import torch
from torch import nn

from ttastats.trainer.workloads.contract import Data, Recipe

RECIPE = Recipe(
    metric="accuracy", higher_is_better=True, target=0.88, epochs=20, batch_size=64,
    optimizer="adamw", lr=0.005, width=16, words=4096, longest=16,
)  # fmt: skip


def data(words, longest):
    lines = [
        (re.findall(r"\w+|[^\w\s]", line)[:longest], label)
        for label, module in enumerate((argparse, statistics, tarfile))
        for line in inspect.getsource(module).splitlines()
        if len(line) > 20
    ]
    numbers = torch.zeros(len(lines), longest, dtype=torch.long)  # 0 stands for no word
    for row, (line, _) in enumerate(lines):
        for place, word in enumerate(line):
            numbers[row, place] = 1 + zlib.crc32(word.encode()) % (words - 1)
    labels = torch.tensor([label for _, label in lines])
    held_out = torch.arange(len(lines)) % 5 == 0
    return Data(numbers[~held_out], labels[~held_out], numbers[held_out], labels[held_out])


def model(width, words):
    return nn.Sequential(nn.EmbeddingBag(words, width, padding_idx=0), nn.Linear(width, 3))
