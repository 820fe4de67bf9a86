"""AutoRanker: scikit-learn's contract, its modes of judging, labels, weights, seeds, errors."""

import re
import threading

import numpy as np
import pandas as pd
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from contracts import check_ranker
from toprank import AutoRanker
from toprank.data.inputs import TrainingRows
from toprank.losses import make_loss
from toprank.metrics import average_precision
from toprank.rankers import reasons
from toprank.rankers.auto import judge, search, work
from toprank.rankers.auto.forest_member import ForestMember
from toprank.rankers.auto.judged_folds import random_folds
from toprank.rankers.auto.work import Effort

PLAIN_ONLY = {"time_limit": 1e-9, "n_estimators": 10, "n_jobs": 1}
SMALL = {"n_estimators": 6, "n_bags": 2, "n_jobs": 1}


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract():
    outcomes = check_estimator(
        AutoRanker(time_limit=1e-9, n_estimators=3),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": (
                "copies of a row fall into other folds than the row with their weight would, and "
                "the probabilities are fitted to scores out of fold"
            )
        },
        on_fail="raise",
    )
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 2  # that one, and array API input where not enabled


@pytest.fixture(scope="module")
def payments():
    generator = np.random.default_rng(0)
    n = 500
    amount = generator.gamma(2.0, 40.0, n)
    country = generator.choice(["FR", "DE", "US"], n, p=[0.7, 0.2, 0.1])
    online = generator.random(n) < 0.4
    hours = np.where(generator.random(n) < 0.1, np.nan, generator.exponential(10, n))
    risk = amount / 80 + 2 * (country == "US") + generator.normal(size=n) > 4
    frame = pd.DataFrame(
        {"amount": amount, "country": country, "online": online, "hours_since_last": hours}
    )
    return frame, risk


@pytest.fixture(scope="module")
def fitted(payments):
    return AutoRanker(**SMALL).fit(*payments)


def test_it_keeps_the_promises_of_every_ranker(payments):
    frame, risk = payments
    check_ranker(AutoRanker(**SMALL), frame[:250], risk[:250])


def test_the_whole_list_of_recipes_is_in_the_account(payments, fitted):
    frame, risk = payments
    words = [each.words for each in fitted.account_.tried]

    assert words[0] == "6 trees of depth 4 on log-loss"
    assert {"randomised forest of 3 trees", "linear model", "quadratic model"} <= set(words)
    assert fitted.account_.judged_on == "5 folds"
    assert not fitted.account_.left_out
    assert len(fitted.members_) == fitted.account_.winner.count(" + ") + 1
    assert average_precision(risk, fitted.suspicion(frame)) > 0.5


def test_the_account_reads_as_a_table_and_a_verdict(fitted):
    head, *lines, verdict = str(fitted.account_).splitlines()

    assert head.split() == ["AP", "against", "plain", "log-loss", "seconds"]
    figures = r" [* ] [01]\.\d{3}(  [+-][01]?\.\d{3} \([+-].* to [+-].*\))? +\d+\.\d"
    for line, each in zip(lines, fitted.account_.tried, strict=True):
        assert line.startswith(each.words)
        assert re.fullmatch(rf" *{figures}", line.removeprefix(each.words))
    assert sum("*" in line for line in lines) == 1
    assert re.fullmatch(r"Judged on 5 folds\. Kept .*: .*\.", verdict)


def test_contributions_add_up_to_suspicion_and_reasons_can_be_given(payments, fitted):
    frame, _ = payments
    shares = fitted.contributions(frame)

    assert shares.shape == (len(frame), 5)
    assert shares.sum(axis=1) == approx(fitted.suspicion(frame), abs=1e-5)
    top = frame.iloc[[int(np.argmax(fitted.suspicion(frame)))]]
    assert reasons.explain(fitted, top)[0][0].feature in {"amount", "country"}


def test_importances_add_up_to_one(fitted):
    assert fitted.feature_importances_.shape == (4,)
    assert fitted.feature_importances_.sum() == approx(1)
    assert fitted.feature_importances_[:2].sum() > 0.6  # amount and country


def test_the_suspicion_is_the_mean_of_standardised_members(payments, fitted):
    frame, _ = payments
    features = fitted.schema_.encode(frame)
    standardised = [
        (member.raw(features) - centre) / spread
        for member, (centre, spread) in zip(fitted.members_, fitted.scales_, strict=True)
    ]
    assert fitted.suspicion(frame) == approx(np.mean(standardised, axis=0))


# Rows to judge on


def test_rows_of_an_eval_set_are_judged_on_and_then_learned_from(payments, monkeypatch):
    frame, risk = payments
    folds = watched_folds(monkeypatch)
    ranker = AutoRanker(**PLAIN_ONLY)
    ranker.fit(frame[:300], risk[:300], eval_set=(frame[300:], risk[300:]))

    (fold,) = folds
    assert np.array_equal(fold.train, np.arange(300))
    assert np.array_equal(fold.judged, np.arange(300, 500))
    assert ranker.account_.judged_on == "the eval_set"
    both = AutoRanker(**PLAIN_ONLY).fit(frame, risk)
    assert ranker.suspicion(frame) == approx(both.suspicion(frame), abs=1e-5)


def test_with_time_windows_of_the_latest_half_are_judged_on(payments, monkeypatch):
    frame, _ = payments
    folds = watched_folds(monkeypatch)
    hours = np.random.default_rng(0).permutation(500)
    time = np.datetime64("2025-01-01T00", "h") + hours
    ranker = AutoRanker(**PLAIN_ONLY)
    ranker.fit(frame, frame["amount"] > 100, time=pd.Series(time), gap="1d")

    assert len(folds) == 4
    for fold in folds:
        assert hours[fold.judged].min() - hours[fold.train].max() == 25
    judged = np.concatenate([fold.judged for fold in folds])
    assert set(hours[judged]) == set(range(hours[judged].min(), 500))
    assert ranker.account_.judged_on == "4 later windows, resampled by day"


@pytest.mark.parametrize("weight", [1.0, np.arange(500) % 7], ids=["one", "many"])
def test_time_goes_with_weights(payments, weight, monkeypatch):
    frame, risk = payments
    folds = watched_folds(monkeypatch)
    time = np.datetime64("2025-01-01T00", "h") + np.arange(500)
    ranker = AutoRanker(**PLAIN_ONLY).fit(frame, risk, weight, time=time)

    n_rows = np.count_nonzero(np.broadcast_to(weight, 500))  # rows with zero weight are ignored
    for fold in folds:
        assert fold.train.max() < fold.judged.min()
    assert folds[-1].judged.max() == n_rows - 1
    assert np.broadcast_to(weight, 500)[ranker.judged_.row].all()
    assert ranker.judged_.row.max() == 499


def test_a_gap_without_time_is_rejected_instead_of_ignored(payments):
    with pytest.raises(ValueError, match="gap must be None without time; got '7d'"):
        AutoRanker(**PLAIN_ONLY).fit(*payments, gap="7d")


def test_every_judged_row_is_kept_with_its_fold_and_the_winners_suspicion(payments):
    frame, risk = payments
    ranker = AutoRanker(**SMALL).fit(frame, risk)
    row, origin, suspicion = ranker.judged_

    assert np.array_equal(np.sort(row), np.arange(500))
    assert np.array_equal(np.unique(origin), np.arange(5))
    assert average_precision(risk[row], suspicion) == approx(
        ranker.account_.chosen.average_precision
    )


def test_judged_rows_of_an_eval_set_are_numbered_within_it(payments):
    frame, risk = payments
    weight = np.where(np.arange(200) % 2, 1.0, 0.0)
    ranker = AutoRanker(**PLAIN_ONLY)
    ranker.fit(frame[:300], risk[:300], eval_set=(frame[300:], risk[300:], weight))

    assert np.array_equal(ranker.judged_.row, np.arange(1, 200, 2))
    assert not ranker.judged_.origin.any()


