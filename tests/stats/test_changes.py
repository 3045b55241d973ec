"""Changes of a series that is looked at every night: reference cases, and how often it errs."""

from __future__ import annotations

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


@pytest.mark.parametrize(("text", "limits"), [(SLOWER_STEP, (18, 25)), (MORE_EPOCHS, (11, 20))])
def test_the_nights_of_a_change_are_those_of_the_reference(
    text: str, limits: tuple[int, int]
) -> None:
    change = changes.locate_change(logs(text), 0.95)
    assert (change.first, change.last) == limits
    assert not change.drift


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
