"""Correlations of average precision with the best F-beta, over rankings that are drawn."""

import re

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from toprank.metrics import best_f_beta
from toprank_bench import ExperimentError, read_experiment
from toprank_bench.protocols import Cell
from toprank_bench.protocols.correlation import (
    PAIRS,
    SimulatedRankings,
    _best_from_0_to_1,
    simulated,
)

TEXT = """
title = "A hundred rankings"
source = "made up"
protocol = "correlation"
data = ["even", "thresholds from 0 to 1"]
seeds = [0, 1]
metrics = ["pearson", "spearman"]
ranked = false

[options]
rankings = 100

[methods.F1]
learner = "best-f-beta"
parameters = { beta = 1.0 }

[methods.F2]
learner = "best-f-beta"
parameters = { beta = 2.0 }

[quick]
seeds = [0]
"""


def protocol(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return SimulatedRankings(read_experiment(text, "small"))


def test_figures_are_correlations_over_the_rankings_of_the_seed():
    outcome = protocol().run(Cell("even", 1, "F2"), None)
    rankings = simulated("even", 1, 100, [2.0])
    both = rankings.precision, rankings.best[2.0]

    assert outcome.figures == {
        "pearson": pytest.approx(pearsonr(*both).statistic),
        "spearman": pytest.approx(spearmanr(*both).statistic),
    }
    low, high = outcome.facts["interval"]
    assert low < outcome.figures["pearson"] < high
    by_pair = outcome.facts["by_pair"]
    assert list(by_pair) == list(PAIRS)
    assert sum(each["rankings"] for each in by_pair.values()) == 100
    of_last = rankings.pairs == len(PAIRS) - 1
    assert by_pair["N(3,1), N(0,1)"]["pearson"] == pytest.approx(
        pearsonr(*(values[of_last] for values in both)).statistic
    )


def test_what_is_drawn_depends_on_the_seed_and_not_on_the_betas():
    one, other = simulated("even", 0, 100, [1.0]), simulated("even", 0, 100, [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(one.precision, other.precision)
    np.testing.assert_array_equal(one.best[1.0], other.best[1.0])
    assert (simulated("even", 1, 100, []).precision != one.precision).all()


def test_pairs_that_are_further_apart_have_the_higher_precision():
    rankings = simulated("even", 0, 400, [])
    means = [rankings.precision[rankings.pairs == pair].mean() for pair in range(len(PAIRS))]
    assert means[3] == max(means) and means[0] == min(means)


@pytest.mark.parametrize(
    ("reading", "is_lower"),
    [("share even in its logarithm", True), ("rows even in their logarithm", False)],
)
def test_precision_is_lower_where_the_share_is_even_in_its_logarithm_and_nowhere_else(
    reading, is_lower
):
    # where scores say nothing, precision is the share of positives
    shares = [
        rankings.precision[rankings.pairs == 0].mean()
        for rankings in (simulated("even", 0, 400, []), simulated(reading, 0, 400, []))
    ]
    assert (shares[1] < 0.7 * shares[0]) == is_lower


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_best_of_steps_is_the_best_of_all_where_all_scores_are_such_steps(beta):
    generator = np.random.default_rng(0)
    for _ in range(20):
        suspicion = np.linspace(0, 1, 101)[generator.integers(0, 101, 50)]
        is_positive = generator.random(50) < suspicion
        of_all = best_f_beta(is_positive, suspicion, beta).value
        assert _best_from_0_to_1(is_positive, suspicion, beta) == pytest.approx(of_all)
        beyond = _best_from_0_to_1(is_positive, suspicion + 2, beta)
        n_positive = is_positive.sum()
        assert beyond == pytest.approx(
            (1 + beta**2) * n_positive / (beta**2 * n_positive + is_positive.size)
        )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("rankings = 100", "rankings = 99", "rankings must be at least 100; got 99."),
        (
            "rankings =",
            "ranking =",
            "option 'ranking' is not one of the protocol correlation; did",
        ),
        ('"even"', '"uneven"', "data of the protocol correlation must be one of 'even', "),
        ('"spearman"', '"kendall"', "must be one of 'pearson', 'spearman'; got 'kendall'."),
        ("beta = 1.0", "beta = 0", "methods.F1.beta must be greater than 0; got 0."),
        ("parameters = { beta = 1.0 }", "", "must have the one parameter beta, and no grid; got"),
        ("beta = 1.0", "bta = 1.0", "must have the one parameter beta, and no grid; got bta."),
        ("best-f-beta", "best-f1", "learner 'best-f1' is not known"),
    ],
)
def test_a_mistake_in_a_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ExperimentError, match=re.escape(sentence)):
        protocol((old, new))