def watched_folds(monkeypatch):
    """Return the list that the folds of the next judge will be put into."""
    folds, start = [], judge.Judge.__post_init__
    monkeypatch.setattr(
        judge.Judge, "__post_init__", lambda self: (folds.extend(self.judging.folds), start(self))
    )
    return folds


@pytest.mark.parametrize(
    ("n_rows", "n_positive", "n_folds"),
    [
        (100, 1, 1),
        (100, 2, 2),
        (100, 4, 4),
        (100, 50, 5),
        (100, 98, 2),
        (50_000, 149, 5),
        (50_000, 150, 3),
        (50_001, 149, 3),
        (50_001, 999, 3),
        (60_000, 2, 2),
        (50_000, 1_000, 1),
        (50_000, 49_000, 1),
    ],
)
def test_many_rows_and_many_positives_need_fewer_folds(n_rows, n_positive, n_folds):
    is_positive = np.arange(n_rows) < n_positive
    rows = TrainingRows(np.empty((n_rows, 0), np.float32), is_positive, None)
    assert len(random_folds(rows, seed=0).folds) == n_folds


def test_weights_of_an_eval_set_weigh_in_the_judgement(payments):
    frame, risk = payments
    halves = frame[:250], risk[:250], frame[250:], risk[250:]
    weight = np.random.default_rng(0).exponential(size=250)
    ranker = AutoRanker(**PLAIN_ONLY)
    plain = clone(ranker).fit(*halves[:2], eval_set=halves[2:])
    weighed = clone(ranker).fit(*halves[:2], eval_set=(*halves[2:], weight))

    assert weighed.account_.chosen.average_precision != approx(
        plain.account_.chosen.average_precision, abs=1e-9
    )


def test_a_row_of_no_weight_in_the_eval_set_is_no_row(payments):
    frame, risk = payments
    weight = (np.arange(250) % 3 > 0).astype(float)
    ranker = AutoRanker(**PLAIN_ONLY)
    kept = weight > 0
    dropped = clone(ranker).fit(
        frame[:250], risk[:250], eval_set=(frame[250:][kept], risk[250:][kept], weight[kept])
    )
    weighed = clone(ranker).fit(
        frame[:250], risk[:250], eval_set=(frame[250:], risk[250:], weight)
    )
    assert np.array_equal(weighed.suspicion(frame), dropped.suspicion(frame))
    assert weighed.calibration_ == dropped.calibration_


# Seeds, labels, weights, few positives


def test_a_seed_gives_the_same_ranker_again(payments, fitted):
    again = AutoRanker(**SMALL).fit(*payments)
    frame, _ = payments

    assert np.array_equal(again.suspicion(frame), fitted.suspicion(frame))
    assert again.account_.winner == fitted.account_.winner
    assert again.calibration_ == fitted.calibration_


def test_a_busy_machine_gives_the_same_model(payments, fitted):
    frame, _ = payments
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            np.random.default_rng(0).normal(size=10_000).sum()

    busy = [threading.Thread(target=compute) for _ in range(3)]
    for thread in busy:
        thread.start()
    try:
        again = AutoRanker(**SMALL).fit(*payments)
    finally:
        stop.set()
        for thread in busy:
            thread.join()

    assert np.array_equal(again.suspicion(frame), fitted.suspicion(frame))
    assert again.account_.to_json() == fitted.account_.to_json()


def test_less_effort_tries_less_and_lists_what_it_skipped(payments, monkeypatch):
    efforts = {"quick": Effort(0, 3e7, 1e9), "normal": Effort(0, 1e12, 1e9)}
    monkeypatch.setattr(work, "_EFFORTS", efforts)
    quick, normal = (AutoRanker(effort=effort, **SMALL).fit(*payments) for effort in efforts)

    assert quick.account_.beyond_effort
    assert "Skipped (effort): " in str(quick.account_)
    assert not normal.account_.beyond_effort


