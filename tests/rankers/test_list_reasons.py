"""Reasons on a list: what is usual is none, and what speaks against a row is apart."""

import numpy as np
import pyarrow as pa
import pytest

from toprank import BoostedRanker
from toprank.data import inputs
from toprank.rankers.list_reasons import RowReasons, reasons_for_list
from toprank.rankers.reasons import Described


@pytest.fixture(scope="module")
def payments():
    generator = np.random.default_rng(0)
    n = 800
    amount = generator.gamma(2.0, 40.0, n).round(2)
    country = generator.choice(["FR", "DE", "US"], n, p=[0.85, 0.1, 0.05])
    online = generator.random(n) < 0.3
    hours = np.where(generator.random(n) < 0.1, np.nan, generator.exponential(10, n))
    is_fraud = ((amount > 170) & online) | ((country == "US") & (generator.random(n) < 0.7))
    table = pa.table({"amount": amount, "country": country, "online": online, "hours": hours})
    return table, is_fraud


@pytest.fixture(scope="module")
def ranker(payments):
    return BoostedRanker(n_estimators=40, n_jobs=1).fit(*payments)


def test_a_usual_value_is_no_reason_and_what_lowers_the_suspicion_is_apart(ranker, payments):
    table = payments[0]
    features = inputs.read_features(ranker, table)
    shares = ranker.contributions(table)[:, :-1]
    columns, usual = ranker.schema_.columns, ranker.usual_
    places = {column.name: i for i, column in enumerate(columns)}
    for row, found in enumerate(reasons_for_list(ranker, table)):
        for reason in found.reasons:
            i = places[reason.feature]
            assert reason.contribution == shares[row, i] > 0
            assert not usual[i].holds(features[row, i], columns[i])
        assert all(reason.contribution < 0 for reason in found.less_suspicious)
        assert len(found.less_suspicious) <= 2
        assert bool(found.together) <= (not found.reasons)
        assert "missing; usual missing" not in " ".join(
            map(str, found.reasons + found.less_suspicious)
        )


class Says:
    """Describes every value as asked."""

    def __init__(self, **said):
        self.said = said

    def name(self, column):
        return column

    def about(self, column):
        return self.said.get("about", column.name)

    def is_own_usual(self, row, column, value):
        return self.said.get("is_own_usual")

    def describe(self, row, column, value, usual):
        return Described(f"{column.name} in words; others: x")


def test_a_value_that_is_usual_for_others_is_a_reason_where_it_is_not_for_its_own_card(
    ranker, payments
):
    table = payments[0]
    features = inputs.read_features(ranker, table)
    columns, usual = ranker.schema_.columns, ranker.usual_
    places = {column.name: i for i, column in enumerate(columns)}
    for is_own_usual in (True, None, False):
        found = reasons_for_list(ranker, table, describer=Says(is_own_usual=is_own_usual))
        named = [
            (row, places[reason.feature])
            for row, each in enumerate(found)
            for reason in each.reasons
        ]
        has_ordinary = any(usual[i].holds(features[row, i], columns[i]) for row, i in named)
        assert named and has_ordinary == (is_own_usual is False)


def test_of_values_about_the_same_one_is_named(ranker, payments):
    table = payments[0]
    found = reasons_for_list(ranker, table, describer=Says(about="all the same"))
    assert max(len(row.reasons) + len(row.less_suspicious) for row in found) == 1


def test_no_reasons_are_given_where_none_are_wanted(ranker, payments):
    found = reasons_for_list(ranker, payments[0].slice(0, 3), 0)
    assert found == [RowReasons([], [], [])] * 3
    with pytest.raises(ValueError, match=r"n_reasons.*-1"):
        reasons_for_list(ranker, payments[0], -1)
