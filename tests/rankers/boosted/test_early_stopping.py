"""The vote of resampled validation sets on when to stop."""

import numpy as np
import pytest
from hypothesis import given
from pytest import approx

import reference
from examples import examples
from strategies import rankings
from toprank.rankers.boosted.early_stopping import RoundVote


@examples(80)
@given(rankings())
def test_the_reported_ap_is_that_of_the_rows_as_they_are(ranking):
    is_positive, suspicion = ranking
    vote = RoundVote(is_positive, None, patience=5, seed=0)
    vote.see(suspicion)
    assert vote.history == [approx(reference.average_precision(is_positive, suspicion))]


def test_weights_count_as_copies():
    is_positive = np.array([True, False, True, False])
    raw = np.array([4.0, 3.0, 2.0, 1.0])
    weight = np.array([1.0, 2.0, 3.0, 1.0])
    copies = np.repeat(np.arange(4), weight.astype(int))
    weighted = RoundVote(is_positive, weight, patience=5, seed=0)
    copied = RoundVote(is_positive[copies], None, patience=5, seed=0)
    weighted.see(raw)
    copied.see(raw[copies])
    assert weighted.history == [approx(copied.history[0])]


def rounds_of_noise(n_rounds, rise_until, noise, seed):
    """Scores whose true quality rises until a round and then falls, with jitter each round."""
    generator = np.random.default_rng(seed)
    is_positive = np.arange(3000) < 40
    quality = np.minimum(np.arange(n_rounds), 2 * rise_until - np.arange(n_rounds)) / rise_until
    base = generator.normal(size=3000)
    scores = [base + 2.5 * q * is_positive + noise * generator.normal(size=3000) for q in quality]
    return is_positive, scores


def run(vote, scores):
    for raw in scores:
        vote.see(raw)
        if vote.is_over:
            break
    return vote


def test_it_stops_after_the_peak_and_keeps_a_round_near_it():
    is_positive, scores = rounds_of_noise(200, rise_until=60, noise=0.05, seed=0)
    vote = run(RoundVote(is_positive, None, patience=20, seed=1), scores)
    assert 60 < len(vote.history) < 130
    assert vote.best == approx(60, abs=12)


@pytest.mark.parametrize("n_seeds", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_jitter_moves_the_kept_round_less_than_the_best_single_round(n_seeds):
    kept, best = [], []
    for seed in range(n_seeds):
        is_positive, scores = rounds_of_noise(100, rise_until=50, noise=0.4, seed=seed)
        vote = RoundVote(is_positive, None, patience=1000, seed=seed)
        run(vote, scores)
        kept.append(vote.best)
        best.append(int(np.argmax(vote.history)))
    assert np.std(kept) <= np.std(best)
    assert np.mean(kept) == approx(50, abs=12)


def test_a_rising_ap_is_never_stopped():
    is_positive, scores = rounds_of_noise(80, rise_until=200, noise=0.0, seed=3)
    vote = run(RoundVote(is_positive, None, patience=10, seed=0), scores)
    assert len(vote.history) == 80
    assert vote.best == approx(79, abs=2)


@pytest.mark.parametrize("patience", [1, 7])
def test_constant_scores_stop_after_the_patience_and_keep_the_first(patience):
    is_positive = np.arange(10) < 2
    vote = run(RoundVote(is_positive, None, patience, seed=0), [np.zeros(10)] * 50)
    assert len(vote.history) == patience + 1
    assert vote.best == 0
