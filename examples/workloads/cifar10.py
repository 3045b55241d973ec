"""How fast does a nine-layer residual network reach DAWNBench's 94 % on CIFAR-10?

The recipe is that of David Page's cifar10-fast, DAWNBench 2018: batch 512, learning rate 0 to 0.4
at epoch 5 and back to 0 at epoch 24, crops, mirror images and an 8x8 hole; the 336 images that are
left over make no batch. Its author counted 35 of 50 runs that reached 94 %, with a median of
94.08 %: expect three runs of ten to fail. Not yet run on a GPU; one epoch takes many minutes on a
CPU core. The original was not compiled; its published seconds leave out evaluation.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec.structs import replace
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ttastats.base.errors import TtastatsError
from ttastats.trainer.workloads.contract import Data, LearningRate, Recipe

RECIPE = Recipe(
    metric="accuracy",
    higher_is_better=True,
    target=0.94,
    epochs=24,
    schedule_epochs=24,
    warmup_epochs=5.0,
    batch_size=512,
    drop_last=True,
    width=64,
    optimizer="sgd",
    learning_rates={
        "sgd": LearningRate(0.4, 512, "linear", 5e-4),
        "adamw": LearningRate(2e-3, 512, "sqrt", 1e-2),
    },
    train_samples=50_000,
    eval_samples=10_000,
)

_SIDE, _MARGIN, _HOLE = 32, 4, 8
_SOURCE = "https://www.cs.toronto.edu/~kriz/cifar.html"
_RECORD = 1 + 3 * 32 * 32  # a label and the pixels of three colours
_TRAIN_SAMPLES, _TEST_SAMPLES = 50_000, 10_000
_FOLDERS = (".", "cifar-10-batches-bin", "cifar-10-batches-py")
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.numeric", "_frombuffer"),  # by protocol 5, the usual one from Python 3.14 on
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}

Samples = tuple[NDArray[np.uint8], NDArray[np.int64]]


def check(folder: Path | None) -> None:
    """Raise an error if a folder does not hold the files of CIFAR-10."""
    find_files(folder)


def data(folder: Path | None, device: torch.device) -> Data:
    """Return the images, standardised per channel by the training part alone."""
    images = read_images(folder)
    train = images.train_inputs.to(device).float()  # bytes are a quarter of what they become
    test = images.eval_inputs.to(device).float()
    mean = train.mean(dim=(0, 2, 3), keepdim=True)
    deviation = train.std(dim=(0, 2, 3), keepdim=True)
    train, test = (train - mean) / deviation, (test - mean) / deviation
    return replace(images, train_inputs=train, eval_inputs=test, raw=images.tensors)


def read_images(folder: Path | None) -> Data:
    """Return the images of CIFAR-10 in a folder, in the binary or the Python version.

    Inputs are pixels, (samples, 3, 32, 32) bytes, and targets the numbers of classes.
    """
    train_paths, test_path, read_file = find_files(folder)
    parts = zip(*map(read_file, train_paths), strict=True)
    train, test = tuple(map(np.concatenate, parts)), read_file(test_path)
    notes = [
        f"{part} part: {len(samples[1]):,} images where CIFAR-10 has {expected:,}"
        for part, samples, expected in (
            ("training", train, _TRAIN_SAMPLES),
            ("test", test, _TEST_SAMPLES),
        )
        if len(samples[1]) != expected
    ]
    x, y, eval_x, eval_y = (torch.from_numpy(np.ascontiguousarray(p)) for p in (*train, *test))
    return Data(x, y, eval_x, eval_y, tuple(notes))


def find_files(folder: Path | None) -> tuple[Sequence[Path], Path, Callable[[Path], Samples]]:
    """Return the training files, the test file, and the function that reads either."""
    if folder is None:
        raise TtastatsError(
            "needs the images",
            where="CIFAR-10",
            remedy=f"Download a version from {_SOURCE} and pass its folder: --data DIR",
        )
    for name in _FOLDERS:
        place = folder / name
        for ending, read_file in ((".bin", read_binary), ("", read_pickle)):
            test = place / f"test_batch{ending}"
            if test.is_file():
                train = [place / f"data_batch_{number}{ending}" for number in range(1, 6)]
                return train, test, read_file
    raise TtastatsError(
        "contains neither test_batch.bin nor test_batch",
        where=str(folder),
        remedy=f"Give the unpacked folder of a version from {_SOURCE}",
    )


def read_binary(path: Path) -> Samples:
    """Return the images of a binary file: records of a label and 3,072 pixels."""
    content = np.frombuffer(_file_content(path), dtype=np.uint8)
    if not content.size or content.size % _RECORD:
        raise _damaged_error(path, f"{content.size:,} bytes are not a whole number of images")
    records = content.reshape(-1, _RECORD)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def read_pickle(path: Path) -> Samples:
    """Return the images of a file of the Python version."""
    content = _file_content(path)
    try:
        fields = _ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
        pixels = np.asarray(fields[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32)
        labels = np.asarray(fields[b"labels"], dtype=np.int64)
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError) as error:
        raise _damaged_error(path, f"cannot be unpickled: {error}") from error
    if len(labels) != len(pixels):
        raise _damaged_error(path, f"{len(pixels):,} images have {len(labels):,} labels")
    return pixels, labels


class _ArrayUnpickler(pickle.Unpickler):
    """Reads arrays and plain values, and nothing that can act.

    Unpickling runs whatever a file asks for: only the names NumPy arrays are made of are let
    through.
    """

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no array needs")
        # The name of 2009, when the files were made, under which NumPy warns today.
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _file_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _damaged_error(path, error.strerror or str(error)) from error


def _damaged_error(path: Path, what: str) -> TtastatsError:
    return TtastatsError(what, where=str(path), remedy=f"Download it again from {_SOURCE}")


def dummy(samples: int) -> tuple[Tensor, Tensor]:
    """Return random samples of the right shape."""
    return torch.randn(samples, 3, _SIDE, _SIDE), torch.zeros(samples, dtype=torch.long)


def augment(inputs: Tensor, rng: torch.Generator) -> Tensor:
    """Return images randomly cropped, mirrored, and with a square cut out."""
    mirrored = torch.rand(len(inputs), generator=rng, device=inputs.device) < 0.5
    return cut_out(mirror_and_crop(inputs, mirrored, _MARGIN, rng), _HOLE, rng)


def mirror_and_crop(images: Tensor, mirrored: Tensor, margin: int, rng: torch.Generator) -> Tensor:
    """Return images, some of them mirrored, each cropped at random from a reflected margin."""
    samples, device = len(images), images.device
    corner = torch.randint(0, 2 * margin + 1, (2, samples, 1, 1), generator=rng, device=device)
    along = torch.arange(_SIDE, device=device)
    rows, columns = along[:, None].expand(samples, -1, 1), along.expand(samples, 1, -1)
    columns = torch.where(mirrored[:, None, None], _SIDE - 1 - columns, columns)
    padded = functional.pad(images, (margin,) * 4, mode="reflect").permute(0, 2, 3, 1)
    which = torch.arange(samples, device=device)[:, None, None]
    return padded[which, corner[0] + rows, corner[1] + columns].permute(0, 3, 1, 2)


def cut_out(images: Tensor, side: int, rng: torch.Generator) -> Tensor:
    """Return images with a random square set to zero."""
    samples, device = len(images), images.device
    hole = torch.randint(0, _SIDE - side + 1, (2, samples, 1, 1), generator=rng, device=device)
    along = torch.arange(_SIDE, device=device)
    in_rows = (along[:, None] >= hole[0]) & (along[:, None] < hole[0] + side)
    in_columns = (along >= hole[1]) & (along < hole[1] + side)
    return images.masked_fill((in_rows & in_columns)[:, None], 0.0)


def model(width: int) -> nn.Module:
    """Return the nine-layer network; width 64 has 6.6 million parameters."""
    return nn.Sequential(
        _convolution(3, width),
        _convolution(width, 2 * width),
        nn.MaxPool2d(2),
        _Residual(2 * width),
        _convolution(2 * width, 4 * width),
        nn.MaxPool2d(2),
        _convolution(4 * width, 8 * width),
        nn.MaxPool2d(2),
        _Residual(8 * width),
        nn.MaxPool2d(4),
        nn.Flatten(),
        nn.Linear(8 * width, 10, bias=False),
        _Scale(0.125),
    )


def _convolution(channels_in: int, channels_out: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


class _Residual(nn.Module):
    """Two convolutions, added to what came in."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            _convolution(channels, channels), _convolution(channels, channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.inner(x)
        return x + inner


class _Scale(nn.Module):
    """Softens the scores: without it the peak learning rate of 0.4 is too high."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor
