"""Changes of a series that is looked at every night: reference cases, and how often it errs."""

from __future__ import annotations

import statistics
from itertools import pairwise

import numpy as np
import pytest

from ttastats.stats import changes

#: Limits for one series alone, for which the cases were made.
ALONE, FAILURES_ALONE = 10**-4.59, 10**-4.05


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ALARM", ALONE)
    monkeypatch.setattr(changes, "ALARM_OF_FAILURES", FAILURES_ALONE)


UNCHANGED = (
    "572.1 608.7 535.5 652.4 623.4 589.6 588.9 611 590.4 591.9 626.5 618.8 597.7 596.9 605.8 "
    "578.3 585.6 620.1 595.3 552.5 583.1 624.1 591.7 594.7 623.6 669.4 574.9 650.6 557.3 606.3"
)
SLOWER_STEP = (
    "59.65 60.41 60.25 60.34 59.73 60.21 59.84 59.86 60.15 60.26 60.06 59.81 59.75 60.43 60.18 "
    "60.22 60.66 59.76 60.77 60.95 60.49 60.25 59.8 60.3 61.06 61.19 61.11 61.29 61.6 61.03"
)
MORE_EPOCHS = (
    "565.6 565 566.1 550.6 568 648.4 579 609.3 557.8 606.1 540.5 575.4 686.9 579.4 641.7 616.6 "
    "594.5 577 648.2 593.6 736.5 643.6 674.3 691 687.2 624 645.8 664.1 638.4 699.9 696.1 597.5 "
    "603 622.3 676.7 759.2 656.8 682.2 630.5 631.1"
)
OUTLIERS = (
    "59.42 59.99 60.28 59.89 60.42 60.06 77.99 60.16 60.15 60.35 59.76 59.32 60.03 59.82 59.99 "
    "72.6 74.59 60.23 60.28 60.14 60.34 59.86 59.8 60.31 60.22 60.42 60.06 84.68 59.92 59.68"
)
WHOLE = "8 9 11 9 10 12 11 11 9 8 11 9 10 10 9 13 13 12 12 12 11 12 12 11 13 11 12 10"
FAILED = [*[0] * 21, 1, 0, 1, 1, 2, 1]


def logs(text: str) -> np.ndarray:
    return np.log([float(word) for word in text.split()])


@pytest.mark.parametrize(
    ("text", "limits", "t", "split", "p"),
    [
        (UNCHANGED, (6.28320089, 6.50638179), 1.92011948, 3, 0.0650827),
        (SLOWER_STEP, (4.08849415, 4.11125182), 5.86734931, 24, 2.61655e-06),
        (MORE_EPOCHS, (6.29249464, 6.60531859), 5.63014046, 20, 1.83117e-06),
        (OUTLIERS, (4.08294652, 4.11376960), 1.56258096, 15, 0.129384),
        (WHOLE, (2.12176435, 2.56494936), 5.01469723, 15, 3.23269e-05),
    ],
)
def test_a_look_is_that_of_the_reference(
    text: str, limits: tuple[float, float], t: float, split: int, p: float
) -> None:
    clipped = changes.winsorised(logs(text))
    assert (clipped.min(), clipped.max()) == pytest.approx(limits, abs=5e-9)
    splits, _, every = changes.split_statistics(clipped)
    assert every.max() == pytest.approx(t, abs=5e-9)
    assert splits[every.argmax()] == split
    assert changes.change_test(logs(text)) == (pytest.approx(p, rel=5e-6), split)


