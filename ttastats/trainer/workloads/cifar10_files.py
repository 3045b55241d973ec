"""What do the files of CIFAR-10 hold, in the binary and in the Python version?

The Python version is pickled, and unpickling runs whatever a file asks for; the files are the
user's, so that only the few names NumPy arrays are made of are let through.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ttastats.base.errors import TtastatsError
from ttastats.trainer.workloads.contract import Data

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
    """Reads arrays and plain values, and nothing that can act."""

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
