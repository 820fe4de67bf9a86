"""Leads on one data set: their intervals, and the sentence on all of them."""

import numpy as np
import pytest
from pytest import approx
from scipy import stats

from small_experiment import experiment
from toprank_bench.each_set import each_set_sentences, set_lead
from toprank_bench.protocols import Cell
from toprank_bench.reading import ExperimentError

OURS, SEEDS = "ours = 'log'\n", "seeds = [1, 2, 3]\n"


def by_split(values):
    return dict(enumerate(values))


def test_without_test_rows_the_interval_is_that_of_the_t_test():
    differences = np.random.default_rng(0).normal(0.1, 0.2, 8)
    found = set_lead("set", by_split(0.5 + differences), by_split(np.full(8, 0.5)), 0.0)
    usual = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)

    assert found.n_splits == 8
    assert tuple(found.lead) == approx((differences.mean(), usual.low, usual.high))


def test_splits_that_share_rows_widen_the_interval_by_the_ratio_of_test_to_training_rows():
    ours, theirs = by_split([0.5, 0.7, 0.9, 0.6]), by_split([0.4, 0.7, 0.6, 0.5])
    apart, shared = (set_lead("set", ours, theirs, share).lead for share in (0.0, 0.3))

    ratio = (shared.high - shared.low) / (apart.high - apart.low)
    assert ratio == approx(np.sqrt((1 / 4 + 3 / 7) / (1 / 4)))
    assert shared.value == apart.value


def test_a_lead_is_over_the_splits_that_both_have_and_needs_three():
    assert set_lead("set", by_split([1.0, 2.0, 3.0]), {1: 1.0, 2: 1.0, 5: 9.0}, 0.3) is None
    both = set_lead("set", {1: 1.0, 2: 3.0, 3: 2.0, 4: 7.0}, {0: 5.0, 1: 1.0, 2: 1.0, 3: 1.0}, 0.3)
    assert (both.n_splits, both.lead.value) == (3, approx(1.0))


@pytest.mark.parametrize("is_turned", [False, True])
def test_the_sentence_names_the_data_sets_where_we_are_ahead_and_behind(is_turned):
    lower = 'lower_is_better = ["average_precision"]\n' if is_turned else ""
    declared = experiment(
        ("seeds = [1, 2]\nmetrics", f"{lower}{OURS}each_set_against = ['forest']\n{SEEDS}metrics")
    )
    leads = {"first": [0.30, 0.31, 0.32], "second": [-0.20, -0.21, -0.22]}
    known = {}
    for data, values in leads.items():
        for seed, lead in enumerate(values, start=1):
            for method, value in (("log", 0.5 + lead), ("forest", 0.5)):
                known[Cell(data, seed, method)] = {"figures": {"average_precision": value}}
    (sentence,) = each_set_sentences(declared, known, "average_precision")

    ahead, behind = ("second", "first") if is_turned else ("first", "second")
    assert "of 2 data sets, log is significantly" in sentence
    assert f"ahead on 1 ({ahead}) and behind on 1 ({behind}), compared with forest." in sentence


def test_what_is_compared_on_each_set_must_be_a_method_and_have_one_of_ours():
    with pytest.raises(ExperimentError, match="each_set_against"):
        experiment(("seeds = [1, 2]", f"seeds = [1]\n{OURS}each_set_against = ['nobody']"))
    with pytest.raises(ExperimentError, match="'ours' must be there"):
        experiment(("seeds = [1, 2]", "seeds = [1]\neach_set_against = ['forest']"))