@pytest.mark.parametrize("seed", [2**31 - 1, None, np.random.RandomState(1)], ids=str)
def test_every_kind_of_random_state_is_accepted(payments, seed):
    frame, risk = payments
    ranker = AutoRanker(random_state=seed, n_estimators=2, n_jobs=1).fit(frame[:200], risk[:200])
    assert np.isfinite(ranker.suspicion(frame)).all()


def test_a_label_with_a_positive_name_is_positive_wherever_it_sorts(payments):
    frame, risk = payments
    names = np.where(risk, "fraud", "genuine")  # "fraud" sorts first
    named = AutoRanker(**PLAIN_ONLY).fit(frame, names)
    plain = AutoRanker(**PLAIN_ONLY).fit(frame, risk)

    assert named.positive_label_ == "fraud"
    assert np.array_equal(named.suspicion(frame), plain.suspicion(frame))
    assert named.predict_proba(frame)[:, 0] == approx(plain.predict_proba(frame)[:, 1])
    assert set(named.predict(frame)) == {"fraud", "genuine"}


def test_a_named_positive_label_reverses_the_list(payments):
    frame, risk = payments
    usual = AutoRanker(**PLAIN_ONLY).fit(frame, risk)
    turned = AutoRanker(**PLAIN_ONLY, positive_label=False).fit(frame, risk)

    assert not turned.positive_label_
    assert np.corrcoef(usual.suspicion(frame), turned.suspicion(frame))[0, 1] < -0.9


@pytest.mark.parametrize("dear", [0, 1])
def test_value_at_risk_decides_which_of_two_kinds_of_fraud_comes_first(dear):
    # two columns, each the sign of one kind of fraud; both kinds are as frequent
    generator = np.random.default_rng(0)
    sign = generator.integers(0, 3, 700)
    X = np.column_stack([sign == 1, sign == 2]).astype(float)
    y = (sign > 0) & (generator.random(700) < 0.3)
    weight = np.where(y & (sign == dear + 1), 40.0, 1.0)
    ranker = AutoRanker(**SMALL).fit(X, y, sample_weight=weight)
    suspicion = ranker.suspicion(X)

    assert suspicion[sign == dear + 1].min() > suspicion[sign == 2 - dear].max()
    assert suspicion[sign == 2 - dear].mean() > suspicion[sign == 0].mean()


@pytest.mark.parametrize("n_positive", [1, 2, 3])
@pytest.mark.parametrize("settings", [SMALL, PLAIN_ONLY], ids=["all", "plain"])
def test_a_handful_of_positives_is_enough(n_positive, settings):
    generator = np.random.default_rng(0)
    y = np.arange(60) < n_positive
    X = generator.normal(size=(60, 2)) + 3 * y[:, None]
    ranker = AutoRanker(**settings).fit(X, y)

    assert np.isfinite(ranker.suspicion(X)).all()
    assert np.isfinite(ranker.contributions(X)).all()
    expected = ranker.expected_positives(X)
    assert 0 <= expected.low <= expected.value <= expected.high <= 60
    judged_on = {1: "the training rows", 2: "2 folds", 3: "3 folds"}
    assert ranker.account_.judged_on == judged_on[n_positive]
    if settings is SMALL:
        assert set(np.argsort(-ranker.suspicion(X))[:n_positive]) == set(range(n_positive))


def test_a_member_that_scored_every_row_alike_does_not_dominate_the_others():
    # the one positive to learn from is far out, so the forest calls all judged rows negative;
    # fitted to all rows, it does not
    generator = np.random.default_rng(0)
    y = np.isin(np.arange(200), [0, 100, 101, 102, 103, 104])
    X = generator.normal(size=(200, 3)) + 2 * y[:, None]
    X[0] = 30
    ranker = AutoRanker(**SMALL).fit(X[:100], y[:100], eval_set=(X[100:], y[100:]))

    precision = {each.words: each.average_precision for each in ranker.account_.tried}
    assert precision["randomised forest of 3 trees"] == approx(0.05)
    assert any(isinstance(member, ForestMember) for member in ranker.members_)
    assert len(ranker.members_) > 1
    assert np.abs(ranker.suspicion(X)).max() < 1000
    assert average_precision(y, ranker.suspicion(X)) > 0.8


