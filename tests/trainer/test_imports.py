"""Is a workload also what it imports from the files beside it?"""

from __future__ import annotations

from pathlib import Path

from ttastats.trainer.workloads import imported_sources

FILES = {
    "mine.py": "import math, torch\nfrom parts.rates import RATE\nimport ttastats.base.nearest\n",
    "parts/__init__.py": "",
    "parts/rates.py": "from . import deep\nfrom .deep import nothing\nRATE = 1\n",
    "parts/deep.py": "def later():\n    from late import here\n",
    "late.py": "import mine\nhere = 1\n",
    "unrelated.py": "other = 1\n",
    "ttastats/base/nearest.py": "# a checkout",
}


def test_what_a_file_imports_from_beside_it_is_found_once_even_if_it_cannot_be_parsed(
    tmp_path: Path,
) -> None:
    for late in (FILES["late.py"], "def ("):
        for name, text in (FILES | {"late.py": late}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        names = ("parts/__init__.py", "parts/rates.py", "parts/deep.py")
        expected = sorted([late, *(FILES[name] for name in names)])
        assert imported_sources(tmp_path / "mine.py") == tuple(expected)


def test_a_workload_is_what_other_workloads_give_it_but_not_the_trainer(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ttastats.trainer.workloads import airbench94\n"
        "from ttastats.trainer.workloads.contract import Recipe\n"
        "from ttastats.base.errors import TtastatsError\n"
    )
    found = imported_sources(tmp_path / "mine.py")
    assert len(found) == 3  # airbench94, cifar10 and the files of cifar10
    assert any("94 % on CIFAR-10 on one GPU" in text for text in found)
