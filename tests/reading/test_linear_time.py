"""Files that are almost like those of a preset, and patterns of many wildcards: in little time."""

from __future__ import annotations

import random
import re

import pytest

from tests.made_logs import write
from tests.programs import cpu_limit
from tests.reading.asking import ask
from ttastats.base.errors import TtastatsError
from ttastats.formats import config, patterns
from ttastats.formats.config import Preset

PRESETS = [preset for preset in config.load_presets().values() if preset.signs]
#: What an expression repeats, any of or leaves open.
_OPEN = re.compile(r"\(\?P?(?:<\w+>|:)?|\\[AdswSWDbz]|\[[^\]]*\]|\{[\d,]+\}|[.*+?^$()|\\]+")


def pieces_of(preset: Preset) -> list[str]:
    """Return the texts that a preset looks for, and those within its expressions."""
    assert preset.signs is not None
    parts = [part for head in preset.signs.head for part in _OPEN.split(head)]
    return [part for part in (*preset.signs.holds, *parts) if part.strip()]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_no_repeated_piece_of_a_preset_holds_up_its_recognition(preset: Preset) -> None:
    draw = random.Random(preset.name)
    pieces = pieces_of(preset)
    holds = "".join(preset.signs.holds if preset.signs else ())
    texts = ["".join(piece * 2_000 for piece in pieces)]
    for _ in range(20):
        drawn = draw.sample(pieces, min(len(pieces), draw.randint(1, 4)))
        mark = draw.choice(["1", " ", "1\n", ": 1,", '": 1, "', "\t"])
        first = draw.choice(["", "{", pieces[0], "epoch,"])
        texts.append(first + "".join(f"{piece}{mark}" * 2_000 for piece in drawn) + holds)
    with cpu_limit(4.0):
        for text in texts:
            config.matching_presets(text.encode(), "/logs/run/vis_data/a.json")


def test_no_preset_is_taken_for_a_line_that_repeats_the_keys_of_another() -> None:
    lr = '{"lr": 1' + ' "time": 1' * 1500 + ' "iter": 1' * 1500 + ' "data_time": "step": "}'
    root = " - root - INFO - \n" + "step: 1 loss: " * 5000
    history = '{"_step": 1, "_timestamp": 1, ' + '"_runtime": 1 ' * 30_000
    with cpu_limit(2.0):
        for text in (lr, root, history):
            assert not config.matching_presets(text.encode(), "/logs/a.log")


@pytest.mark.parametrize("wild", ["*a", "{n%d}", "**/a", "**a", "*?", "a*{seed}"])
def test_a_pattern_of_many_wildcards_takes_little_time(wild: str) -> None:
    pattern = "".join(wild % number if "%" in wild else wild for number in range(40)) + "c.csv"
    with cpu_limit(4.0):
        for path in (f"{'a' * 900}b.csv", f"{'a/' * 450}b.csv", f"{'1a' * 450}b.csv"):
            assert patterns.match_path(pattern, path) is None


def test_a_name_takes_as_much_as_it_can_and_stands_for_one_text() -> None:
    draw = random.Random(5)
    for _ in range(50):
        entry, run = (draw.choice(["adam", "big_net", "x", "a_1_b"]) for _ in range(2))
        seed = draw.randrange(100)
        path = f"{entry}/{run}_{seed}.csv"
        assert patterns.match_path("{entry}/{run}_{seed}.csv", path) == {
            "entry": entry, "run": run, "seed": str(seed)
        }  # fmt: skip
        same = patterns.match_path("{entry}/{entry}_{seed}.csv", path)
        assert same == ({"entry": entry, "seed": str(seed)} if entry == run else None)


@pytest.mark.parametrize("toml", ['[[logs]]\npreset = ["keras"]\n', "[[logs]]\npreset = {a = 1}\n",
                                  "a=" + "[" * 100_000])  # fmt: skip
def test_a_preset_that_is_no_text_or_brackets_without_end_are_an_error(toml: str) -> None:
    with pytest.raises(TtastatsError, match=r"unknown preset|nested too deeply"):
        config.blocks(toml, "ttastats.toml", "/logs")


def test_such_a_file_holds_up_no_command(tmp_path_factory: pytest.TempPathFactory) -> None:
    line = '{"lr": 1' + ' "time": 1' * 1500 + ' "iter": 1' * 1500 + "}"
    files = {"a.json": line, "b/a.csv": "step,val_acc\n1,0.5\n"}
    folder = write(tmp_path_factory.mktemp("logs"), files)
    with cpu_limit(10.0):
        answer = ask("runs", folder, "--guess")
    assert len(answer.rows) == 1
