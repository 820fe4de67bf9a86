"""Ranks, tests and intervals agree with slow twins, and with the figures of Demšar (2006)."""

import math
import warnings
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy import stats

from examples import examples
from toprank_bench.method_comparison import ComparisonWarning, MethodComparison

# AUC of C4.5 and of three ways to tune it, on 14 data sets
DEMSAR_METHODS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
DEMSAR_AUC = (
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.975, 0.975),
    (0.957, 0.978, 0.946, 0.970),
)

tables = st.tuples(st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(-3, 3), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


def rows_of(table, methods=None):
    """Rows of one seed from a value per data set and method."""
    names = methods or [f"m{place}" for place in range(len(table[0]))]
    return [
        {"data": f"d{number}", "seed": 0, "method": name, "value": value}
        for number, row in enumerate(table)
        for name, value in zip(names, row, strict=True)
    ]


def quiet(rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ComparisonWarning)
        return MethodComparison.of(rows, **options)


def comparison_of(table, **options):
    return quiet(rows_of(table), **options)


def demsar(auc=DEMSAR_AUC):
    return quiet(rows_of(auc, DEMSAR_METHODS))


def slow_rank(values, place):
    """1, plus those that are better, plus half of the others that tie."""
    better = sum(value > values[place] for value in values)
    tied = sum(value == values[place] for value in values) - 1
    return 1 + better + tied / 2


def slow_wilcoxon(differences):
    """The share of all signs of the ranked differences at least as one-sided, times two."""
    ranks = stats.rankdata(np.abs(differences))
    sizes = [rank for rank, each in zip(ranks, differences, strict=True) if each]
    seen = sum(rank for rank, each in zip(ranks, differences, strict=True) if each > 0)
    sums = [
        sum(size for size, up in zip(sizes, signs, strict=True) if up)
        for signs in product([False, True], repeat=len(sizes))
    ]
    low, high = (
        np.mean([compare(each, seen) for each in sums])
        for compare in (np.less_equal, np.greater_equal)
    )
    return min(1.0, 2 * min(low, high))


def slow_chi_squared(ranks):
    """How far mean ranks are from their middle, against their variance among untied ranks."""
    n, k = ranks.shape
    variance = np.var(np.arange(1, k + 1), ddof=1)
    return n * np.sum((ranks.mean(axis=0) - (k + 1) / 2) ** 2) / variance


@examples(60)
@given(tables, st.booleans())
def test_a_rank_counts_those_that_are_better_and_half_of_those_that_tie(table, higher):
    comparison = comparison_of(table, higher_is_better=higher)
    merits = np.array(table) if higher else -np.array(table)
    slow = np.array([[slow_rank(row, place) for place in range(len(row))] for row in merits])

    assert comparison.ranks == approx(slow)
    means = dict(zip(comparison.methods, slow.mean(axis=0), strict=True))
    assert comparison.mean_ranks == approx(means)
    assert list(comparison.mean_ranks.values()) == sorted(comparison.mean_ranks.values())


@examples(60)
@given(tables)
def test_a_pair_counts_wins_and_tests_them_against_all_signs(table):
    comparison = comparison_of(table)
    columns = np.array(table, dtype=float).T

    for pair, (a, b) in zip(comparison.pairs, combinations(range(len(columns)), 2), strict=True):
        difference = columns[a] - columns[b]
        counts = [int(np.sum(np.sign(difference) == sign)) for sign in (1, 0, -1)]
        assert [pair.wins, pair.ties, pair.losses] == counts
        assert pair.lead.value == approx(difference.mean())
        assert pair.p_value == approx(slow_wilcoxon(difference))


@examples(40)
@given(tables)
def test_friedman_measures_how_far_mean_ranks_are_from_their_middle(table):
    comparison = comparison_of(table)
    n, k = comparison.ranks.shape
    chi_squared, p_value, f, f_p_value = comparison.friedman
    slow = slow_chi_squared(comparison.ranks)

    assert chi_squared == approx(slow, abs=1e-9)
    if n > 1 and slow < n * (k - 1) - 1e-9:
        assert f == approx((n - 1) * slow / (n * (k - 1) - slow), abs=1e-9)
    assert 0 < f_p_value <= 1
    assert 0 < p_value <= 1


def test_friedman_is_scipys_where_nothing_ties():
    values = np.random.default_rng(0).random((20, 5)) + 0.1 * np.arange(5)
    ours = comparison_of(values.tolist()).friedman
    theirs = stats.friedmanchisquare(*values.T)

    assert ours.chi_squared == approx(theirs.statistic)
    assert ours.p_value == approx(theirs.pvalue)


def test_the_p_value_of_friedmans_f_is_between_those_of_all_orders_beyond_and_at_the_one_seen():
    comparison = comparison_of([[3, 2, 1], [3, 1, 2], [3, 2, 1], [2, 3, 1], [3, 1, 2]])
    seen = comparison.friedman.chi_squared
    orders = list(permutations([1.0, 2.0, 3.0]))
    # the order of the first data set can be held fixed: names do not matter
    chi_squared = np.array(
        [slow_chi_squared(np.array([orders[0], *rest])) for rest in product(orders, repeat=4)]
    )
    beyond, at_least = np.mean(chi_squared > seen + 1e-9), np.mean(chi_squared >= seen - 1e-9)

    assert beyond < comparison.friedman.f_p_value < at_least
    assert comparison.friedman.p_value == approx(at_least, abs=0.03)


@pytest.mark.parametrize("lead", [0.3, 0.8])
def test_the_p_value_of_friedmans_f_is_near_that_of_shuffled_ranks(lead):
    generator = np.random.default_rng(5)
    comparison = comparison_of(generator.normal([lead, 0, 0, 0], 1, (15, 4)).tolist())
    shuffled = generator.permuted(np.tile(np.arange(1.0, 5), (20_000, 15, 1)), axis=2)
    far = np.sum((shuffled.mean(axis=1) - 2.5) ** 2, axis=1)
    seen = np.sum((comparison.ranks.mean(axis=0) - 2.5) ** 2)

    assert comparison.friedman.f_p_value == approx(np.mean(far >= seen - 1e-9), abs=0.015)


def test_full_agreement_is_no_surer_than_the_chance_of_it():
    comparison = comparison_of([[3, 2, 1]] * 3)

    assert comparison.friedman.f == math.inf
    assert comparison.friedman.f_p_value == approx(1 / 36)  # two data sets repeat the order of one


def test_one_data_set_says_nothing_of_agreement():
    friedman = comparison_of([[3, 2, 1]]).friedman

    assert math.isnan(friedman.f)
    assert (friedman.p_value, friedman.f_p_value) == (1, 1)


@pytest.mark.parametrize("n", [6, 20, 50])
def test_wilcoxon_is_scipys_exact_one_where_nothing_ties(n):
    values = np.random.default_rng(n).normal([0.3, 0], 1, (n, 2))
    (pair,) = comparison_of(values.tolist()).pairs

    assert pair.p_value == approx(stats.wilcoxon(*values.T, method="exact").pvalue)


def test_many_data_sets_are_tested_as_closely_by_the_normal_approximation():
    values = np.random.default_rng(1).integers(0, 9, (130, 2)) + np.array([1, 0])
    (few,), (many,) = (comparison_of(values[:n].tolist()).pairs for n in (100, 130))

    for pair, n in ((few, 100), (many, 130)):
        difference = values[:n, 0] - values[:n, 1]
        theirs = stats.wilcoxon(difference, zero_method="pratt").pvalue
        assert pair.p_value == approx(theirs, rel=0.1)


@examples(40)
@given(tables)
def test_holm_multiplies_each_p_value_by_how_many_are_as_large_or_still_to_test(table):
    pairs = comparison_of(table).pairs
    smallest_first = sorted(pairs, key=lambda pair: pair.p_value)
    highest = 0.0
    for place, pair in enumerate(smallest_first):
        highest = max(highest, min(1.0, (len(pairs) - place) * pair.p_value))
        assert pair.holm_p_value == approx(highest)


def test_a_pair_seen_from_the_other_side_is_turned_around():
    comparison = demsar()
    there, back = (comparison.versus(*names) for names in (("C4.5", "C4.5+m"), ("C4.5+m", "C4.5")))

    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)
    assert (there.p_value, there.holm_p_value) == (back.p_value, back.holm_p_value)
    assert there.lead == approx((-back.lead.value, -back.lead.high, -back.lead.low))


