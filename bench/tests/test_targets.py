"""Figures to reach: computed from rows, met or missed, unknown while a set has no rows."""

import pytest

from small_experiment import experiment
from test_experiment_summary import rows_of
from toprank_bench.targets import target_results

TARGET = """
[[targets]]
what = "a mean"
method = "log"
{}
[quick]
"""


def result(bounds, rows=None):
    declared = experiment(("[quick]\n", TARGET.format(bounds)))
    (only,) = target_results(declared, rows_of(declared) if rows is None else rows)
    return only


@pytest.mark.parametrize(
    ("bounds", "verdict", "asked"),
    [
        ("at_least = 0.81", "met", "≥ 0.81"),
        ("at_least = 0.82", "missed", "≥ 0.82"),
        ("at_most = 0.82", "met", "≤ 0.82"),
        ("at_most = 0.81", "missed", "≤ 0.81"),
        ("at_least = 0.8\nat_most = 0.81", "missed", "≥ 0.8, ≤ 0.81"),
    ],
)
def test_a_mean_over_sets_and_seeds_is_compared_with_its_bounds(bounds, verdict, asked):
    found = result(bounds)
    assert found.figure == pytest.approx(0.815)
    assert (found.verdict, found.asked, found.n_rows) == (verdict, asked, 4)


def test_every_set_counts_once_however_many_seeds_it_has():
    declared = experiment()
    rows = [row for row in rows_of(declared) if row["data"] == "first" or row["seed"] == 1]
    for row in rows:
        row["figures"]["average_precision"] = float(row["data"] == "first")
    assert result("at_least = 0.5", rows).figure == 0.5


def test_a_target_is_not_recorded_until_all_its_sets_are():
    rows = [row for row in rows_of(experiment()) if row["data"] == "first"]
    found = result("at_least = 0.5", rows)
    assert (found.figure, found.verdict, found.n_rows) == (None, "not recorded", 2)
    assert result('at_least = 0.5\ndata = ["first"]', rows).verdict == "met"


def test_while_rows_are_missing_a_verdict_is_provisional():
    rows = [row for row in rows_of(experiment()) if row["seed"] == 1]
    assert result("at_least = 0.5", rows).verdict == "met (provisional)"
    assert result("at_least = 0.9", rows).verdict == "missed (provisional)"
    rows = [row for row in rows_of(experiment()) if (row["method"], row["seed"]) != ("forest", 1)]
    assert result("at_least = 0.5", rows).verdict == "met"
    assert result("rival = 'forest'", rows).verdict == "met (provisional)"


@pytest.mark.parametrize(
    "rival",
    ["rival = 'forest'", "at_most = 1\nrival = 'forest'\ncount = 'sets better than rival'"],
)
def test_without_rows_of_the_rival_on_every_set_there_is_no_verdict(rival):
    rows = [
        row for row in rows_of(experiment()) if (row["method"], row["data"]) != ("forest", "first")
    ]
    found = result(rival, rows)
    assert (found.figure, found.verdict) == (None, "not recorded")


def test_sets_no_worse_than_published_are_counted():
    count = 'count = "sets no worse than published"'
    assert result(f"at_least = 1\n{count}").figure == 1
    rows = rows_of(experiment())
    for row in rows:
        row["figures"]["average_precision"] = 0.49
    assert result(f"at_least = 1\n{count}", rows).figure == 0


def test_per_cent_is_for_targets_too():
    declared = experiment(
        ("[options]", "percent = true\n[options]"),
        ("[quick]\n", TARGET.format("at_least = 80")),
    )
    (found,) = target_results(declared, rows_of(declared))
    assert found.figure == pytest.approx(81.5)


def test_another_method_is_to_be_reached_by_the_mean_or_on_so_many_sets():
    found = result("rival = 'forest'")
    assert (found.low, found.high, found.verdict) == (pytest.approx(0.615), None, "met")
    rows = rows_of(experiment())
    for row in rows:
        row["figures"]["average_precision"] = 0.5
    assert result("rival = 'forest'", rows).verdict == "met"  # as good
    count = "at_least = 1\nrival = 'forest'\ncount = 'sets better than rival'"
    assert result(count, rows).figure == 0
    for row in rows:
        row["figures"]["average_precision"] += 0.1 * (row["method"] == "log")
    assert result(count, rows).figure == 2
