"""The changes that tests are tried with, and which tests are asked."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutation.command import GROUPS, _files, sample
from benchmarks.mutation.mutants import mutants, mutated
from benchmarks.mutation.reaching import Map
from benchmarks.mutation.running import BUDGET, wide, within_budget

SOURCE = '''
"""Words for people."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import this

@cache(size=3)
def limit(n: Literal[5]) -> int:
    """Return it."""
    if n < 2 and n:
        return n + 1
    return min(zip(n, 1e300, strict=True))
'''


def test_each_change_is_one_of_what_the_code_does() -> None:
    assert [(one.line, one.change) for one in mutants("a.py", SOURCE)] == [
        (10, "if n < 2 and n:\n    return n + 1 -> always"),
        (10, "if n < 2 and n:\n    return n + 1 -> never"),
        (10, "n < 2 and n -> Or"),
        (10, "n < 2 -> LtE"),
        (10, "2 -> 3"),
        (11, "return n + 1 -> None"),
        (11, "n + 1 -> Sub"),
        (11, "1 -> 2"),
        (12, "return min(zip(n, 1e+300, strict=True)) -> None"),
        (12, "min -> max"),
    ]


def test_a_mutant_differs_from_the_source_in_its_change_alone() -> None:
    whole = ast.unparse(ast.parse(SOURCE))
    changed = {ast.unparse(mutated(SOURCE, one.number)) for one in mutants("a.py", SOURCE)}
    assert len(changed) == 10
    assert whole not in changed
    assert whole.replace("n < 2", "n <= 2") in changed
    with pytest.raises(ValueError, match="no change has the number 10"):
        mutated(SOURCE, 10)


def test_a_seed_draws_the_same_mutants_of_every_group() -> None:
    assert all(_files(patterns) for patterns in GROUPS.values())
    files = {group: _files(GROUPS[group]) for group in ("compare",)}
    one, again, other = (sample(files, 40, seed, "") for seed in (1, 1, 2))
    assert one == again != other
    (gate,) = (file for file in files["compare"] if file.name == "gate.py")
    assert {path.path for _, path in sample(files, 5, 1, "compare/gate.py")} == {str(gate)}


def test_the_quickest_tests_are_asked_as_long_as_time_is_left() -> None:
    seconds = {"quick": 0.1, "slow": BUDGET, "slower": 2 * BUDGET}
    assert within_budget(["quick", "slow"], seconds) == ["quick"]
    assert within_budget(["slower"], seconds) == ["slower"]
    assert within_budget([], seconds) == []
    assert wide(["a", "b_accepted", "c_accepted"], {"b_accepted": 0.1, "c_accepted": 9.0}) == [
        "b_accepted"
    ]


def test_what_is_called_at_import_is_asked_of_every_test_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def make(): return ask\ndef ask(): return 2\nmade = make()\n")
    found, module = Map([str(path)]), dict[str, Any]()
    code = found.code(str(path))
    assert code is not None
    exec(code, module)
    found._now = found._calls["one"]
    module["made"]()
    found.seconds["one"] = 0.1
    assert found.calls() == {str(path): {0: ["one"], 1: ["one"], 2: ["one"]}}