def test_a_lead_has_the_interval_of_drawing_data_sets():
    generator = np.random.default_rng(3)
    values = generator.normal([0.5, 0], 1, (25, 2))
    (pair,) = comparison_of(values.tolist()).pairs
    drawn = generator.integers(0, 25, (4000, 25))
    means = (values[:, 0] - values[:, 1])[drawn].mean(axis=1)

    assert pair.lead[1:] == approx(np.quantile(means, [0.025, 0.975]), abs=0.05)


def test_intervals_of_a_lead_cover_the_truth_nearly_as_often_as_they_say():
    generator = np.random.default_rng(4)
    values = generator.normal([0.3, 0], 1, (150, 20, 2))
    leads = [comparison_of(each.tolist()).pairs[0].lead for each in values]

    assert 0.87 <= np.mean([low <= 0.3 <= high for _, low, high in leads]) <= 0.99


def test_seeds_are_averaged_before_anything_else_whatever_their_order():
    runs = [("a", [0.1, 0.2, 0.3]), ("b", [0.3, 0.1, 0.2])]
    rows = [
        {"data": data, "seed": seed, "method": method, "value": value}
        for data in ("x", "y", "z", "u", "v")
        for method, values in runs
        for seed, value in enumerate(values)
    ]
    with pytest.warns(ComparisonWarning, match="All methods tie on every data set"):
        comparison = MethodComparison.of(rows)

    assert comparison.mean_ranks == {"a": 1.5, "b": 1.5}
    assert comparison.pairs[0].ties == 5
    assert comparison.pairs[0].p_value == 1
    mean, n_seeds, half_width = comparison.cells["x", "a"]
    assert (mean, n_seeds) == (approx(0.2), 3)
    expected = stats.t.interval(0.95, 2, 0.2, stats.sem([0.1, 0.2, 0.3]))
    assert (mean - half_width, mean + half_width) == approx(expected)


