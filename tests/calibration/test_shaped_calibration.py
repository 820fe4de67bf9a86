"""Calibrations of other shapes than a sigmoid: what they follow, what their ranges cover."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import toprank
from examples import examples
from strategies import rankings
from toprank.calibration import (
    METHODS,
    SigmoidCalibration,
    calibration_from_json,
    calibration_to_json,
    fit_beta,
    fit_calibration,
    fit_isotonic,
    fit_sigmoid,
    fit_smooth,
)
from toprank.calibration import smooth as smooth_module

SHAPED = ("smooth", "beta", "isotonic")

# the true log-odds at a raw score; the last one falls again at the top
TRUTHS = {
    "a line": lambda raw: 1.5 * raw - 5,
    "a ceiling": lambda raw: logit(0.5 * expit(3 * raw - 6) + 1e-6),
    "a steep top": lambda raw: np.where(raw > 2, 4 * raw - 11, raw - 5),
    "a wave": lambda raw: 1.2 * raw + np.sin(2 * raw) - 4,
}


def drawn(generator, truth, n_rows):
    raw = generator.normal(size=n_rows) * 1.3
    return generator.random(n_rows) < expit(TRUTHS[truth](raw)), raw


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("method", ["smooth", "isotonic"])
def test_with_many_positives_any_rising_shape_is_found(method, truth):
    generator = np.random.default_rng(0)
    is_positive, raw = drawn(generator, truth, 60_000)
    at = np.quantile(raw, [0.5, 0.9, 0.99, 0.999])
    probability = fit_calibration(is_positive, raw, method).probability(at)
    assert probability == approx(expit(TRUTHS[truth](at)), rel=0.25, abs=0.04)


def test_with_few_positives_the_smooth_one_is_all_but_a_sigmoid():
    generator = np.random.default_rng(1)
    is_positive, raw = drawn(generator, "a line", 3000)
    few = is_positive & (np.cumsum(is_positive) <= 12)
    kept = few | ~is_positive
    smooth, sigmoid = fit_smooth(few[kept], raw[kept]), fit_sigmoid(few[kept], raw[kept])
    at = np.quantile(raw, [0.5, 0.9, 0.99])
    assert smooth.log_odds(at) == approx(sigmoid.log_odds(at), abs=0.35)
    wider, narrower = (
        np.ptp(each.expected_positives(np.sort(raw)[-100:])[1:]) for each in (smooth, sigmoid)
    )
    assert wider >= narrower


@examples(60)
@given(rankings(max_rows=60), st.sampled_from(SHAPED))
def test_any_labels_make_finite_probabilities_that_rise_with_the_score(sample, method):
    is_positive, raw = sample
    fitted = fit_calibration(is_positive, raw, method)
    probability = fitted.probability(np.sort(raw))
    assert np.isfinite(probability).all()
    assert np.all(np.diff(probability) >= 0)
    value, low, high = fitted.expected_positives(raw)
    assert 0 <= low <= value <= high <= raw.size


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_add_up_to_the_positives(method):
    is_positive, raw = drawn(np.random.default_rng(2), "a steep top", 20_000)
    fitted = fit_calibration(is_positive, raw, method)
    assert fitted.probability(raw).sum() == approx(is_positive.sum(), rel=0.01)
    assert fitted.expected_positives(raw).value == approx(is_positive.sum(), rel=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_a_probability_does_not_depend_on_the_other_rows(method):
    is_positive, raw = drawn(np.random.default_rng(2), "a steep top", 1500)
    fitted = fit_calibration(is_positive, raw, method)
    together = fitted.probability(raw)
    for size in (1, 2, 3, 7, 64):
        parts = [fitted.probability(raw[i : i + size]) for i in range(0, 640, size)]
        assert np.concatenate(parts).tolist()[:640] == together[:640].tolist()


@pytest.mark.parametrize(("scale", "shift"), [(1e4, 0.0), (1e-6, 0.0), (1.0, 1e4)])
@pytest.mark.parametrize("method", SHAPED)
def test_the_scale_of_the_scores_changes_no_probability(method, scale, shift):
    is_positive, raw = drawn(np.random.default_rng(3), "a ceiling", 1500)
    plain = fit_calibration(is_positive, raw, method)
    scaled = fit_calibration(is_positive, scale * raw + shift, method)
    assert scaled.probability(scale * raw + shift) == approx(plain.probability(raw), rel=1e-3)


@pytest.mark.parametrize("method", SHAPED)
def test_weights_count_like_copies(method):
    is_positive, raw = drawn(np.random.default_rng(4), "a ceiling", 3000)
    weight = np.random.default_rng(5).integers(0, 4, 3000)
    weighted = fit_calibration(is_positive, raw, method, weight=weight)
    copied = fit_calibration(np.repeat(is_positive, weight), np.repeat(raw, weight), method)
    counted = raw[weight > 0]
    assert weighted.probability(counted) == approx(copied.probability(counted), rel=0.2, abs=0.01)


def test_counts_know_of_a_top_that_is_worse_than_what_is_below():
    """Probabilities may not turn the list around; what to expect in it must not be too high."""
    generator = np.random.default_rng(6)
    raw = generator.normal(size=40_000)
    is_positive = generator.random(raw.size) < np.where(raw > 2.5, 0.05, expit(2 * raw - 4))
    fitted = fit_smooth(is_positive, raw)
    top = np.sort(generator.normal(size=40_000))[-150:]
    value, low, high = fitted.expected_positives(top)
    assert low <= 0.05 * 150 <= high and value < fitted.probability(top).sum()
    assert np.all(np.diff(fitted.probability(top)) >= 0)


@pytest.mark.parametrize("n_bends", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_the_average_over_bends_is_the_one_of_the_slow_way(n_bends, monkeypatch):
    """Each bend's peak by a general optimiser, then its evidence, term by term."""
    from scipy.optimize import minimize

    bends = smooth_module._BENDS[-n_bends:]
    monkeypatch.setattr(smooth_module, "_BENDS", bends)
    is_positive, raw = drawn(np.random.default_rng(7), "a ceiling", 400)
    line = fit_sigmoid(is_positive, raw)
    groups, knots = smooth_module._grouped(line.log_odds(raw), is_positive, np.ones(400))
    basis = hats_at(groups.at, knots)
    gap = np.diff(knots)

    def minus_log(values, s):
        slope = np.diff(values) / gap
        walk = np.sum(np.diff(slope) ** 2 / ((gap[1:] + gap[:-1]) / 2)) / s**2
        overall = ((values[-1] - values[0]) / (knots[-1] - knots[0]) - 1) ** 2
        odds = basis @ values
        likely = groups.n_positive @ odds - groups.n_rows @ np.log1p(np.exp(odds))
        return walk / 2 + overall / 2 - likely

    peaks, evidence = [], []
    for s in bends:
        found = minimize(minus_log, knots, args=(s,), method="BFGS", options={"gtol": 1e-6})
        found = minimize(minus_log, found.x, args=(s,), method="BFGS", options={"gtol": 1e-6})
        odds = basis @ found.x
        information = groups.n_rows * expit(odds) * expit(-odds)
        curvature = basis.T @ (basis * information[:, None])
        for j in range(knots.size - 2):  # the walk, one change of slope after the other
            change = np.zeros(knots.size)
            change[j : j + 3] = [1 / gap[j], -1 / gap[j] - 1 / gap[j + 1], 1 / gap[j + 1]]
            curvature += np.outer(change, change) / ((gap[j] + gap[j + 1]) / 2) / s**2
        tilt = np.zeros(knots.size)
        tilt[0], tilt[-1] = -1 / (knots[-1] - knots[0]), 1 / (knots[-1] - knots[0])
        curvature += np.outer(tilt, tilt)
        peaks.append(found.x)
        evidence.append(
            -found.fun - (knots.size - 2) * np.log(s) - np.linalg.slogdet(curvature)[1] / 2
        )
    weight = np.exp(np.array(evidence) - max(evidence))
    mean = weight / weight.sum() @ np.array(peaks)
    fitted = fit_smooth(is_positive, raw)
    at_rows = line.log_odds(raw)
    assert smooth_module._read(at_rows, knots, fitted.values) == approx(
        smooth_module._read(at_rows, knots, mean), abs=0.05
    )