# The chosen recipe on other rows


def test_refit_fits_the_chosen_recipe_to_other_rows_and_keeps_the_rest(payments):
    frame, risk = payments
    ranker = AutoRanker(**SMALL).fit(frame[:250], risk[:250])
    account, calibration = ranker.account_, ranker.calibration_
    before = ranker.suspicion(frame)
    again = ranker.refit(frame, risk)

    assert again is ranker
    assert ranker.account_ is account
    assert ranker.calibration_ is calibration
    assert not np.array_equal(ranker.suspicion(frame), before)
    assert np.array_equal(ranker.refit(frame[:250], risk[:250]).suspicion(frame), before)


def test_refit_learns_categories_that_are_new(payments):
    frame, risk = payments
    is_new = frame["country"] == "US"
    ranker = AutoRanker(**SMALL).fit(frame[~is_new], risk[~is_new])
    assert "US" not in ranker.schema_.columns[1].categories
    assert "US" in ranker.refit(frame, risk).schema_.columns[1].categories


def test_refit_needs_a_fitted_ranker_and_the_same_columns_and_classes(payments, fitted):
    frame, risk = payments
    with pytest.raises(NotFittedError):
        AutoRanker(**SMALL).refit(frame, risk)
    with pytest.raises(ValueError, match="columns must be those of fit"):
        fitted.refit(frame[["amount"]], risk)
    with pytest.raises(ValueError, match="classes must be those of fit"):
        fitted.refit(frame, np.where(risk, "fraud", "genuine"))


# Time limit, budget, expectations


def test_out_of_time_only_plain_log_loss_is_fitted_and_the_rest_named(payments):
    ranker = AutoRanker(**PLAIN_ONLY).fit(*payments)

    assert ranker.account_.is_plain
    assert len(ranker.account_.tried) == 1
    assert "nothing else was tried" in str(ranker.account_)
    skipped = str(ranker.account_).splitlines()[-1]
    assert skipped.startswith("Skipped (time limit): ")
    assert "randomised forest of 5 trees" in skipped


def test_progress_is_reported_for_recipes_and_for_the_final_fit(payments):
    reported = []
    frame, risk = (part[:250] for part in payments)
    ranker = AutoRanker(**SMALL).fit(frame, risk, progress=lambda *now: reported.append(now))

    n_members = len(ranker.members_)
    fitting = [now for now in reported if now[0] == "fitting the winner"]
    assert fitting == [("fitting the winner", done, n_members) for done in range(n_members + 1)]
    assert reported[0][:2] == ("trying recipes", 0)
    assert reported[-len(fitting) :] == fitting


@pytest.mark.parametrize(("ending", "n_bags"), [("columns drawn", 3), ("on log-loss", 1)])
def test_drawn_trees_are_bagged_and_others_are_not(payments, ending, n_bags, monkeypatch):
    def wanted(self, *_):
        return next(each for each in self._trials if each.words.endswith(ending)), "so"

    monkeypatch.setattr(search._Search, "_winner", wanted)
    ranker = AutoRanker(n_estimators=3, n_bags=3, n_jobs=1).fit(*payments)
    (member,) = ranker.members_
    n_trees = int(ranker.account_.winner.split()[0])

    assert member.booster.num_boosted_rounds() == n_trees * n_bags