def test_a_cell_of_one_seed_has_no_interval():
    assert math.isnan(demsar().cells["d0", "C4.5"].half_width)


@pytest.mark.parametrize("form", ["dicts", "generator", "arrow", "pandas", "polars"])
def test_rows_may_be_dicts_or_any_table(form):
    rows = rows_of(DEMSAR_AUC)
    made = {
        "dicts": lambda: rows,
        "generator": lambda: iter(rows),
        "arrow": lambda: pa.Table.from_pylist(rows),
        "pandas": lambda: pd.DataFrame(rows),
        "polars": lambda: pl.DataFrame(rows),
    }

    assert quiet(made[form]()) == comparison_of(DEMSAR_AUC)


def test_lower_is_better_when_the_option_says_so():
    comparison = comparison_of([[0.2, 0.1]] * 6, higher_is_better=False)

    assert list(comparison.mean_ranks) == ["m1", "m0"]
    assert comparison.versus("m1", "m0").lead.value == approx(0.1)


def test_a_data_set_without_all_methods_is_left_out_and_reported():
    rows = rows_of([[1, 2]] * 6)
    rows = [row for row in rows if (row["data"], row["method"]) != ("d0", "m1")]
    rows[-1]["value"] = math.nan  # m1 failed on d5
    with pytest.warns(ComparisonWarning) as recorded_warnings:
        comparison = MethodComparison.of(rows)

    assert comparison.datasets == ("d1", "d2", "d3", "d4")
    assert comparison.incomplete == ("d0", "d5")
    assert comparison.cells["d0", "m0"].mean == 1
    assert comparison.remarks == tuple(str(each.message) for each in recorded_warnings)
    assert comparison.remarks[0] == (
        "Left out, as not every method has a value: d0 (no value of m1) and d5 (no value of m1)."
    )


def test_methods_run_with_different_seeds_are_reported():
    rows = rows_of([[1, 2]] * 5)
    rows.append({"data": "d2", "seed": 1, "method": "m0", "value": 3})
    with pytest.warns(ComparisonWarning, match="Methods differ in their seeds on d2: each mean"):
        comparison = MethodComparison.of(rows)

    assert comparison.cells["d2", "m0"].mean == 2


def test_few_data_sets_are_reported():
    with pytest.warns(ComparisonWarning, match=r"Only 4 data sets: .* be below 0\.125\."):
        few = MethodComparison.of(rows_of([[1, 2]] * 4))

    assert few.pairs[0].p_value == 0.125
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MethodComparison.of(rows_of([[1, 2]] * 5)).remarks == ()


def test_methods_that_are_the_same_are_reported():
    with pytest.warns(ComparisonWarning, match="m0 and m2 have the same value on every data set"):
        MethodComparison.of(rows_of([[1, 2, 1], [3, 1, 3], [1, 2, 1], [1, 2, 1], [1, 2, 1]]))


