"""Where a tree puts rows, in words that are true of them."""

import numpy as np
import pyarrow as pa
import pytest

from toprank import AnomalyTreeRank
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.listing import conditions_outside, rules_of_rows

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    return pa.table(
        {
            "amount": generator.gamma(2.0, 40.0, 500),
            "country": generator.choice(["FR", "DE"], 500, p=[0.9, 0.1]),
        }
    )


@pytest.fixture(scope="module")
def tree(table):
    return AnomalyTreeRank().fit(table)


def test_rows_inside_have_the_rule_of_their_group(table, tree):
    rules = rules_of_rows(tree, table)

    for rule, group in zip(rules, tree.apply(table), strict=True):
        assert rule.startswith(f"in group {group + 1} of {len(tree.groups_)} (")
        assert rule.endswith(" of the space")


def test_rows_outside_are_described_by_what_puts_them_there(tree):
    odd = pa.table(
        {"amount": [9999.0, -5.0, None, 50.0], "country": ["FR", "DE", "FR", "XX"]}
    )  # fmt: skip
    high, low, missing, new = rules_of_rows(tree, odd)

    assert high.startswith("outside the bounds: amount > ")
    assert low.startswith("outside the bounds: amount < ")
    assert missing == "outside the bounds: amount is missing"
    # training missed no country, and what it never saw counts as missing
    assert new == "outside the bounds: country is missing"


def test_every_column_outside_is_named(tree):
    odd = pa.table({"amount": [9999.0], "country": [None]}, pa.schema(
        [("amount", pa.float64()), ("country", pa.string())]
    ))  # fmt: skip
    (conditions,) = conditions_outside(tree, odd)

    assert len(conditions) == 2
    assert conditions[1] == "country is missing"


def test_outside_are_those_that_apply_calls_so(table, tree):
    shifted = table.set_column(0, "amount", pa.array(2 * table["amount"].to_numpy()))
    is_outside = [bool(each) for each in conditions_outside(tree, shifted)]

    assert is_outside == (tree.apply(shifted) == -1).tolist()
    assert 0 < sum(is_outside) < 500


def test_a_forest_has_no_rules(table):
    assert rules_of_rows(AnomalyForest(n_estimators=5).fit(table), table) is None
