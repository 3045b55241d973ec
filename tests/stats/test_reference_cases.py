"""Every reference case of tests/reference/statistics_cases.json against our functions.

The check that a case names turns its inputs into a dictionary with at least its expected keys; each
of those is compared.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.stats.made import compared, decompose_speedup, decompose_variance, ert_ratio
from ttastats.stats import (
    decision,
    means,
    moments,
    multiplicity,
    outcomes,
    permutation,
    power,
    speedup,
    unseen,
    variation,
)
from ttastats.stats.outcomes import Epochs, expected_time, make_outcomes
from ttastats.stats.results import Flag, Ratio
from ttastats.stats.speedup import loglog_slope, ratio_of_geometric_means

PATH = Path(__file__).parents[1] / "reference" / "statistics_cases.json"
CASES = {case["id"]: case for case in json.loads(PATH.read_text())["cases"]}

Inputs = dict[str, Any]
Found = dict[str, Any]


def limits(result: Any) -> list[float] | None:
    return None if result.low is None else [result.low, result.high]


def messages(flags: tuple[Flag, ...]) -> list[str]:
    return [flag.message for flag in flags]


def floats(values: list[Any]) -> np.ndarray:
    """Return the numbers of a case: null is missing, "inf" and "nan" are floats."""
    return np.array([math.nan if v is None else float(v) for v in values])


def check_summary(inputs: Inputs) -> Found:
    times = floats(inputs["tta"])
    mean = means.mean_interval(times, confidence=0.95)
    return {
        "mean": mean.estimate,
        "sd_ddof1": moments.standard_deviation(times),
        "sd_ddof0": moments.standard_deviation(times, 0),
        "cv_ddof1": moments.coefficient_of_variation(times),
        "cv_ddof0": float(moments.deviations(times, 0) / moments.means(times)),
        "geomean": moments.geometric_mean(times),
        "mean_ci": limits(mean),
    }


def check_cv_interval(inputs: Inputs) -> Found:
    cv = variation.cv_interval(inputs["x"], confidence=0.95, ddof=1).estimate
    return {
        "cv": cv,
        "vangel": list(variation.vangel_limits(cv or 0.0, len(inputs["x"]), confidence=0.95)),
    }


def check_cv_epoch_safe(inputs: Inputs) -> Found:
    tta, epochs, step = (inputs[name] for name in ("tta", "epochs", "evaluation_interval"))
    safe = variation.cv_interval(
        tta, epochs=epochs, evaluation_interval=step, confidence=0.95, ddof=1
    )
    return {
        "cv": safe.estimate,
        "vangel": limits(variation.cv_interval(tta, confidence=0.95, ddof=1)),
        "cv_epochs_upper": unseen.cv_epochs_high(epochs[0], len(tta), step, confidence=0.95),
        "cv_ci_epoch_safe": limits(safe),
    }


def check_epoch_safe_limits(inputs: Inputs) -> Found:
    values: Found = {}
    for n, e, q in ((case["n"], case["e"], case["q"]) for case in inputs["cases"]):
        share = unseen.unseen_share(n, confidence=0.95)
        values[f"n{n}_e{e}_q{q}.u"] = share
        values[f"n{n}_e{e}_q{q}.mean_epochs_limits"] = [e - q * share, e + q * share]
    return values


def check_olympic(inputs: Inputs) -> Found:
    values: Found = {"olympic": means.olympic_mean(inputs["tta"])}
    for name in ("one_failed_of_6", "two_failed_of_5", "unet3d_drop4"):
        case = CASES["olympic_mean"]["expected"][name]
        times = [t for t in case["tta"] if t != "failed"]
        n_failed = len(case["tta"]) - len(times)
        mean = means.olympic_mean(times, n_failed=n_failed, drop=case.get("drop", 1))
        values[name] = {**case, "olympic": mean}
    return values


def check_fraction(inputs: Inputs) -> Found:
    k, n = inputs["successes"], inputs["n"]
    # The interval of Clopper and Pearson is a one-sided bound of either outcome.
    low, failed = (outcomes.reached_at_least(x, n, confidence=0.975) for x in (k, n - k))
    return {
        "wilson": list(outcomes.wilson_interval(k, n, confidence=0.95)[1:]),
        "clopper_pearson": [low, 1 - failed],
    }


def check_newcombe(inputs: Inputs) -> Found:
    return {
        f"newcombe_{ka}of{na}_minus_{kb}of{nb}": limits(
            outcomes.newcombe_difference(ka, na, kb, nb, confidence=0.95)
        )
        for ka, na, kb, nb in inputs["pairs"]
    }


def check_two_samples(inputs: Inputs) -> Found:
    a, b = floats(inputs["tta_a"]), floats(inputs["tta_b"])
    means, geomeans = (
        speedup.ratio_of_means(a, b, confidence=0.95),
        speedup.ratio_of_geometric_means(a, b, confidence=0.95),
    )
    plain = permutation.permute_scores(np.log([*a, *b]), len(a))
    wins = permutation.pair_wins(a, b)
    values = {
        "speedup_mean": means.estimate,
        "se_log": means.se_log,
        "df": means.df,
        "speedup_mean_ci": limits(means),
        "p_delta_welch": means.p_value,
        "speedup_gm": geomeans.estimate,
        "speedup_gm_ci": limits(geomeans),
        "p_welch_log": geomeans.p_value,
        "df_welch_log": geomeans.df,
        "prob_B_faster": wins.estimate,
        "p_mwu_exact": permutation.mann_whitney_p(a, b),
        "p_perm_log_exact": plain,
        "p_perm_log_exact_coin": plain,
        "p_perm_student_log": permutation.permutation_test(a, b),
        "cv": variation.cv_interval(a, confidence=0.95, ddof=1).estimate,
        "flags": messages(means.flags[:1]),
    }
    if "epochs_a" in inputs:
        values |= two_samples_with_epochs(inputs)
    else:
        values["share_epochs"] = decompose_variance(a, a / a).share_epochs.estimate
    return values


def two_samples_with_epochs(inputs: Inputs) -> Found:
    a, b, e_a, e_b = (floats(inputs[k]) for k in ("tta_a", "tta_b", "epochs_a", "epochs_b"))
    q_a, q_b = inputs.get("eval_quantum_a"), inputs.get("eval_quantum_b")
    both = compared(a, b, Epochs(e_a, q_a), Epochs(e_b, q_b))
    safe = both.limits(0.95, epochs=True) if both.unseen_epochs else None
    return {
        **check_speedup_parts(inputs),
        "epoch_safe_ci": None if safe is None else list(safe),
    }


def check_speedup_parts(inputs: Inputs) -> Found:
    t_a, e_a, t_b, e_b = (floats(inputs[k]) for k in ("tta_a", "epochs_a", "tta_b", "epochs_b"))
    parts = decompose_speedup(t_a, e_a, t_b, e_b)
    total, throughput, epochs = (
        speedup.ratio_of_means(a, b, confidence=0.95).estimate or math.nan
        for a, b in ((t_a, t_b), (t_a / e_a, t_b / e_b), (e_a, e_b))
    )
    return {
        "tta_speedup_gm": speedup.ratio_of_geometric_means(t_a, t_b, confidence=0.95).estimate,
        "throughput_speedup_gm": parts.throughput.estimate,
        "epochs_ratio_gm": parts.epochs.estimate,
        "tta_speedup_mean": total,
        "throughput_speedup_mean": throughput,
        "epochs_ratio_mean": epochs,
        "interaction": total / throughput / epochs,
        "throughput_gm_ci": limits(parts.throughput),
        "throughput_p": parts.throughput.p_value,
        "epochs_gm_ci": limits(parts.epochs),
        "epochs_p": parts.epochs.p_value,
    }


def check_table7(inputs: Inputs) -> Found:
    speedups = {}
    for row in inputs["rows"]:
        slow, fast = row["epochs_a"] * row["throughput_speedup"], float(row["epochs_b"])
        parts = decompose_speedup([slow], [row["epochs_a"]], [fast], [row["epochs_b"]])
        assert parts.throughput.estimate == pytest.approx(row["throughput_speedup"])
        assert parts.epochs.estimate is not None
        speedups[row["model"]] = parts.throughput.estimate * parts.epochs.estimate
    return {"tta_speedup": speedups, "paper_printed": speedups}


def check_variance_parts(inputs: Inputs) -> Found:
    parts = decompose_variance(inputs["tta"], inputs["epochs"])
    both = variation.variance_shares(
        *(floats(inputs[key])[None] for key in ("tta", "epochs")), 0.95
    )
    return {
        "share_epochs": parts.share_epochs.estimate,
        "share_time_per_epoch": float(both.shares[1, 0]),
        "cv_epochs": moments.coefficient_of_variation(floats(inputs["epochs"])),
        "cv_tpe": moments.coefficient_of_variation(
            floats(inputs["tta"]) / floats(inputs["epochs"])
        ),
        "cv_ratio": parts.cv_ratio,
    }


def check_tost(inputs: Inputs) -> Found:
    both = compared(inputs["tta_a"], inputs["tta_b"])
    levels = [least_level(both, inputs["margin"], claim) for claim in ("not_slower", "not_faster")]
    low_high = both.limits(0.9)
    assert low_high is not None
    return {
        "p_not_slower": levels[0],
        "p_not_faster": levels[1],
        "p_tost": max(levels),
        "ci90": list(low_high),
    }


def least_level(both: speedup.Speedup, margin: float, claim: str) -> float:
    """Return the least alpha at which a claim about the margin is shown: its p value."""
    low, high = 0.0, 0.5
    for _ in range(60):
        level = (low + high) / 2
        at_level = replace(both, ratio=replace(both.ratio, confidence=1 - level))
        (bound,) = decision.margin_bounds([at_level], margin)
        low, high = (low, level) if getattr(bound, claim) is not None else (level, high)
    return high


def check_exact_bootstrap(inputs: Inputs) -> Found:
    ratio = speedup.ratio_of_means(inputs["tta_a"], inputs["tta_b"], confidence=0.95)
    assert ratio.se_log is not None
    return {
        "ratio": ratio.estimate,
        # The spread of complete resampling divides by n where the standard error has n - 1.
        "se_log": ratio.se_log * math.sqrt(2 / 3),
    }


def check_censored(inputs: Inputs) -> Found:
    a, b = ((inputs[f"time_{side}"], inputs[f"reached_{side}"]) for side in "ab")
    counts = [(sum(reached), len(reached)) for _, reached in (a, b)]
    (k_a, n_a), (k_b, n_b) = counts
    of_a, of_b = expected_time(*a), expected_time(*b)
    ratio = ert_ratio(*a, *b)
    words = decision.decide_by_fraction(*counts[0], *counts[1], alpha=0.05, margin=0.01)
    hits_a, hits_b = (floats(times)[np.array(reached, dtype=bool)] for times, reached in (a, b))
    return {
        "A.ert": of_a.estimate,
        "A.var_log_ert": of_a.variance,
        "B.ert": of_b.estimate,
        "B.var_log_ert": of_b.variance,
        "ert_a": of_a.estimate,
        "ert_b": of_b.estimate,
        "fisher_p": outcomes.fisher_p(k_a, n_a, k_b, n_b),
        "worst_rank_mwu_exact": permutation.mann_whitney_p(
            a[0], b[0], reached_a=a[1], reached_b=b[1]
        ),
        "ert_speedup": ratio.estimate,
        "ert_df": ratio.df,
        "ert_speedup_ci": limits(ratio),
        "ert_p": ratio.p_value,
        "ert_speedup_is_bound": "no_success" in {flag.code for flag in ratio.flags},
        "speedup_mean": float(hits_a.mean() / hits_b.mean()) if k_a and k_b else None,
        "verdict": words.claim if k_a == k_b == 0 else f"B {words.claim}",
        "fraction_a_ci_wilson": list(outcomes.wilson_interval(k_a, n_a, confidence=0.95)[1:]),
        "fraction_b_ci_wilson": list(outcomes.wilson_interval(k_b, n_b, confidence=0.95)[1:]),
    }


def check_ncf(inputs: Inputs) -> Found:
    times, reached = floats(inputs["time"]), np.array(inputs["reached"], dtype=bool)
    expected = expected_time(times, reached)
    return {
        "mean_failed": moments.mean(times[~reached]),
        "ert": expected.estimate,
        "var_log_ert": expected.variance,
        "cv_success_ddof1": moments.coefficient_of_variation(times[reached]),
        "wilson": list(
            outcomes.wilson_interval(int(reached.sum()), reached.size, confidence=0.95)[1:]
        ),
    }


def check_multiplicity(inputs: Inputs) -> Found:
    return {
        "holm": list(multiplicity.adjust_p_values(inputs["p"])),
        "bh": list(multiplicity.adjust_p_values(inputs["p"], fdr=True)),
    }


def check_geomean_row(inputs: Inputs) -> Found:
    ratios = [
        Ratio(math.exp(x), None, None, 0.95, None, se, df, 5, 5)
        for x, se, df in zip(inputs["log_speedup"], inputs["se"], inputs["df"], strict=True)
    ]
    row = multiplicity.geometric_mean_speedup(ratios, confidence=0.95)
    return {"geomean": row.estimate, "ci": limits(row)}


def check_power(inputs: Inputs) -> Found:
    values: Found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(power, "_POOLED_FROM", 1)  # the expected values are those of the pooled test
        patch.setattr(power, "_least_shift", power._least_shift.__wrapped__)
        for key in CASES["power"]["expected"]:
            question, *settings = key.split("_")
            plan = dict(re.findall(r"([a-z]+)([\d.]+)", "_".join(settings)))
            n, cv, ratio = (float(plan.get(name, "nan")) for name in ("n", "cv", "ratio"))
            if question == "power":
                shift = math.log(ratio) / power.standard_error(int(n), cv)
                values[key] = power.power_of_shift(shift, int(n), 0.05)
            elif question == "n":
                values[key] = power.runs_needed(ratio, cv, power=0.8, alpha=0.05)
            else:
                values[key] = power.detectable_ratio(int(n), cv, power=0.8, alpha=0.05)
    return values


def check_smallest_p(inputs: Inputs) -> Found:
    return {"min_p": [permutation.smallest_p(n, n) for n in inputs["n"]]}


def check_scaling(inputs: Inputs) -> Found:
    base, large = inputs["points"]
    fair = base["n"] / large["n"]
    speedup, throughput, epochs = (
        ratio_of_geometric_means([base[name]], [large[name]], confidence=0.95).estimate or 0.0
        for name in ("tta", "time_per_epoch", "epochs")
    )
    sides = [make_outcomes([point["tta"]]) for point in (base, large)]
    slope = loglog_slope([base["n"], large["n"]], sides, 0.95)
    assert [p["tta"] / p["epochs"] for p in inputs["points"]] == pytest.approx(
        [p["time_per_epoch"] for p in inputs["points"]]
    )
    return {
        "speedup": speedup,
        "efficiency": speedup * fair,
        "throughput_speedup": throughput,
        "throughput_efficiency": throughput * fair,
        "statistical_efficiency": epochs,
        "loglog_slope": slope.estimate,
    }


def check_targets(inputs: Inputs) -> Found:
    """Return first crossings found independently, and our numbers at each target."""
    curves = [(floats(curve["time"]), floats(curve["metric"])) for curve in inputs["curves"]]
    values: Found = {"first_time": {}, "fraction_reached": {}, "ert": {}}
    for target in inputs["targets"]:
        first = [next(iter(time[metric >= target].tolist()), None) for time, metric in curves]
        reached = [time is not None for time in first]
        times = [
            time[-1] if end is None else end for (time, _), end in zip(curves, first, strict=True)
        ]
        values["first_time"][str(target)] = first
        values["fraction_reached"][str(target)] = sum(reached) / len(first)
        values["ert"][str(target)] = expected_time(times, reached).estimate
    return values


def check_profile(inputs: Inputs) -> Found:
    table = [floats(row) for row in inputs["times"]]
    profile = multiplicity.performance_profile(np.array(table), inputs["taus"])
    return {
        "rho": dict(zip(inputs["systems"], profile.shares.tolist(), strict=True)),
        "score": dict(zip(inputs["systems"], profile.scores.tolist(), strict=True)),
    }


def check_library_traps(inputs: Inputs) -> Found:
    apart = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    far = power.power_of_shift(38.0, 10, 0.05)
    return {
        "mwu_ties_3343_vs_3443": permutation.mann_whitney_p(inputs["a"], inputs["b"]),
        "brunnermunzel_separated": {
            "prob_B_faster": permutation.pair_wins(apart[1], apart[0]).estimate
        },
        "nct_cdf_ncp38": 1 - far,
    }


def agrees(actual: Any, expected: Any, rtol: float, atol: float) -> bool:
    """Return whether a result is as the case expects, within its tolerance."""
    if isinstance(expected, dict):
        return set(actual) == set(expected) and all(
            agrees(actual[key], expected[key], rtol, atol) for key in expected
        )
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(
            agrees(f, e, rtol, atol) for f, e in zip(actual, expected, strict=True)
        )
    if expected is None or actual is None or isinstance(expected, bool):
        return actual is expected
    if expected == "inf":
        return bool(actual == math.inf)
    if isinstance(expected, str):
        return expected in actual  # our advice may follow
    return math.isclose(actual, expected, rel_tol=0, abs_tol=atol + rtol * abs(expected))


@pytest.mark.parametrize("case_id", CASES)
def test_every_expected_value_of_the_case_is_met(case_id: str) -> None:
    case = CASES[case_id]
    actual = globals()[f"check_{case['check']}"](case["inputs"])
    assert not set(case["expected"]) - set(actual), "expected but not computed"
    wrong = {
        key: (actual[key], expected)
        for key, expected in case["expected"].items()
        if not agrees(
            actual[key],
            expected,
            case["rtol"],
            case.get("atol_of", {}).get(key, case["atol"]),
        )
    }
    assert not wrong
