"""What rows say: leads on the same resamples, coverage by day, and a page in words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.metrics import average_precision
from toprank_bench.in_time import in_time_page
from toprank_bench.in_time.time_results import TimeResults
from toprank_bench.protocols.later_rows import ranks_of
from toprank_bench.reading import find_experiment

EXPERIMENT = find_experiment("in-time")
OURS, RIVAL = "toprank fit", "XGBoost"
N_ROWS = 400
LISTS = [[2.0, 1, 3, 2]] * 20 + [[2.0, 1, 3, 7]] * 10


def rows(scores, data=EXPERIMENT.data[:2]):
    """A row per table and method, made from the scores of each method."""
    return [
        {
            "data": each,
            "seed": 0,
            "method": method,
            "definition": EXPERIMENT.definition(each, method),
            "figures": {
                "average_precision": average_precision(IS_POSITIVE, values),
                "precision_per_day": 0.5,
                "roc_auc": 0.9,
                "seconds": 3.0,
                **({"covered": 2 / 3} if method == OURS else {}),
            },
            "facts": {
                "ranks": ranks_of(IS_POSITIVE, values),
                "later_rows": N_ROWS,
                "budget": 10,
                **({"lists": LISTS} if method == OURS else {}),
            },
        }
        for each in data
        for method, values in scores.items()
    ]


IS_POSITIVE = np.random.default_rng(1).random(N_ROWS) < 0.2
NOISE = np.random.default_rng(2).normal(size=N_ROWS)
GOOD, BAD = IS_POSITIVE + 0.4 * NOISE, IS_POSITIVE + 3 * NOISE


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30))
def test_ranks_alone_give_the_average_precision_ties_included(sample):
    is_positive, scores = map(np.array, zip(*sample, strict=True))
    if not is_positive.any() or is_positive.all():
        return
    row = rows({OURS: GOOD}, EXPERIMENT.data[:1])[0]
    row["facts"] |= {
        "ranks": ranks_of(is_positive, scores.astype(float)),
        "later_rows": is_positive.size,
    }
    results = TimeResults(EXPERIMENT, [row])
    expected = average_precision(is_positive, scores)
    assert results.average_precision(EXPERIMENT.data[0], OURS).value == pytest.approx(expected)


def test_a_lead_has_an_interval_and_equal_scores_have_none():
    results = TimeResults(EXPERIMENT, rows({OURS: GOOD, RIVAL: BAD, "CatBoost": GOOD}))
    table = EXPERIMENT.data[0]
    lead = results.lead(table, RIVAL)
    assert 0 < lead.low < lead.value < lead.high
    assert results.lead(table, "CatBoost") == (0, 0, 0)


def test_days_are_counted_over_tables_and_by_the_age_of_the_model():
    results = TimeResults(EXPERIMENT, rows({OURS: GOOD}))
    assert results.coverage(results.tables) == (40, 60)
    assert results.coverage(results.tables, 0) == (20, 20)
    assert results.coverage(results.tables, 2) == (0, 20)


def test_without_rows_of_toprank_there_is_nothing_to_compare():
    with pytest.raises(ValueError, match="in-time must have rows of toprank"):
        TimeResults(EXPERIMENT, rows({RIVAL: GOOD}))


def test_the_first_method_of_toprank_with_rows_is_compared_with_the_others():
    before = "toprank fit, before"
    assert TimeResults(EXPERIMENT, rows({before: BAD, OURS: GOOD})).ours == OURS
    assert TimeResults(EXPERIMENT, rows({before: BAD})).ours == before


def test_the_page_says_where_toprank_is_ahead_even_and_behind():
    results = TimeResults(EXPERIMENT, rows({OURS: BAD, RIVAL: GOOD, "CatBoost": BAD}))
    page = in_time_page.page(results, "in-time.png", ["a note"])
    first, second = EXPERIMENT.data[:2]
    both = f"({first} and {second})"
    assert f"- {RIVAL}: ahead on none; even on none; behind on 2 {both}." in page
    assert f"- CatBoost: ahead on none; even on 2 {both}; behind on none." in page
    assert "on 40 of 60 days, 66.7 %" in page
    assert f"| {first} | 30 | 10 | 2.0 | 3.7 | 66.7 % | 100.0 % | 0.0 % |" in page
    assert "![" in page and "- a note" in page


def test_a_method_without_rows_on_a_table_has_a_dash_there():
    given_rows = rows({OURS: GOOD, RIVAL: BAD})[:3]  # on the second table, toprank alone
    page = in_time_page.page(TimeResults(EXPERIMENT, given_rows), "in-time.png", [])
    lines = [line for line in page.splitlines() if line.startswith(f"| {EXPERIMENT.data[1]} | ")]
    assert lines[0].endswith("| – |")


def test_the_first_screen_counts_tables_and_links_to_the_page():
    text = in_time_page.summary(TimeResults(EXPERIMENT, rows({OURS: GOOD, RIVAL: BAD})))
    assert "2 tables in order of time" in text and "(in-time.md)" in text
    assert f"| {RIVAL} | 2, 0, 0 |" in text
