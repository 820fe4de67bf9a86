"""Correlations of average precision with the best F-beta, over rankings that are drawn."""

import re

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from toprank.metrics import best_f_beta
from toprank_bench import ExperimentError, read_experiment
from toprank_bench.protocols import Cell
from toprank_bench.protocols.correlation import SimulatedRankings
from toprank_bench.simulated.rankings import PAIRS, READINGS, simulated

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


def f_beta(reading, is_positive, suspicion, beta):
    return reading.f_betas(is_positive, suspicion, [beta])[beta]


def test_figures_are_correlations_over_the_rankings_of_the_seed():
    outcome = protocol().run(Cell("even", 1, "F2"), None)
    rankings = simulated("even", 1, 100, [2.0])
    both = rankings.precision, rankings.f_beta[2.0]

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
    np.testing.assert_array_equal(one.f_beta[1.0], other.f_beta[1.0])
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
    reading = READINGS["thresholds from 0 to 1"]
    for _ in range(20):
        suspicion = np.linspace(0, 1, 101)[generator.integers(0, 101, 50)]
        is_positive = generator.random(50) < suspicion
        of_all = best_f_beta(is_positive, suspicion, beta).value
        assert f_beta(reading, is_positive, suspicion, beta) == pytest.approx(of_all)
        beyond = f_beta(reading, is_positive, suspicion + 2, beta)
        n_positive = is_positive.sum()
        assert beyond == pytest.approx(
            (1 + beta**2) * n_positive / (beta**2 * n_positive + is_positive.size)
        )


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_every_score_is_a_threshold_and_readings_take_some_of_them_or_their_mean(beta):
    generator = np.random.default_rng(1)
    suspicion = generator.normal(size=100)
    is_positive = generator.random(100) < 0.3
    values = {}
    for listed in range(1, 101):
        top = np.argsort(-suspicion)[:listed]
        found = is_positive[top].sum()
        values[listed] = (1 + beta**2) * found / (beta**2 * is_positive.sum() + listed)
    above = [values[n] for n in range(1, 101) if n <= np.count_nonzero(suspicion >= 0)]
    expected = {
        "even": best_f_beta(is_positive, suspicion, beta).value,
        "mean over thresholds": np.mean(list(values.values())),
        "thresholds at ten ranks": max(values[n] for n in range(10, 101, 10)),
        "thresholds from 0 up": max(above),
    }
    for name, value in expected.items():
        assert f_beta(READINGS[name], is_positive, suspicion, beta) == pytest.approx(value)
    scaled = READINGS["scores scaled to 0..1"]
    assert f_beta(scaled, is_positive, 5 * suspicion - 2, beta) == pytest.approx(
        f_beta(scaled, is_positive, suspicion, beta)
    )


def test_what_is_mixed_has_no_pair_and_its_positives_rank_higher():
    for reading in ("mixtures", "every row of any pair", "any positives with any negatives"):
        rankings = simulated(reading, 0, 100, [1.0])
        assert (rankings.pairs == -1).all()
        assert rankings.precision.mean() > 0.35
    assert simulated("every row of any pair", 0, 100, []).precision.std() < 0.2
    outcome = protocol(('data = ["even", ', 'data = ["mixtures", ')).run(
        Cell("mixtures", 0, "F1"), None
    )
    assert outcome.facts["by_pair"] == {}
    assert (simulated("without the equal pair", 0, 100, []).pairs > 0).all()


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
        ('"spearman"', '"tau"', "must be one of 'pearson', 'spearman', 'kendall'; got 'tau'."),
        ("beta = 1.0", "beta = 0", "methods.F1.beta must be greater than 0; got 0."),
        ("parameters = { beta = 1.0 }", "", "must have the one parameter beta, and no grid; got"),
        ("beta = 1.0", "bta = 1.0", "must have the one parameter beta, and no grid; got bta."),
        ("best-f-beta", "best-f1", "learner 'best-f1' is not known"),
    ],
)
def test_a_mistake_in_a_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ExperimentError, match=re.escape(sentence)):
        protocol((old, new))
