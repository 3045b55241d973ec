"""Are the images of CIFAR-10 read alike from both versions, and is a harmful file refused?"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trainer.runs import curve, names_of, recipe, small, trained
from ttastats.base.errors import TtastatsError
from ttastats.trainer.network import steps_per_epoch
from ttastats.trainer.settings import Overrides, complete_settings

cifar10 = names_of("cifar10")
TRAIN_NAMES = [f"data_batch_{number}" for number in range(1, 6)]
PER_FILE = 20


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 256, (PER_FILE, 3072), dtype=np.uint8),
        rng.integers(0, 10, PER_FILE),
    )


def write_binary(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for seed, name in enumerate([*TRAIN_NAMES, "test_batch"]):
        pixels, labels = samples(seed)
        records = np.concatenate([labels[:, None].astype(np.uint8), pixels], axis=1)
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    return folder


def write_python(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for seed, name in enumerate([*TRAIN_NAMES, "test_batch"]):
        pixels, labels = samples(seed)
        fields = {b"data": pixels, b"labels": labels.tolist(), b"batch_label": b"x"}
        (folder / name).write_bytes(pickle.dumps(fields, protocol=2))
    return folder


def test_both_versions_hold_the_same_images(tmp_path: Path) -> None:
    write_binary(tmp_path / "one" / "cifar-10-batches-bin")
    write_python(tmp_path / "two" / "cifar-10-batches-py")
    binary, python = (cifar10.read_images(tmp_path / name) for name in ("one", "two"))
    assert binary.train_inputs.shape == (5 * PER_FILE, 3, 32, 32)
    assert binary.eval_inputs.shape == (PER_FILE, 3, 32, 32)
    assert all(map(torch.equal, binary.tensors, python.tensors))
    assert len(binary.notes) == 2
    assert "100 images where CIFAR-10 has 50,000" in binary.notes[0]


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (tmp_path / "harm",))  # type: ignore[return-value]

    folder = write_python(tmp_path / "py")
    (folder / "data_batch_3").write_bytes(pickle.dumps({b"data": Harmful(), b"labels": []}))
    with pytest.raises(TtastatsError, match="which no array needs") as caught:
        cifar10.read_images(folder)
    assert caught.value.where == str(folder / "data_batch_3")
    assert not (tmp_path / "harm").exists()


UNLABELLED = {b"data": samples(0)[0], b"labels": [1, 2]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be unpickled"),
        (b"\x80\x04rubbish", "cannot be unpickled"),
        (pickle.dumps({b"data": 1}), "cannot be unpickled"),
        (pickle.dumps([1, 2]), "cannot be unpickled"),
        (pickle.dumps({}), "cannot be unpickled"),
        (pickle.dumps(UNLABELLED, 2), "20 images have 2 labels"),
        (pickle.dumps(UNLABELLED, 5), "20 images have 2 labels"),
    ],
)
def test_a_damaged_pickle_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(content)
    with pytest.raises(TtastatsError, match=message):
        cifar10.read_pickle(path)


def test_a_torn_file_a_missing_one_and_a_missing_folder_are_named(tmp_path: Path) -> None:
    folder = write_binary(tmp_path / "bin")
    (folder / "data_batch_2.bin").write_bytes(bytes(3072))
    with pytest.raises(TtastatsError, match="not a whole number of images"):
        cifar10.read_images(folder)
    (folder / "data_batch_2.bin").unlink()
    with pytest.raises(TtastatsError, match="No such file"):
        cifar10.read_images(folder)
    with pytest.raises(TtastatsError, match="contains neither"):
        cifar10.read_images(tmp_path)
    with pytest.raises(TtastatsError, match="--data DIR"):
        cifar10.read_images(None)


def test_training_on_either_version_gives_bitwise_the_same_curve(tmp_path: Path) -> None:
    folders = write_binary(tmp_path / "bin"), write_python(tmp_path / "py")
    options = [small(width=1, batch_size=40, data=str(folder)) for folder in folders]
    first, second, again = (
        trained(tmp_path / "logs", changes, recipe("cifar10"))[0]
        for changes in (*options, options[0])
    )
    assert len(curve(first)) == 2
    assert curve(first) == curve(second) == curve(again)
    assert first.outcome.notes
    assert '"data_note"' in first.log.read_text()


def test_augmented_images_keep_their_pixels() -> None:
    rng = torch.Generator().manual_seed(0)
    images = torch.arange(1.0, 2 * 3 * 32 * 32 + 1).reshape(2, 3, 32, 32)
    changed = cifar10.augment(images, rng)
    assert changed.shape == images.shape
    assert (changed == 0).sum(dim=(1, 2, 3)).tolist() == [3 * 64, 3 * 64]
    for before, after in zip(images, changed, strict=True):
        assert set(after.flatten().tolist()) <= set(before.flatten().tolist()) | {0.0}


def test_the_full_network_has_the_known_size() -> None:
    count = sum(p.numel() for p in cifar10.model(64).parameters())
    assert round(count / 1e6, 2) == 6.57


def test_the_last_partial_batch_is_left_out_as_in_the_original() -> None:
    settings = complete_settings(Overrides(device="cpu"), recipe("cifar10"), 0)
    assert steps_per_epoch(50_000, settings) == 97