def test_the_budget_decides_how_many_rows_are_counted(payments):
    frame, risk = payments
    ranker = AutoRanker(30, **PLAIN_ONLY).fit(frame, risk)
    top = np.sort(ranker.probability(frame))[::-1]

    assert ranker.expected_positives(frame).value == approx(top[:30].sum())
    assert ranker.expected_positives(frame, 10).value == approx(top[:10].sum())
    assert ranker.expected_positives(frame, 10**6).value == approx(top.sum())
    no_budget = AutoRanker(**PLAIN_ONLY).fit(frame, risk)
    assert no_budget.expected_positives(frame).value == approx(top.sum())
    with pytest.raises(ValueError, match="budget must be at least 1; got 0"):
        ranker.expected_positives(frame, 0)


@pytest.mark.parametrize(
    ("n_seeds", "least_covered"), [(4, 2), pytest.param(30, 23, marks=pytest.mark.slow)]
)
def test_the_expected_number_of_positives_holds_on_new_rows(n_seeds, least_covered):
    covered, errors = 0, []
    for seed in range(n_seeds):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(1100, 3))
        y = generator.logistic(size=1100) < 1.5 * X[:, 0] + X[:, 1] - 3.0
        ranker = AutoRanker(100, random_state=seed, **PLAIN_ONLY).fit(X[:500], y[:500])
        expected = ranker.expected_positives(X[500:])
        listed = np.argsort(-ranker.suspicion(X[500:]))[:100]
        found = y[500:][listed].sum()
        covered += expected.low <= found <= expected.high
        errors.append(found - expected.value)

    # a range of nine in ten: fewer than 23 of 30 would happen once in fifty
    assert covered >= least_covered
    assert np.mean(errors) == approx(0, abs=5)


