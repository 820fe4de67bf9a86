"""Rows that are unlike those a model learned from: found and named, and no others."""

import json

import numpy as np
import pytest
from pytest import approx

from toprank.workflow.usual_rows import SUSPICION, ShiftWatch, Spread, UsualRows

NAMES = ("amount", "country", "hour")


def rows(n, seed, amount=1.0, share=0.1, hour=0.0):
    """Amounts, a rare category and an hour that differs from day to day."""
    generator = np.random.default_rng(seed)
    features = np.column_stack(
        [
            amount * generator.gamma(2.0, 40.0, n),
            generator.random(n) < share,
            generator.normal(12 + hour, 3, n),
        ]
    ).astype(np.float32)
    features[generator.random(n) < 0.05, 0] = np.nan
    return features


def usual(n=4000):
    """Rows of 10 days whose hours differ by up to 4."""
    day = np.arange(n) % 10
    latest = rows(n, 1)
    latest[:, 2] += np.linspace(-2, 2, 10)[day]
    suspicion = np.random.default_rng(2).normal(size=n)
    return UsualRows.of(NAMES, np.concatenate([rows(n, 0), latest]), latest, suspicion, day)


def watched(features, suspicion=None, n_batches=1):
    watch = ShiftWatch(usual(), NAMES)
    if suspicion is None:
        suspicion = np.random.default_rng(3).normal(size=len(features))
    for part in np.array_split(np.arange(len(features)), n_batches):
        watch.see(features[part], suspicion[part])
    return watch


def test_rows_like_those_learned_from_are_nothing_to_remark_on():
    for seed in range(20):
        assert list(watched(rows(300, 10 + seed)).remarks()) == []


def test_days_may_differ_as_much_as_those_of_the_test_did():
    assert watched(rows(1000, 4, hour=2.0)).shifted() == {}
    assert list(watched(rows(1000, 4, hour=7.0)).shifted()) == ["hour"]


@pytest.mark.parametrize(
    ("change", "name"), [({"amount": 3.0}, "amount"), ({"share": 0.6}, "country")], ids=str
)
def test_a_column_that_moved_is_named_with_the_share_of_rows(change, name):
    watch = watched(rows(500, 5, **change))
    assert list(watch.shifted()) == [name]
    (remark,) = watch.remarks()
    assert repr(name) in remark
    assert "%" in remark


def test_the_share_that_moved_is_half_the_sum_of_the_differences():
    spread = Spread.of(np.array([1.0, 1.0, 2.0, np.nan]))
    assert spread.shares == [0.5, 0.25, 0.25]
    assert spread.moved(spread.counted(np.array([1.0, 2.0, 2.0, 9.0]))) == approx(0.5)


def test_a_column_that_went_missing_is_named():
    features = rows(500, 6)
    features[:, 0] = np.nan
    assert list(watched(features).shifted()) == ["amount"]


def test_scores_that_moved_are_remarked_on_apart():
    watch = watched(rows(500, 7), suspicion=np.full(500, 4.0))
    assert list(watch.shifted()) == [SUSPICION]
    (remark,) = watch.remarks()
    assert "what to expect may be further off" in remark


def test_batches_count_as_one_table():
    features = rows(600, 8, amount=3.0)
    assert watched(features).shifted() == watched(features, n_batches=7).shifted()


def test_few_rows_say_nothing():
    assert watched(rows(30, 9, amount=50.0)).shifted() == {}


def test_without_days_only_chance_is_allowed_for():
    features = rows(4000, 0)
    spread = UsualRows.of(NAMES, features, features, features[:, 2].astype(float), None).spreads
    assert {each.most for each in spread.values()} == {0.0}


def test_what_is_usual_is_restored_from_plain_values():
    known = usual()
    assert UsualRows.from_json(json.loads(json.dumps(known.to_json()))) == known


@pytest.mark.parametrize("wrong", [[[1.0], [1.0], 0.0], [[2.0, 1.0], [0.5, 0.5, 0, 0], 0.0]])
def test_bins_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="bins of 'amount'"):
        UsualRows.from_json({"amount": wrong})
