from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from toprank.live.rules.rule_fields import RuleError, RuleFields
from toprank.live.rules.rule_language import parse
from toprank.live.rules.suggested_rules import suggest
from toprank.live.rules.tree_conditions import tree_conditions
from toprank.rankers.trees.meta_ap import MetaAP

FIELDS = RuleFields(
    {
        "amount": "number", "n_payments": "number", "country": "text", "online": "boolean",
        "card": "text", "paid_at": "time",
    }
)  # fmt: skip


def payments(n=6000, seed=0, is_stable=True):
    """Return payments over 30 days: frauds are large, abroad and many in a row."""
    rng = np.random.default_rng(seed)
    day = np.sort(rng.integers(0, 30, n))
    amount = rng.exponential(100, n)
    country = rng.choice(["FR", "DE", "IT", "ES"], n)
    n_payments = rng.poisson(3, n)
    online = rng.random(n) < 0.5
    is_suspect = (amount > 200) & (country == "IT") & online | (n_payments >= 9)
    is_fraud = is_suspect & (rng.random(n) < 0.9) | (rng.random(n) < 0.001)
    if not is_stable:
        is_fraud = np.where(day < 20, is_fraud, rng.permutation(is_fraud))
    return pl.LazyFrame(
        {
            "id": np.arange(n).astype(str), "card": rng.integers(0, 500, n).astype(str),
            "paid_at": [datetime(2025, 3, 1) + timedelta(days=int(each)) for each in day],
            "amount": np.where(rng.random(n) < 0.05, np.nan, amount), "country": country,
            "n_payments": n_payments, "online": online, "is_fraud": is_fraud,
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def suggested():
    return suggest(payments(), FIELDS, k=10)


def test_rules_that_made_the_frauds_are_found_and_hold_on_later_days(suggested):
    assert len(suggested) >= 2
    text = " ".join(each.text for each in suggested)
    assert all(name in text for name in ("amount", "country", "n_payments"))
    assert suggested[0].later.matches.precision > 0.7
    assert min(each.later.days[0].day.day for each in suggested) > 20


def test_each_suggestion_is_a_rule_with_short_thresholds(suggested):
    for each in suggested:
        condition = parse(each.text, FIELDS, "alert")
        assert "card" not in condition.names
        numbers = [word.strip("()") for word in each.text.split() if word[0].isdigit()]
        assert all(len(number) <= 5 for number in numbers), each.text


def test_each_suggestion_finds_frauds_that_those_before_do_not(suggested):
    assert all(each.later.only_fraud > 0 for each in suggested)
    known = [parse(each.text, FIELDS, "alert") for each in suggested]
    again = suggest(payments(), FIELDS, k=10, others=known)
    assert {each.text for each in again}.isdisjoint(each.text for each in suggested)


def test_rules_that_do_not_hold_on_later_days_are_not_suggested():
    assert suggest(payments(is_stable=False), FIELDS, k=10) == []


def test_too_few_frauds_get_a_sentence():
    with pytest.raises(RuleError, match="at least 5 frauds"):
        suggest(payments().filter(~pl.col("is_fraud")), FIELDS)
    with pytest.raises(RuleError, match="there are none"):
        suggest(payments().filter(pl.lit(False)), FIELDS)


@pytest.fixture(scope="module")
def grown():
    rows = payments().collect()
    features = rows.select("amount", "n_payments", "country", "online").with_columns(
        pl.col("amount").fill_nan(None), pl.col("n_payments").cast(pl.Float64)
    )
    tree = MetaAP(local_depth=3, min_samples_leaf=10).fit(features, rows["is_fraud"].to_numpy())
    return tree, features


def matched(condition, features):
    parsed = parse(condition.text(), FIELDS, "alert")
    return features.select(parsed.expression.fill_null(False)).to_series().to_numpy()


def test_conditions_of_a_tree_match_the_rows_of_its_groups(grown):
    tree, features = grown
    groups = tree.rules()
    conditions = list(tree_conditions(tree, least_hits=1))
    counts = [int(matched(each, features).sum()) for each in conditions]
    expected = [
        int(rule.tally.n_rows) for group in groups[:-1] for rule in group.rules
        if rule.tally.hits >= 1 and rule.conditions
    ]  # fmt: skip
    assert counts == expected


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_rounded_conditions_match_all_that_the_exact_ones_do(grown, digits):
    tree, features = grown
    for each in tree_conditions(tree, least_hits=1):
        exact, rounded = matched(each, features), matched(each.rounded(digits), features)
        assert not np.any(exact & ~rounded)
