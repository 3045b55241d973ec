"""Does a test fail when the code is changed?"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from benchmarks.mutation.mutants import Mutant, mutated
from benchmarks.mutation.reaching import Calls, replace_code

Outcome = Literal["killed", "timeout", "survived", "not tested"]

#: Seconds of the quickest tests that call its function, which a mutant has to survive before it is
#: held against the accepted answers that take longer.
BUDGET = 20.0
#: Seconds of a test that is asked before all others.
QUICK = 0.3


def judged(mutant: Mutant, tests: Sequence[str], seconds: dict[str, float]) -> Outcome:
    """Run the tests of a mutant, in a process of its own that ends with the first failure."""
    selection = within_budget(tests, seconds)
    if not selection:
        return "not tested"
    slower = [test for test in tests if "accepted" in test and test not in selection]
    for group in filter(None, (wide(selection, seconds), selection, slower)):
        code = _in_a_process(mutant, group, int(60 + 10 * sum(seconds[test] for test in group)))
        if code:
            return "killed" if code > 0 else "timeout"
    return "survived"


def passes(calls: Calls, seconds: dict[str, float]) -> bool:
    """Return whether the quickest test of each file passes on the unchanged code."""
    tests = sorted({of_file[0][0] for of_file in calls.values() if of_file[0]})
    return _in_a_process(None, tests, int(600 + sum(seconds.values()))) == 0


def _in_a_process(mutant: Mutant | None, tests: Sequence[str], limit: int) -> int:
    """Return the exit code of pytest; negative after a timeout."""
    child = os.fork()
    if not child:
        _run(mutant, tests, limit=limit)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def within_budget(tests: Sequence[str], seconds: dict[str, float]) -> list[str]:
    """Return the quickest tests whose time together is within the budget; one at least."""
    spent, selection = 0.0, []
    for test in tests:
        spent += seconds[test]
        if selection and spent > BUDGET:
            break
        selection.append(test)
    return selection


def wide(tests: Sequence[str], seconds: dict[str, float]) -> list[str]:
    """Return the quick tests that notice most: those of accepted answers.

    They are asked apart, as it takes longer to collect many tests than to run these.
    """
    return [test for test in tests if "accepted" in test and seconds[test] < QUICK]


def _run(mutant: Mutant | None, tests: Sequence[str], *, limit: int) -> None:
    """Run the tests against the mutant; the process ends with them."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limit)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    code = 1
    try:
        if mutant:
            put_in_place(mutant)
        options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
        code = int(pytest.main([*tests, *options]))
    finally:
        os._exit(code)


def put_in_place(mutant: Mutant) -> None:
    """Make Python import the mutant in place of its file, which stays as it is."""
    tree = mutated(Path(mutant.path).read_text("utf-8"), mutant.number)
    code = compile(tree, mutant.path, "exec")
    replace_code(lambda path: code if path == mutant.path else None)
