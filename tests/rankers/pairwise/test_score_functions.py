"""Shares of a score: exact for a line, always adding up for bumps."""

import itertools
import math

import numpy as np
import pytest
from pytest import approx

from toprank.rankers.pairwise.score_functions import BumpScore, LineScore

pytestmark = pytest.mark.kernel


def bumps(n_terms, seed=0):
    generator = np.random.default_rng(seed)
    return BumpScore(generator.normal(size=(8, n_terms)), generator.normal(size=8), 0.3)


def test_shares_of_a_line_are_its_terms_by_column():
    line = LineScore(np.array([2.0, -1.0, 0.5]))
    terms = np.array([[1.0, 3.0, 4.0]])
    assert line.raw(terms).tolist() == [1.0]
    assert line.contributions(terms, np.array([1, 0, 1]), 3).tolist() == [[-3.0, 4.0, 0.0, 0.0]]


@pytest.mark.parametrize("n_columns", [1, 2, 3, 6])
def test_shares_of_bumps_add_up_with_the_mean_row_as_start(n_columns):
    score, owners = bumps(n_columns + 1), np.append(np.arange(n_columns), 0)
    terms = np.random.default_rng(1).normal(size=(40, n_columns + 1)) * 2
    shares = score.contributions(terms, owners, n_columns)
    assert shares.sum(axis=1) == approx(score.raw(terms), abs=1e-12)
    assert np.ptp(shares[:, -1]) == 0
    assert shares[0, -1] == score.raw(np.zeros((1, n_columns + 1)))[0]


def test_shares_of_two_columns_are_shapley_values():
    score = bumps(2)
    row = np.array([0.7, -1.2])

    def value(known):
        return score.raw(np.where([column in known for column in (0, 1)], row, 0.0)[None])[0]

    shares = score.contributions(row[None], np.arange(2), 2)[0]
    for column in (0, 1):
        gains = [
            value({*order[: order.index(column)], column})
            - value(set(order[: order.index(column)]))
            for order in itertools.permutations((0, 1))
        ]
        assert shares[column] == approx(math.fsum(gains) / 2)


def test_a_row_far_off_in_every_column_is_explained():
    score = bumps(4)
    shares = score.contributions(np.full((1, 4), 1e30), np.arange(4), 4)
    assert shares.sum() == approx(0, abs=1e-12)
    assert shares[0, :-1] == approx(-shares[0, -1] / 4)


def test_columns_that_move_nothing_have_no_share():
    score = bumps(2)
    shares = score.contributions(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0, 2]), 4)
    assert (shares[:, [0, 1, 3]] == 0).all()
    assert shares[0, 2] != 0
    assert shares[1, 2] == 0
