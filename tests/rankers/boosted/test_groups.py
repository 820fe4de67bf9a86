"""BoostedRanker on a list of groups: cards of a day, each as suspicious as its worst payment."""

import numpy as np
import pytest
from pytest import approx
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_validate

from toprank import BoostedRanker, files
from toprank.losses import ApCard
from toprank.metrics import average_precision
from toprank.rankers.boosted.early_stopping import RoundVote
from toprank.rankers.boosted.objective import Objective

FAST = {"n_estimators": 40, "warm_start_trees": 20, "n_jobs": 1}


@pytest.fixture(scope="module")
def card_days():
    """Card-days of which frauds have many payments, one of them telling."""
    generator = np.random.default_rng(0)
    is_fraud = generator.random(600) < 0.1
    n_payments = np.where(is_fraud, 6, 1 + generator.integers(0, 4, 600))
    groups = np.repeat(np.arange(600), n_payments)
    is_first = np.append(True, groups[1:] != groups[:-1])
    X = generator.normal(size=(groups.size, 3))
    X[is_first & is_fraud[groups], 0] += 2.5
    return X, is_fraud[groups], groups


def ap_of_groups(ranker, X, y, groups):
    suspicion, highest = ranker.suspicion(X), np.full(groups.max() + 1, -np.inf)
    np.maximum.at(highest, groups, suspicion)
    return average_precision(np.bincount(groups, y) > 0, highest)


def test_groups_are_required_and_must_be_one_per_row(card_days):
    X, y, groups = card_days
    with pytest.raises(ValueError, match=r"groups must be given to fit with loss='ap-card'.*None"):
        BoostedRanker("ap-card", **FAST).fit(X, y)
    with pytest.raises(ValueError, match=rf"groups must have {y.size} values, one per row; got"):
        BoostedRanker("ap-card", **FAST).fit(X, y, groups=groups[1:])
    with pytest.raises(ValueError, match=r"loss must be one of rows with engine='paper'"):
        BoostedRanker("ap-card", engine="paper").fit(X, y, groups=groups)


def test_a_fraud_of_many_payments_counts_once():
    # rows = [few cards of many payments | many cards of one payment | genuine cards of one]
    n_payments = np.concatenate([np.full(10, 20), np.ones(30, int), np.ones(300, int)])
    groups = np.repeat(np.arange(340), n_payments)
    y = groups < 40
    kind = np.zeros(340)  # 1: most payments are frauds, most cards are not; 2: most cards are
    kind[:10], kind[10:40], kind[40:80], kind[80:100] = 1, 2, 1, 2
    X = np.column_stack([kind == 1, kind == 2])[groups].astype(float)
    options = {"n_estimators": 30, "warm_start_trees": 0, "max_depth": 2, "n_jobs": 1}
    of_rows = BoostedRanker("ap-lambda", **options).fit(X, y)
    of_cards = BoostedRanker("ap-card", **options).fit(X, y, groups=groups)
    assert ap_of_groups(of_cards, X, y, groups) > ap_of_groups(of_rows, X, y, groups) + 0.05
    assert np.argsort(of_rows.suspicion([[1.0, 0.0], [0.0, 1.0]])).tolist() == [1, 0]
    assert np.argsort(of_cards.suspicion([[1.0, 0.0], [0.0, 1.0]])).tolist() == [0, 1]


def test_groups_are_names_or_numbers_and_a_missing_one_is_an_entry_of_its_own(card_days):
    X, y, groups = card_days
    ranker = BoostedRanker("ap-card", **FAST).fit(X, y, groups=groups)
    named = [f"card {number}" for number in groups]
    same = BoostedRanker("ap-card", **FAST).fit(X, y, groups=named)
    assert np.array_equal(same.suspicion(X), ranker.suspicion(X))
    nothing = BoostedRanker("ap-card", **FAST).fit(X, y, groups=[None] * y.size)
    of_rows = BoostedRanker("ap-lambda", **FAST).fit(X, y)
    assert nothing.suspicion(X) == approx(of_rows.suspicion(X), abs=1e-4)