@examples(40)
@given(st.integers(2, 6), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_sums_over_hats_are_products_with_their_matrix(n_knots, n_places, seed):
    generator = np.random.default_rng(seed)
    knots = np.cumsum(generator.uniform(0.1, 2.0, n_knots))
    at = np.append(generator.uniform(knots[0], knots[-1], n_places), knots)
    weights, values = generator.normal(size=at.size), generator.normal(size=n_knots)
    hats = smooth_module._Hats(*smooth_module._places(at, knots), n_knots)
    basis = hats_at(at, knots)
    assert hats.at(values) == approx(basis @ values)
    assert hats.sums(weights) == approx(basis.T @ weights)
    assert hats.products(weights) == approx(basis.T @ (weights[:, None] * basis))


def hats_at(at, knots):
    """Return the weight of each knot at each place, one row per place."""
    return np.array([np.interp(at, knots, own) for own in np.eye(knots.size)]).T


def test_beta_is_a_logistic_regression_on_two_logarithms():
    is_positive, raw = drawn(np.random.default_rng(8), "a steep top", 20_000)
    fitted = fit_beta(is_positive, raw)
    share = fitted.line.probability(raw)
    columns = np.column_stack([np.log(share), -np.log1p(-share)])
    model = LogisticRegression(C=1e9, max_iter=1000).fit(columns, is_positive)
    assert fitted.theta == approx([*model.coef_[0], model.intercept_[0]], abs=0.05)


def test_beta_of_a_reversed_score_keeps_its_order():
    is_positive, raw = drawn(np.random.default_rng(9), "a line", 3000)
    fitted = fit_beta(is_positive, -raw)
    assert (fitted.theta[:2] >= 0).all()
    assert np.all(np.diff(fitted.probability(np.sort(-raw))) >= 0)


@examples(40)
@given(rankings(max_rows=40))
def test_isotonic_has_the_steps_of_scikit_learn(sample):
    is_positive, raw = sample
    fitted = fit_isotonic(is_positive, raw)
    steps = IsotonicRegression().fit(raw, is_positive.astype(float)).predict(raw)
    # half a row of the overall share is added to each step; a step that it lifts above the next
    # is one with it
    own = np.array(
        [
            (each.sum() + is_positive.mean() / 2) / (each.size + 0.5)
            for each in (is_positive[steps == value] for value in np.unique(steps))
        ]
    )
    if (np.diff(own) > 0).all():
        for value, share in zip(np.unique(steps), own, strict=True):
            assert fitted.probability(raw[steps == value]) == approx(share)
    order = np.argsort(raw)
    same = np.diff(steps[order]) == 0
    assert (np.diff(fitted.log_odds(raw[order]))[same] == 0).all()


def coverage(method, truth, n_rows, k, n_cases=200):
    generator = np.random.default_rng(10)
    n_inside = 0
    for _ in range(n_cases):
        calibration = fit_calibration(*drawn(generator, truth, n_rows), method)
        is_positive, raw = drawn(generator, truth, n_rows)
        top = np.argsort(-raw)[:k]
        _, low, high = calibration.expected_positives(raw[top])
        n_inside += low <= is_positive[top].sum() <= high
    return n_inside / n_cases


@pytest.mark.parametrize(
    ("truth", "n_cases", "within"),
    [
        ("a steep top", 20, 0.1),
        *(pytest.param(truth, 200, 0.06, marks=pytest.mark.slow) for truth in TRUTHS),
    ],
)
def test_the_smooth_range_holds_nine_lists_of_ten_whatever_the_shape(truth, n_cases, within):
    found = coverage("smooth", truth, n_rows=2000, k=60, n_cases=n_cases)
    assert found == approx(0.9, abs=within)


def test_the_sigmoids_range_does_not_where_the_truth_is_none():
    assert coverage("sigmoid", "a steep top", n_rows=4000, k=60, n_cases=50) < 0.75


@pytest.mark.parametrize("method", METHODS)
def test_a_calibration_comes_back_from_plain_values(method):
    is_positive, raw = drawn(np.random.default_rng(11), "a ceiling", 2000)
    fitted = fit_calibration(is_positive, raw, method)
    again = calibration_from_json(json.loads(json.dumps(calibration_to_json(fitted))))
    assert again == fitted
    assert np.array_equal(again.probability(raw), fitted.probability(raw))
    assert again.expected_positives(raw) == fitted.expected_positives(raw)
    assert fitted.line == fit_sigmoid(is_positive, raw)


@pytest.mark.parametrize("method", METHODS)
def test_a_ranker_is_calibrated_as_asked_and_saved_with_it(method, tmp_path):
    generator = np.random.default_rng(12)
    X = generator.normal(size=(3000, 2))
    y = generator.random(3000) < expit(3 * X[:, 0] - 4)
    ranker = toprank.BoostedRanker(n_estimators=10, n_jobs=1).fit(X[:1500], y[:1500])
    ranker.calibrate(X[1500:], y[1500:], method=method)
    toprank.save(ranker, tmp_path / "model.toprank")
    again = toprank.load(tmp_path / "model.toprank")
    assert again.calibration_ == ranker.calibration_
    assert np.array_equal(again.predict_proba(X), ranker.predict_proba(X))


@pytest.mark.parametrize(
    ("method", "change", "sentence"),
    [
        ("smooth", {"knots": [0.0, 0.0]}, r"knots of a calibration .* got \[0\.0, 0\.0\]"),
        ("smooth", {"values": [1.0]}, "values, rising and covariance of a calibration"),
        ("smooth", {"line": [-1.0, 0.0, 0.0, 0.0, 0.0]}, "calibration must be finite and rising"),
        ("smooth", {"kind": "cubic"}, "kind of calibration must be one of"),
        ("beta", {"theta": [-1.0, 1.0, 0.0]}, r"theta .* got \[-1\.0, 1\.0, 0\.0\]"),
        ("isotonic", {"begins": []}, "must each have a begin, a value and rows"),
        ("isotonic", {"values": "reversed"}, "steps of a calibration must rise"),
        ("isotonic", {"n_rows": "negative"}, "must rest on rows"),
        ("beta", {"covariance": [[float("nan")] * 3] * 3}, "must hold finite numbers"),
    ],
)
def test_what_makes_no_calibration_is_refused(method, change, sentence):
    is_positive, raw = drawn(np.random.default_rng(13), "a ceiling", 2000)
    plain = calibration_to_json(fit_calibration(is_positive, raw, method))
    for name, value in change.items():
        if value == "reversed":
            value = plain[name][::-1]
        if value == "negative":
            value = [-1.0 for _ in plain[name]]
        plain[name] = value
    with pytest.raises(ValueError, match=sentence):
        calibration_from_json(plain)


def test_smooth_falling_values_are_refused():
    is_positive, raw = drawn(np.random.default_rng(13), "a ceiling", 2000)
    plain = calibration_to_json(fit_smooth(is_positive, raw))
    plain["rising"] = plain["rising"][::-1]
    with pytest.raises(ValueError, match="rising of a calibration must rise"):
        calibration_from_json(plain)


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(ValueError, match="method must be one of 'smooth', 'sigmoid', 'beta'"):
        fit_calibration([True, False], [1.0, 0.0], "platt")


def test_equal_scores_are_a_sigmoid():
    assert isinstance(fit_smooth([0, 0, 1, 1, 0, 1], [0.5] * 6), SigmoidCalibration)


def test_far_above_all_scores_counts_are_those_of_the_top_even_if_it_fell():
    generator = np.random.default_rng(0)
    raw = generator.uniform(-10, 10, 4000)
    share = np.where(raw > 9, 0.3, np.where(raw > 2, 0.95, 0.02))
    calibration = fit_smooth(generator.random(4000) < share, raw)
    top, above = (calibration.expected_positives(np.full(50, at)) for at in (10.0, 60.0))
    assert 3 < top.value < 20
    assert above.value == approx(top.value, rel=0.2)
