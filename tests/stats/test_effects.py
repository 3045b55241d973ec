"""Effects of settings: the cases of a study to the digit, another program, and simple designs."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import optimize, stats

from ttastats.stats import effects as model
from ttastats.stats.effects import (
    Design,
    Effect,
    Setting,
    aliased_settings,
    fit_part,
    full_rank,
    nonlinearity_p,
)
from ttastats.stats.results import Floats

A = pl.read_csv(
    io.StringIO("""batch,lr,epochs,tta
32,0.1,9,104.2
32,0.1,10,115.9
32,0.1,9,103.6
32,0.3,7,81.3
32,0.3,7,80.6
32,0.3,8,92.5
64,0.1,10,74.1
64,0.1,9,66.4
64,0.1,10,73.2
64,0.3,7,51.7
64,0.3,8,58.9
64,0.3,8,59.4
""")
)
#: The first of two sets of sessions, whose run of bf16 and 64 in s2 failed.
B = pl.read_csv(
    io.StringIO("""precision,batch,session,epochs,tta
fp32,32,s1,10,210.4
fp32,64,s1,11,198.7
bf16,32,s1,10,149.6
bf16,64,s1,12,151.2
fp32,32,s2,11,236.9
fp32,64,s2,11,203.3
bf16,32,s2,9,138.8
fp32,32,s3,10,205.1
fp32,64,s3,12,211.6
bf16,32,s3,10,146.2
bf16,64,s3,11,136.5
fp32,32,s4,9,194.9
fp32,64,s4,11,204.4
bf16,32,s4,11,167.8
bf16,64,s4,12,156.3
""")
)


def setting(values: pl.Series, base: object) -> Setting:
    order = {base: 0} | {v: n for n, v in enumerate(sorted(set(values) - {base}), 1)}
    return Setting(np.array([order[value] for value in values]))


def logs(table: pl.DataFrame) -> dict[str, Floats]:
    time, epochs = (
        np.asarray(np.log(table[name].cast(pl.Float64).to_numpy()), dtype=np.float64)
        for name in ("tta", "epochs")
    )
    return {"T": time, "E": epochs, "P": time - epochs}


TWO = (setting(A["batch"], 32), setting(A["lr"], 0.1))
OF_B = (setting(B["precision"], "fp32"), setting(B["batch"], 32))
SESSIONS = np.array([int(name[1]) - 1 for name in B["session"]])


def numbers(effect: Effect) -> list[float | None]:
    plain = effect.plain
    assert plain.estimate is not None
    return [np.log(plain.estimate), plain.low, plain.high, plain.p_value]


#: Sums of squares, shares and omega squared of both settings.
_T = [(0.50205955, 0.70924532, 0.69875695), (0.16648411, 0.23518738, 0.22760796)]
_E = [(0.0047557787, 0.022408608, 0.0021350417), (0.16883278, 0.79551803, 0.7599143)]
_P = [(0.6045432, 0.99968416, 0.99961701), (8.2255651e-06, 1.3601951e-05, -1.9979e-05)]


@pytest.mark.parametrize(
    ("name", "place", "expected", "squares", "share", "omega2"),
    [
        ("T", 0, [-0.4090882353, 0.60930776, 0.72415872, 2.00354e-06], *_T[0]),
        ("T", 1, [-0.2355731350, 0.72475857, 0.86137134, 0.000164325], *_T[1]),
        ("E", 0, [0.0398153180, 0.95526763, 1.13359542, 0.320024], *_E[0]),
        ("E", 1, [-0.2372289898, 0.72411284, 0.85928903, 0.000145967], *_E[1]),
        ("P", 0, [-0.4489035533, 0.63458169, 0.64209574, 3.75347e-17], *_P[0]),
        ("P", 1, [0.0016558548, 0.99577909, 1.00757006, 0.540346], *_P[1]),
    ],
)  # fmt: skip
def test_two_settings_that_change_one_part_each(
    name: str, place: int, expected: list[float], squares: float, share: float, omega2: float
) -> None:
    fit = fit_part(logs(A)[name], Design(TWO), confidence=0.95)
    assert numbers(fit.effects[place][0]) == pytest.approx(expected, rel=2e-5)
    of, total = fit.shares[place], float(np.var(logs(A)[name])) * 12
    assert [(of.share or 0) * total, of.share, of.omega2] == pytest.approx(
        [squares, share, omega2], rel=5e-5
    )


@pytest.mark.parametrize(
    ("name", "coefficient", "p"),
    [("T", 0.0120029959, 0.885663), ("E", 0.0093902923, 0.909658), ("P", 0.0026127036, 0.643974)],
)
def test_an_interaction(name: str, coefficient: float, p: float) -> None:
    fit = fit_part(logs(A)[name], Design(TWO, ((0, 1),)), confidence=0.95)
    log, _, _, p_value = numbers(fit.effects[2][0])
    assert (log, p_value) == pytest.approx((coefficient, p), rel=2e-5)
    if name == "T":
        assert fit.shares[2].share == pytest.approx(0.00010805393 / 0.50205955 * 0.70924532)
        # What the settings do alone is not touched by it: the design is balanced.
        assert fit.shares[0].share == pytest.approx(0.70924532)
        assert numbers(fit.effects[0][0])[0] == pytest.approx(-0.4090882353)


@pytest.mark.parametrize(
    ("name", "block", "expected", "log", "p"),
    [
        ("T", False, [-0.3334824597, 0.66504184, 0.77177703, 4.63756e-07], -0.0253554663, 0.47218),
        ("T", True, [-0.3321848849, 0.65823737, 0.78178142, 1.08717e-05], -0.0240578915, 0.542614),
        ("E", False, [0.0167329571, 0.94377063, 1.09563931, 0.633877], 0.1363085651, 0.00182353),
        ("E", True, [0.0149757326, 0.92779862, 1.11059070, 0.715077], 0.1345513406, 0.00806141),
        ("P", False, [-0.3502154168, 0.68580035, 0.72378412, 2.3395e-12], -0.161664032, 1.85945e-8),
        ("P", True, [-0.3471606174, 0.70187479, 0.71154189, 1.46377e-15], -0.158609232, 1.6700e-12),
    ],
)
def test_sessions_as_a_block(
    name: str, block: bool, expected: list[float], log: float, p: float
) -> None:
    fit = fit_part(
        logs(B)[name], Design(OF_B, sessions=SESSIONS if block else None), confidence=0.95
    )
    assert numbers(fit.effects[0][0]) == pytest.approx(expected, rel=5e-5)
    other = numbers(fit.effects[1][0])
    assert (other[0], other[3]) == pytest.approx((log, p), rel=5e-5)
    if (name, block) == ("P", True):
        total = float(np.var(logs(B)["P"])) * 15
        assert (fit.shares[2].share or 0) * total == pytest.approx(0.0065217095, rel=1e-6)


class TestAgainstStatsmodels:
    @pytest.fixture
    def fitted(self) -> Any:
        number = np.log2(A["batch"].to_numpy())
        design = np.column_stack([np.ones(12), number - number.mean(), TWO[1].levels])
        return sm.OLS(logs(A)["T"], design).fit()

    def test_least_squares_is_that_of_its_summary(self, fitted: Any) -> None:
        number = Setting(TWO[0].levels, np.log2(A["batch"].to_numpy()))
        fit = fit_part(logs(A)["T"], Design((number, TWO[1])), confidence=0.95)
        for place in (0, 1):
            low, high = fitted.conf_int()[place + 1]
            known = [fitted.params[place + 1], np.exp(low), np.exp(high), fitted.pvalues[place + 1]]
            assert numbers(fit.effects[place][0]) == pytest.approx(known)
        assert fit.shares[2].share == pytest.approx(1 - fitted.rsquared)

    def test_a_number_has_its_hc3_with_student_s_t(self, fitted: Any) -> None:
        robust = fitted.get_robustcov_results("HC3", use_t=True)
        number = Setting(TWO[0].levels, np.log2(A["batch"].to_numpy()))
        ratio = (
            fit_part(logs(A)["T"], Design((number, TWO[1])), confidence=0.95).effects[0][0].ratio
        )
        assert ratio.se_log == pytest.approx(robust.bse[1])
        assert [ratio.low, ratio.high] == pytest.approx(np.exp(robust.conf_int()[1]))
        assert ratio.df == 9

    @pytest.mark.parametrize("n", [7, 9, 12, 20])
    def test_a_run_with_a_session_of_its_own_takes_no_part_in_hc3(self, n: int) -> None:
        y, number = np.random.default_rng(n).normal(size=n), np.arange(n) * 1.0
        robust = sm.OLS(y[:-1], sm.add_constant(number[:-1])).fit(cov_type="HC3", use_t=True)
        alone = np.repeat([0, 1], [n - 1, 1])
        design = Design((Setting(np.arange(n), number),), sessions=alone)
        ratio = fit_part(y, design, confidence=0.95).effects[0][0].ratio
        assert (ratio.se_log, ratio.df) == (pytest.approx(robust.bse[1]), n - 3)

    def test_a_doubling_that_one_run_alone_shows_has_no_interval(self) -> None:
        levels = np.append(TWO[0].levels, 1)
        number = np.append(TWO[0].levels, 2.0)
        design = Design((Setting(np.append(TWO[0].levels, 2), number), Setting(levels)))
        ratio = fit_part(np.append(logs(A)["T"], 4.0), design, confidence=0.95).effects[0][0].ratio
        assert ratio.estimate is not None
        assert (ratio.low, ratio.p_value) == (None, None)

    def test_its_clusters_are_too_sure_and_ours_are_student_s_t_of_session_means(self) -> None:
        rng = np.random.default_rng(1)
        sessions = np.repeat(np.arange(6), 4)
        levels = (sessions >= 3).astype(np.intp)
        y = rng.normal(0, 1, 6)[sessions] + rng.normal(0, 1, 24)
        design = Design((Setting(levels),), sessions=sessions, nested=True)
        ratio = fit_part(y, design, confidence=0.95).effects[0][0].ratio
        means = [y[sessions == k].mean() for k in range(6)]
        known = stats.ttest_ind(means[3:], means[:3])
        assert (ratio.p_value, ratio.df) == pytest.approx((known.pvalue, 4.0))


def test_one_setting_of_two_levels_is_welch_s_test() -> None:
    y = logs(A)["T"]
    ratio = fit_part(y, Design((TWO[0],)), confidence=0.95).effects[0][0].ratio
    known = stats.ttest_ind(y[6:], y[:6], equal_var=False)
    assert (ratio.p_value, ratio.df) == pytest.approx((known.pvalue, known.df))


def test_a_part_that_is_the_same_in_all_runs_has_a_ratio_of_one_and_no_p() -> None:
    (effect,) = fit_part(np.log(np.full(12, 8.0)), Design((TWO[0],)), confidence=0.95).effects[0]
    assert (effect.ratio.estimate, effect.ratio.low, effect.ratio.p_value) == (1.0, None, None)


def test_a_smaller_noisier_level_is_flagged() -> None:
    levels = np.repeat([0, 1], [8, 4])
    noise = np.tile([-1.0, 1.0], 6) * np.where(levels == 1, 0.3, 0.02)
    assert fit_part(noise, Design((Setting(levels),)), confidence=0.95).effects[0][0].uneven
    assert (
        not fit_part(noise[::-1], Design((Setting(levels),)), confidence=0.95).effects[0][0].uneven
    )


def test_settings_that_were_changed_together_are_named() -> None:
    third = Setting(TWO[0].levels ^ TWO[1].levels)
    assert aliased_settings((*TWO, third)) == ()
    assert aliased_settings((TWO[0], TWO[1], Setting(1 - TWO[0].levels))) == (0, 2)
    corners = Setting(TWO[0].levels + 2 * TWO[1].levels)
    assert aliased_settings((corners, TWO[1])) == (0, 1)
    assert not full_rank([TWO[0].design_columns, TWO[0].design_columns])


def test_a_bent_line_is_told_from_a_straight_one() -> None:
    levels = np.repeat(np.arange(4), 4)
    noise = np.tile([-0.02, 0.01, 0.02, -0.01], 4)
    number, values = Setting(levels, levels.astype(np.float64)), levels.astype(np.float64)
    line, curve = (np.asarray(0.3 * x + noise, np.float64) for x in (values, (values - 1.5) ** 2))
    straight, curved = (nonlinearity_p(y, Design((number,)), 0) for y in (line, curve))
    assert straight is not None
    assert curved is not None
    assert straight > 0.9
    assert curved < 1e-6


class TestReaching:
    X = Setting(np.repeat([0, 1], 12))

    @staticmethod
    def counts(a: int, b: int) -> np.ndarray:
        return np.concatenate([np.arange(12) < a, np.arange(12) < b])

    def test_two_levels_are_boschloo_s_exact_test(self) -> None:
        (p,) = model.setting_p_values(self.counts(12, 6), [self.X])
        assert p == pytest.approx(0.00683105, rel=1e-3)

    def test_nothing_is_tested_where_no_run_failed(self) -> None:
        assert model.setting_p_values(self.counts(12, 12), [self.X]) == [None]

    def test_a_level_where_all_failed_has_a_p_beside_other_settings(self) -> None:
        other = Setting(np.tile([0, 1], 12))
        first, second = model.setting_p_values(self.counts(12, 5), [self.X, other])
        assert first is not None
        assert second is not None
        assert first < 0.01 < second

    def test_the_penalised_likelihood_is_at_its_maximum(self) -> None:
        y, x = self.counts(11, 5), self.X.design_columns
        matrix = np.column_stack([np.ones(24), x])

        def loss(b: np.ndarray) -> float:
            p = 1 / (1 + np.exp(-matrix @ b))
            information = matrix.T @ (matrix * (p * (1 - p))[:, np.newaxis])
            return -float(
                np.log(np.where(y, p, 1 - p)).sum() + np.linalg.slogdet(information)[1] / 2
            )

        minimum = optimize.minimize(loss, [0.0, 0.0])
        assert model.penalised_likelihood(y, [x]) == pytest.approx(-minimum.fun, abs=1e-7)
        alone = optimize.minimize_scalar(lambda t: loss(np.array([t, 0.0])))
        assert model.penalised_likelihood(y, [x], 0) == pytest.approx(-alone.fun, abs=1e-7)