def test_weights_of_zero_leave_rows_and_their_groups_out(card_days):
    X, y, groups = card_days
    weight = (np.arange(y.size) % 3 > 0).astype(float)
    weighted = BoostedRanker("ap-card", **FAST).fit(X, y, weight, groups=groups)
    kept = weight > 0
    alone = BoostedRanker("ap-card", **FAST).fit(X[kept], y[kept], groups=groups[kept])
    assert weighted.suspicion(X) == approx(alone.suspicion(X), abs=1e-5)


def test_a_card_of_weight_2_counts_as_two_cards(card_days):
    X, y, groups = card_days
    X = X.round()  # few values, so that copies do not move the bins
    weight = np.where(groups % 2, 2.0, 1.0)
    weighted = BoostedRanker("ap-card", **FAST).fit(X, y, weight, groups=groups)
    twice = np.append(np.arange(y.size), np.flatnonzero(groups % 2))
    own = np.append(groups, 1000 + groups[groups % 2 > 0])
    copied = BoostedRanker("ap-card", **FAST).fit(X[twice], y[twice], groups=own)
    plain = BoostedRanker("ap-card", **FAST).fit(X, y, groups=groups)
    assert weighted.suspicion(X) == approx(copied.suspicion(X), abs=1e-3)
    assert weighted.suspicion(X) != approx(plain.suspicion(X), abs=1e-2)


def test_a_batch_has_all_rows_of_a_group_or_none():
    groups = np.array([2, 0, 1, 2, 1, 0, 3, 3])
    labels = np.arange(8) < 2
    batched = Objective(ApCard().for_groups(groups), labels, None, 0.5, seed=0, groups=groups)
    shares = {
        tuple(np.bincount(groups, batched.batch_weight(round_)).tolist()) for round_ in range(40)
    }
    assert len(shares) > 8
    assert all(count in (0, 2) for share in shares for count in share)


def test_early_stopping_keeps_groups_together_and_judges_them(card_days):
    X, y, groups = card_days
    ranker = BoostedRanker(
        "ap-card", n_estimators=60, early_stopping_rounds=60, validation_fraction=0.4, n_jobs=1
    ).fit(X, y, groups=groups)
    assert len(ranker.history_) == 60
    vote = RoundVote(np.array([True, False, False]), None, 5, seed=0, groups=np.array([7, 7, 3]))
    vote.see(np.array([0.0, 2.0, 1.0]))  # the other row of the positive group is on top
    assert vote.history == [1.0]


def test_scikit_learn_routes_groups(card_days):
    X, y, groups = card_days
    with config_context(enable_metadata_routing=True):
        ranker = BoostedRanker("ap-card", **FAST).set_fit_request(groups=True)
        outcome = cross_validate(
            ranker, X, y, cv=3, params={"groups": groups}, error_score="raise"
        )
        assert np.isfinite(outcome["test_score"]).all()
        grid = {"loss_options": [{"temperature": 0.1}, {"temperature": 1.0}]}
        search = GridSearchCV(ranker, grid, cv=2, error_score="raise").fit(X, y, groups=groups)
    assert search.best_params_["loss_options"] in grid["loss_options"]


def test_it_is_saved_and_loaded(card_days, tmp_path):
    X, y, groups = card_days
    options = {"temperature": 0.2, "surrogate": "ap-exp"}
    ranker = BoostedRanker("ap-card", loss_options=options, **FAST).fit(X, y, groups=groups)
    files.save(ranker, tmp_path / "cards.toprank")
    loaded = files.load(tmp_path / "cards.toprank")
    assert (loaded.loss, loaded.loss_options) == ("ap-card", options)
    assert np.array_equal(loaded.suspicion(X), ranker.suspicion(X))


def test_groups_mean_nothing_to_a_loss_of_rows(card_days):
    X, y, groups = card_days
    ranker = BoostedRanker("ap-exp", **FAST)
    alone = ranker.fit(X, y).suspicion(X)
    assert np.array_equal(ranker.fit(X, y, groups=groups).suspicion(X), alone)