@pytest.mark.parametrize(
    ("k", "expected"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)]
)
def test_critical_values_are_those_of_the_published_table(k, expected):
    n = 30
    comparison = comparison_of([list(range(k))] * n)
    scale = math.sqrt(k * (k + 1) / (6 * n))

    # that table cuts decimals off, rather than rounding
    assert comparison.critical_difference() / scale == approx(expected, abs=1.1e-3)


def test_demsars_example_gives_his_figures():
    # he ranked unrounded values: on one data set, 0.975 and 0.975 have the ranks 2 and 3
    unrounded = [list(row) for row in DEMSAR_AUC]
    unrounded[12][2] += 0.0001
    comparison = demsar(unrounded)
    ranks = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}

    assert comparison.mean_ranks == approx(ranks, abs=5e-4)
    assert comparison.friedman.chi_squared == approx(9.28, abs=0.005)
    assert comparison.friedman.f == approx(3.69, abs=0.005)
    assert comparison.critical_difference() == approx(1.25, abs=0.005)
    assert comparison.critical_difference(0.1) == approx(1.12, abs=0.005)
    assert comparison.groups() == [("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")]
    assert comparison.groups(0.1) == [("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5")]


def test_demsars_two_classifiers_differ_significantly_by_wilcoxon():
    pair = demsar().versus("C4.5+m", "C4.5")

    assert (pair.wins, pair.ties, pair.losses) == (10, 2, 2)
    # his sums of ranks, 93 and 12, hold half of those of the two ties
    differences = np.round(np.array(DEMSAR_AUC)[:, 1] - np.array(DEMSAR_AUC)[:, 0], 6)
    assert stats.wilcoxon(differences, zero_method="zsplit").statistic == 12
    assert pair.p_value == approx(slow_wilcoxon(differences))
    assert pair.p_value < 0.05


@examples(40)
@given(tables, st.sampled_from([0.01, 0.05, 0.5]))
def test_groups_hold_exactly_the_pairs_that_do_not_differ_significantly(table, alpha):
    comparison = comparison_of(table)
    groups, ranks = comparison.groups(alpha), comparison.mean_ranks
    alike = {
        frozenset(pair)
        for pair in combinations(ranks, 2)
        if abs(ranks[pair[0]] - ranks[pair[1]]) < comparison.critical_difference(alpha)
    }

    assert {frozenset(pair) for group in groups for pair in combinations(group, 2)} == alike
    assert not any(set(one) <= set(other) for one, other in permutations(groups, 2))


def test_rounding_errors_make_no_winner():
    comparison = comparison_of([[0.1 + 0.2, 0.3]] * 5)

    assert comparison.pairs[0].ties == 5


@pytest.mark.parametrize(
    ("rows", "error", "sentence"),
    [
        ([], ValueError, "at least two methods to compare; got 0"),
        (rows_of([[1]]), ValueError, "at least two methods to compare; got 1"),
        ({"data": []}, TypeError, "list of dicts or a pandas, polars or Arrow table; got dict"),
        ([1], TypeError, "every row must be a dict; row 0 is int"),
        ([{"data": 1, "seed": 0, "value": 1}], ValueError, "row 0 has no method"),
        (rows_of([[1, "x"]]), TypeError, "value must be a number; got 'x' in row 1"),
        (rows_of([[1, math.inf]]), ValueError, "value must be finite, or NaN .* row 1 is not"),
        (rows_of([[1, 2]], [None, "b"]), ValueError, "must be named in every row; row 0 is not"),
        (rows_of([[1, 2]]) * 2, ValueError, "there are two of m0 on d0 with seed 0"),
        (rows_of([[1, None], [2, None]]), ValueError, "m1 has values on 0 of 2, the fewest"),
        (pa.table({"data": [1]}), ValueError, "'seed'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_that_cannot_be_used_get_a_sentence(rows, error, sentence):
    with pytest.raises(error, match=sentence):
        MethodComparison.of(rows)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("C4.5", "C4.5+n"), r"no rows are of the method 'C4.5\+n'; did you mean 'C4.5\+m'\?"),
        (("C4.5", "C4.5"), "a method is compared with another; got 'C4.5' twice"),
    ],
)
def test_a_pair_that_is_not_there_gets_a_sentence(names, sentence):
    with pytest.raises(ValueError, match=sentence):
        demsar().versus(*names)


def test_alpha_must_be_a_chance():
    with pytest.raises(ValueError, match="alpha must be greater than 0 and at most"):
        demsar().critical_difference(5)