@pytest.mark.parametrize(
    ("text", "alarm", "size"),
    [
        (UNCHANGED, None, None), (SLOWER_STEP, (30, 24), 1.017316), (OUTLIERS, None, None),
        (MORE_EPOCHS, (30, 20), 1.117190), (WHOLE, (25, 15), 1.214085),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("alone")
def test_the_first_alarm_is_that_of_the_reference(
    text: str, alarm: tuple[int, int] | None, size: float | None
) -> None:
    steps = changes.find_changes(logs(text), 0.95)
    looks = [(step.alarm, changes.change_test(logs(text)[: step.alarm])[1]) for step in steps]
    assert looks == ([alarm] if alarm else [])
    assert [float(np.exp(change.size)) for change in steps] == [
        pytest.approx(size, abs=5e-7) for _ in steps
    ]


def slow_nights(x: list[float]) -> tuple[int, int, int]:
    """Return the likeliest split and the ends of the set that holds 95 %, in plain Python."""
    n = len(x)
    reach = 4 * statistics.median(abs(b - a) for a, b in pairwise(x)) / 0.9539

    def inside(values: list[float]) -> float:
        middle = statistics.median(values)
        kept = [min(max(value, middle - reach), middle + reach) for value in values]
        return sum((value - statistics.fmean(kept)) ** 2 for value in kept)

    weights = {
        at: (inside(x[:at]) + inside(x[at:])) ** (-(n - 2) / 2) * (at * (n - at)) ** -0.5
        for at in range(3, n - 2)
    }
    within, held = list[int](), 0.0
    for at in sorted(weights, key=lambda at: -weights[at]):
        if held < 0.95 * sum(weights.values()):
            within.append(at)
            held += weights[at]
    return within[0], min(within), max(within)


@pytest.mark.parametrize("text", [SLOWER_STEP, MORE_EPOCHS, OUTLIERS])
def test_the_nights_of_a_change_are_those_of_a_slow_version(text: str) -> None:
    change = changes.locate_change(logs(text), 0.95)
    assert (change.split, change.first, change.last) == slow_nights(logs(text).tolist())
    assert change.drift == (text == OUTLIERS)


@pytest.mark.usefixtures("alone")
def test_an_alarm_stands_though_a_later_look_would_raise_none() -> None:
    # At night 28 the p is above the limit again.
    assert changes.change_test(logs(WHOLE))[0] > ALONE
    assert len(changes.find_changes(logs(WHOLE), 0.95)) == 1


@pytest.mark.usefixtures("alone")
def test_looks_at_failures_are_those_of_the_reference() -> None:
    # The hypergeometric tails of two runs a night, by night 22 to 27.
    runs = [2] * len(FAILED)
    looks = [changes.failure_change_test(FAILED[:n], runs[:n]) for n in range(22, 28)]
    assert -np.log10([p for p, _ in looks]) == pytest.approx(
        [1.0414, 0.7597, 1.5752, 2.2430, 3.7124, 4.1454], abs=5e-5
    )
    assert {split for _, split in looks} == {21}
    (change,) = changes.find_changes_of_failures(FAILED, runs, 0.95)
    assert change.alarm == 27
    assert change.first <= 21 <= change.last
    assert change.low > 0


def test_nights_without_any_failure_or_noise_raise_no_alarm() -> None:
    assert changes.failure_change_test([0] * 20, [1] * 20) == (1.0, 0)
    steps = [float(np.log(1390))] * 40  # the mean of which is another number
    assert changes.find_changes(steps, 0.95) == []
    assert changes.night_noise(steps, []) == 0
    assert changes.shown_autocorrelation(steps, []) is None


def test_a_step_without_noise_is_found_three_nights_after_it() -> None:
    (change,) = changes.find_changes([*[2.0] * 15, *[2.2] * 5], 0.95)
    assert (change.alarm, change.split) == (18, 15)
    assert (change.first, change.last, change.size) == (15, 15, pytest.approx(0.2))


def drawn(seed: int, nights: int = 100, **shift: float) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=nights)
    for name, size in shift.items():
        x += size * (np.arange(nights) >= int(name[1:]))
    return x


def test_a_drift_is_called_one_and_a_step_is_not() -> None:
    drift = drawn(1) + np.linspace(0, 4, 100)
    assert changes.locate_change(drift, 0.95).drift
    assert changes.locate_change(drift, 0.95).size == pytest.approx(4, abs=1)
    step = changes.locate_change(drawn(1, n40=4.0), 0.95)
    assert not step.drift
    assert step.low < 4 < step.high


def test_nights_like_the_night_before_are_told_and_their_changes_are_not_independent() -> None:
    white = drawn(5)
    alike = white.copy()
    for night in range(1, 100):
        alike[night] = 0.6 * alike[night - 1] + 0.8 * white[night]
    assert changes.shown_autocorrelation(white, []) is None
    assert changes.shown_autocorrelation(alike, []) == pytest.approx(0.6, abs=0.15)
    assert changes.locate_change(drawn(5, n40=2.0), 0.95).independent
    step = alike + 1.5 * (np.arange(100) >= 40)
    assert not changes.locate_change(step, 0.95).independent


def test_one_true_step_is_one_change_in_its_night_with_its_size() -> None:
    rng, found = np.random.default_rng(4), list[tuple[bool, bool, bool]]()
    for number in range(40):
        noise, at = rng.choice([0.01, 0.02]), int(rng.integers(15, 60))
        size = float(np.log(rng.choice([0.9, 1.1, 1.2, 1.3])))
        x = rng.normal(0, noise, 70) if number % 2 else noise * (rng.gamma(2, size=70) - 2)
        x[at:] += size
        steps = [step for step in changes.find_changes(x, 0.95) if (step.alarm or 0) > at]
        first = steps[0]
        found.append(
            (first.first <= at <= first.last, first.low <= size <= first.high, len(steps) == 1)
        )
    in_nights, covered, alone = np.mean(found, axis=0)
    assert in_nights >= 0.95
    assert covered >= 0.93
    assert alone >= 0.97


@pytest.mark.parametrize(
    ("guise", "size", "before"),
    [
        ("normal", 10.0, (2.5, 2.5)),
        ("uniform", 12.0, (2.0, 2.0, 2.0)),
        ("normal", -9.0, (-3.0, -2.0)),
    ],
)
def test_an_alarm_that_was_placed_too_early_is_located_again(
    guise: str, size: float, before: tuple[float, ...]
) -> None:
    rng, steps, alone = np.random.default_rng(3), list[changes.Change](), list[bool]()
    for _ in range(50):
        x = rng.normal(size=60) if guise == "normal" else rng.uniform(-np.sqrt(3), np.sqrt(3), 60)
        x[40 - len(before) : 40] += before
        x[40:] += size
        # Three nights are needed on each side: an alarm after night 42 cannot be placed at 40.
        found = changes.find_changes(x, 0.95)
        if found and found[0].alarm in {41, 42}:
            alone.append(len(found) == 1)
            steps.append(found[0])
    assert len(steps) > 10
    assert np.mean(alone) > 0.9
    # What the alarm announced is kept, and says which change this is.
    assert all((step.announced or 40) < 40 for step in steps)
    assert np.mean([step.first <= 40 <= step.last for step in steps]) > 0.9
    assert np.mean([step.low < size < step.high for step in steps]) > 0.8


def test_four_bad_nights_are_hardly_ever_a_change_for_a_gate() -> None:
    series = 80
    standings = {
        (seed, step.standing)
        for seed in range(series)
        for end in (44, 48, 54)
        for step in changes.find_changes(drawn(seed, 54, n40=3.0, n44=-3.0)[:end], 0.95)
    }
    shares = {
        word: sum(of == word for _, of in standings) / series for word in ("new", "fades", "shows")
    }
    # Of 400 series 36 % are called a change that is new, and 3 % one that shows.
    assert shares["new"] > 0.2
    assert shares["fades"] > 0.2
    assert shares["shows"] < 0.1
    lasting = drawn(2, 60, n40=4.0)
    assert [changes.find_changes(lasting[:end], 0.95)[0].standing for end in (46, 47, 60)] == [
        "new", "shows", "shows"
    ]  # fmt: skip