# Errors


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"budget": 0}, ValueError, "budget must be at least 1; got 0"),
        ({"budget": 2.5}, TypeError, "budget must be a whole number; got 2.5"),
        ({"effort": "high"}, ValueError, "effort must be one of .*'normal'.*; got 'high'"),
        ({"time_limit": 0}, ValueError, "time_limit must be greater than 0; got 0"),
        ({"time_limit": "1h"}, TypeError, "time_limit must be a number; got '1h'"),
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1; got 0"),
        ({"n_bags": 0}, ValueError, "n_bags must be between 1 and 100; got 0"),
        ({"random_state": -1}, ValueError, "random_state must be between 0 and"),
        ({"positive_label": "x"}, ValueError, r"positive_label must be one of \[False, True\]"),
        ({"losses": ["ap-epx"]}, ValueError, "losses must be one of 'log', .*; got 'ap-epx'"),
        ({"losses": "ap-exp"}, TypeError, "losses must be a list of names or None; got 'ap-exp'"),
        ({"losses": 3}, TypeError, "losses must be a list of names or None; got 3"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(payments, settings, error, sentence):
    with pytest.raises(error, match=sentence):
        AutoRanker(**settings).fit(*payments)


def hours(n):
    return np.datetime64("2025-01-01T00", "h") + np.arange(n)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"time": hours(499)}, ValueError, "time must .* got 499"),
        (
            {"time": hours(499), "sample_weight": np.arange(500)},
            ValueError,
            "time must .*500.* got 499",
        ),
        ({"time": np.arange(500)}, TypeError, "time must .* datetime64"),
        ({"time": np.repeat(hours(1), 500)}, ValueError, "time must .* at least two"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight must have 500 values; got 3"),
        ({"sample_weight": -np.ones(500)}, ValueError, "sample_weight must not be negative"),
        (
            {"eval_set": (np.ones((3, 4)),)},
            ValueError,
            r"eval_set must be \(X, y\) or .* got 1 ",
        ),
        ({"eval_set": 5}, ValueError, r"eval_set must be \(X, y\) or \(X, y, weights\).*; got 5"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_wrong_arguments_are_named(payments, arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        AutoRanker(**PLAIN_ONLY).fit(*payments, **arguments)


@pytest.mark.parametrize(
    ("label", "weight", "sentence"),
    [
        (7, None, r"labels of eval_set must be \[False, True\]; got 7 in 500 of 500 rows"),
        (False, None, "eval_set must contain both classes; got 0 rows labelled True among 500"),
        (
            None,
            "only negatives",
            "eval_set, without rows of zero weight, must .* both classes; got 0",
        ),
    ],
)
def test_an_eval_set_that_does_not_fit_is_named(payments, label, weight, sentence):
    frame, risk = payments
    labels = risk if label is None else np.full(500, label)
    eval_set = (frame, labels) if weight is None else (frame, labels, ~risk)
    with pytest.raises(ValueError, match=sentence):
        AutoRanker(**PLAIN_ONLY).fit(frame, risk, eval_set=eval_set)


def test_an_eval_set_may_be_a_list_of_one(payments):
    frame, risk = payments
    one, other = (
        AutoRanker(**PLAIN_ONLY).fit(frame, risk, eval_set=each)
        for each in ((frame, risk, risk + 1.0), [(frame, risk, risk + 1.0)])
    )
    assert np.array_equal(one.suspicion(frame), other.suspicion(frame))
    assert one.account_.judged_on == other.account_.judged_on == "the eval_set"
    with pytest.raises(ValueError, match="eval_set must be one set of rows; got 2 sets"):
        AutoRanker(**PLAIN_ONLY).fit(frame, risk, eval_set=[payments, payments])


@pytest.mark.parametrize(
    ("losses", "tried"),
    [(None, {"ap-exp", "ap-lambda"}), ([], set()), (["auc-exp"], {"auc-exp"})],
)
def test_losses_that_may_not_be_tried_never_are(losses, tried, monkeypatch):
    named = []
    monkeypatch.setattr(
        "toprank.rankers.auto.boosted.make_loss",
        lambda name, *rest: named.append(name) or make_loss(name),
    )
    X = np.random.default_rng(0).normal(size=(330, 2))
    AutoRanker(n_estimators=1, losses=losses, n_jobs=1).fit(X, X[:, 0] > 1)

    assert set(named) == {"log", *tried}


def test_time_with_an_eval_set_is_rejected_instead_of_ignored(payments):
    with pytest.raises(ValueError, match=r"time must be None .* eval_set"):
        AutoRanker(**PLAIN_ONLY).fit(*payments, time=hours(500), eval_set=payments)


def test_latest_rows_without_positives_are_rejected_with_the_way_out(payments):
    frame, risk = payments
    first = np.argsort(~risk, kind="stable")  # all positives come early
    with pytest.raises(ValueError, match=r"the latest rows must .* both classes.*leave out time"):
        AutoRanker(**PLAIN_ONLY).fit(frame.iloc[first], risk[first], time=hours(500))


def test_one_positive_leaves_no_choice():
    X = np.random.default_rng(0).normal(size=(60, 2))
    ranker = AutoRanker(n_estimators=10, n_jobs=1).fit(X, np.arange(60) == 7)
    assert ranker.account_.is_plain
    assert len(ranker.account_.tried) == 1
    assert ranker.account_.judged_on == "the training rows"
    assert ranker.account_.reason == "a single positive is too few to compare recipes"
    assert not ranker.account_.left_out


def test_the_unit_of_the_weights_changes_nothing(payments):
    features, is_fraud = (part[:250] for part in payments)
    amounts = np.linspace(1, 5, len(is_fraud))
    settings = {"n_estimators": 4, "n_bags": 2, "n_jobs": 1}
    euros = AutoRanker(**settings).fit(features, is_fraud, amounts)
    cents = AutoRanker(**settings).fit(features, is_fraud, 1024 * amounts)
    assert euros.account_.winner == cents.account_.winner
    assert np.allclose(euros.suspicion(features), cents.suspicion(features), atol=1e-5)


def test_weights_leave_probabilities_as_shares_of_rows(payments):
    features, is_fraud = payments
    weight = np.where(is_fraud, 10.0, 1.0)
    ranker = AutoRanker(n_estimators=4, n_bags=2, n_jobs=1).fit(features, is_fraud, weight)
    low, high = ranker.expected_positives(features)[1:]
    assert low <= is_fraud.sum() <= high
