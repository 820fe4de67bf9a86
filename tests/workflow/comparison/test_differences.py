"""Paired differences: exact counts, honest intervals, words that show they are not 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.metrics import f1_score

from examples import examples
from toprank.workflow.comparison.differences import (
    PairedDifference,
    error_sentence,
    f1_interval,
    f1_lead,
    level_for,
    ranking_lead,
    size,
)

bits = st.lists(st.tuples(*[st.booleans()] * 3), min_size=2, max_size=30).filter(
    lambda rows: any(row[0] for row in rows)
)


@pytest.fixture
def few_resamples(monkeypatch):
    """Enough for 95 %, when many samples are simulated."""
    monkeypatch.setattr("toprank.workflow.comparison.differences._N_CELL_RESAMPLES", 1000)


@examples(30)
@given(bits)
def test_a_lead_in_f1_is_the_difference_of_the_two_scores(rows):
    y, called, other = np.array(rows).T
    scores = [f1_score(y, each, zero_division=0.0) for each in (called, other)]

    assert f1_interval(y, called).value == approx(scores[0])
    assert f1_lead(y, called, other, 0.95).value == approx(scores[0] - scores[1])


@examples(10)
@given(bits)
def test_a_lead_turns_around_when_the_two_are_swapped(rows):
    y, called, other = np.array(rows).T
    lead, back = f1_lead(y, called, other, 0.9), f1_lead(y, other, called, 0.9)

    assert lead.value == approx(-back.value)
    assert lead.low <= lead.high
    assert abs(lead.low + back.high) < 0.1  # other resamples, as the cells are numbered otherwise


def test_the_same_calls_are_never_apart():
    y = np.arange(100) < 10

    assert f1_lead(y, ~y, ~y, 0.999) == (0, 0, 0)


def test_the_interval_of_a_lead_is_that_of_drawing_rows():
    generator = np.random.default_rng(1)
    y = np.arange(2000) < 60
    called, other = generator.random((2, y.size)) < np.where(y, 0.6, 0.01)[None, :]
    lead = f1_lead(y, called, other, 0.95)
    drawn = generator.integers(0, y.size, (600, y.size))
    values = [plain_f1(y[rows], called[rows]) - plain_f1(y[rows], other[rows]) for rows in drawn]

    assert (lead.low, lead.high) == approx(np.quantile(values, [0.025, 0.975]), abs=0.02)


def test_intervals_of_f1_cover_the_truth_about_as_often_as_they_say(few_resamples):
    generator = np.random.default_rng(2)
    # share of positives, of those called, of negatives called
    share, found, wrong = 0.05, 0.6, 0.02
    truth = 2 * share * found / (share + share * found + (1 - share) * wrong)
    n_covered = 0
    for _ in range(150):
        y = generator.random(2000) < share
        low, high = f1_interval(y, generator.random(2000) < np.where(y, found, wrong))[1:]
        n_covered += low <= truth <= high

    assert 0.89 <= n_covered / 150 <= 0.99


def test_equals_are_seldom_called_apart_and_sharing_luck_narrows_the_interval(few_resamples):
    generator = np.random.default_rng(3)
    n_false, widths = 0, []
    for _ in range(100):
        y = generator.random(2000) < 0.05
        luck = generator.random(2000)
        called, other = (
            np.where(generator.random(2000) < 0.9, luck, generator.random(2000))
            < np.where(y, 0.6, 0.02)
            for _ in range(2)
        )
        lead = f1_lead(y, called, other, 0.95)
        n_false += not lead.low <= 0 <= lead.high
        one = f1_interval(y, called)
        widths.append((lead.high - lead.low) / (one.high - one.low))

    assert n_false <= 12
    assert np.mean(widths) < 1  # unpaired, it would be the root of 2


def test_a_lead_in_a_ranking_metric_is_that_of_the_metrics():
    y = np.array([1, 1, 0, 0, 1, 0])
    lead = ranking_lead("roc_auc", y, np.arange(6.0)[::-1], np.arange(6.0), 0.99)

    assert lead.value == approx(7 / 9 - 2 / 9)


def test_the_level_leaves_each_difference_its_share_of_the_doubt():
    assert level_for(25) == approx(0.998)
    assert level_for(0) == approx(0.95)


def test_a_real_difference_is_written_with_decimals_that_show_it():
    assert size(PairedDifference("a", "b", -0.0211, -0.0339, -0.0082)) == ".021 (.008 to .034)"
    assert size(PairedDifference("a", "b", 0.12, 0.00004, 0.2)) == ".12000 (.00004 to .20000)"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("k must be 1; got 0.\nat line 7"), "k must be 1; got 0."),
        (KeyError("amount"), "KeyError: 'amount'"),
        (MemoryError(), "MemoryError"),
        (ValueError(), "ValueError"),
    ],
    ids=repr,
)
def test_an_error_becomes_one_line(error, sentence):
    assert error_sentence(error) == sentence


def plain_f1(y, called):
    return 2 * np.sum(y & called) / (y.sum() + called.sum())
