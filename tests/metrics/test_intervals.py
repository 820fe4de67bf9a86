import time

import numba
import numpy as np
import pytest
from hypothesis import given
from pytest import approx
from scipy.stats import poisson

import reference
from examples import examples
from strategies import rankings
from toprank import metrics
from toprank.metrics import Comparison, Interval, compare, interval
from toprank.metrics.ranking import Ranking
from toprank.metrics.resampling import paired_resamples, resamples

pytestmark = pytest.mark.kernel
compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="measures compiled speed")


def draw_rows(seed, n_rows, share=0.1, separation=1.5):
    generator = np.random.default_rng(seed)
    y = generator.random(n_rows) < share
    return y, generator.normal(size=n_rows) + separation * y


@pytest.mark.parametrize("size", [1, 4, 15, 16, 300])
def test_each_group_is_drawn_a_poisson_number_of_times(size):
    groups = np.arange(2000.0)[::-1]
    same = np.full(groups.size, size)
    drawn = next(resamples(Ranking(groups, same, same), 2, random_state=3))

    for counts in (drawn.n_positive, drawn.n_negative):
        assert counts.mean() == approx(size, abs=5 * np.sqrt(size / groups.size))
        assert counts.var() == approx(size, rel=5 * np.sqrt((2 + 1 / size) / groups.size))


@pytest.mark.parametrize("size", [1, 4, 15])
def test_small_groups_are_drawn_by_exact_inversion_of_uniform_numbers(size):
    same = np.full(20_000, size)
    drawn = list(resamples(Ranking(np.arange(20_000.0), same, same), 5, random_state=3))
    generator = np.random.default_rng(3)

    for each in drawn:  # more than are drawn at once
        for counts in (each.n_positive, each.n_negative):
            assert np.array_equal(counts, poisson.ppf(generator.random(20_000), size))


def test_how_many_are_drawn_changes_none_of_them():
    ranking = Ranking.of(*draw_rows(1, 300)).merged()
    few, many = (list(resamples(ranking, n, random_state=5)) for n in (3, 400))

    for one, other in zip(few, many, strict=False):
        assert np.array_equal(one.n_positive, other.n_positive)
        assert np.array_equal(one.n_negative, other.n_negative)


def test_resampled_groups_vary_as_resampled_rows_do():
    y, suspicion = draw_rows(1, 300)
    suspicion = suspicion.round(1)
    ranking = Ranking.of(y, suspicion).merged()
    values = [
        metrics.points.FORMULAS["average_precision"](each) for each in resamples(ranking, 600, 0)
    ]
    expected = reference.resampled_values(metrics.average_precision, y, suspicion, 600, seed=0)

    assert np.mean(values) == approx(expected.mean(), abs=0.25 * expected.std())
    assert np.std(values) == approx(expected.std(), rel=0.2)


@examples(30)
@given(rankings(), rankings())
def test_paired_resamples_hold_the_same_rows_and_never_lack_a_class(sample, other):
    is_positive, suspicion = sample
    other_suspicion = np.resize(other[1], suspicion.size)
    suspicions = [suspicion, other_suspicion]
    merged = [Ranking.of(is_positive, each).merged() for each in suspicions]
    for first, second in paired_resamples(is_positive, suspicions, merged, 5, random_state=0):
        assert first.total_positive == second.total_positive > 0
        assert first.total_negative == second.total_negative > 0
        for drawn, ranking in ((first, merged[0]), (second, merged[1])):
            assert not drawn.n_positive[ranking.n_positive == 0].any()
            assert not drawn.n_negative[ranking.n_negative == 0].any()


def test_a_pair_is_resampled_row_by_row_alike():
    y, suspicion = draw_rows(2, 60)
    reversed_order = -suspicion
    suspicions = [suspicion, reversed_order]
    full = [Ranking.of(y, each) for each in suspicions]
    for first, second in paired_resamples(y, suspicions, full, 10, random_state=0):
        assert np.array_equal(first.n_positive, second.n_positive[::-1])
        assert np.array_equal(first.n_negative, second.n_negative[::-1])


@pytest.mark.parametrize(
    "name, options",
    [
        ("average_precision", {}),
        ("best_f_beta", {"beta": 2}),
        ("f_beta", {"threshold": 1.0}),
        ("found_at_k", {"k": 40}),
        ("matthews_correlation", {"threshold": 1.0}),
        ("partial_roc_auc", {"max_fpr": 0.2}),
        ("positives_at_top", {}),
        ("precision_at_k", {"k": 40}),
        ("precision_recall_gain", {}),
        ("prevalence_adjusted_ap", {"prevalence": 0.01}),
        ("recall_at_k", {"k": 40}),
        ("roc_auc", {}),
    ],
)
def test_interval_holds_the_value_for_every_metric_by_name_or_function(name, options):
    y, suspicion = draw_rows(3, 400)
    metric = getattr(metrics, name)
    value = metric(y, suspicion, **options)
    by_name = interval(name, y, suspicion, n_resamples=50, **options)

    assert by_name == interval(metric, y, suspicion, n_resamples=50, **options)
    assert by_name.value == getattr(value, "value", value)
    assert by_name.low <= by_name.value <= by_name.high
    assert by_name.low < by_name.high


@pytest.mark.parametrize("n_trials", [40, pytest.param(150, marks=pytest.mark.slow)])
def test_a_95_percent_interval_holds_the_truth_about_95_times_in_100(n_trials):
    truth = metrics.average_precision(*draw_rows(4, 100_000, separation=2))
    n_covered = 0
    for seed in range(n_trials):
        y, suspicion = draw_rows(100 + seed, 500, separation=2)
        _, low, high = interval("average_precision", y, suspicion, n_resamples=100)
        n_covered += low <= truth <= high

    assert 0.90 <= n_covered / n_trials <= (0.98 if n_trials > 100 else 1)


def test_more_rows_and_lower_levels_make_narrower_intervals():
    def width(n_rows, level=0.95):
        _, low, high = interval("average_precision", *draw_rows(5, n_rows), level=level)
        return high - low

    assert width(4000) < 0.5 * width(400)
    assert width(400, level=0.5) < 0.6 * width(400)


def test_the_seed_decides_the_interval():
    rows = draw_rows(6, 300)

    assert interval("roc_auc", *rows, random_state=1) == interval("roc_auc", *rows, random_state=1)
    assert interval("roc_auc", *rows, random_state=1) != interval("roc_auc", *rows, random_state=2)


def test_two_rows_are_enough_for_an_interval():
    assert interval("found_at_k", [1, 0], [2, 1], k=2).low >= 1


def test_a_ranking_compared_with_itself_is_exactly_level():
    y, suspicion = draw_rows(7, 300)

    assert compare("average_precision", y, suspicion, suspicion) == (0, 0, 0, 0.5)
    assert compare("roc_auc", y, suspicion, 3 * suspicion + 1) == (0, 0, 0, 0.5)


def test_a_better_ranking_is_ahead_and_swapping_turns_the_sign():
    y, suspicion = draw_rows(8, 500)
    noisy = suspicion + np.random.default_rng(0).normal(size=suspicion.size)
    ahead = compare("average_precision", y, suspicion, noisy)
    behind = compare("average_precision", y, noisy, suspicion)

    assert ahead.difference > 0
    assert ahead.share_above > 0.9
    assert behind.difference == -ahead.difference
    assert behind.share_above < 0.1
    assert ahead.low <= ahead.difference <= ahead.high
    assert ahead == compare(metrics.average_precision, y, suspicion, noisy)


def test_pairing_makes_the_difference_of_like_rankings_surer_than_either():
    y, suspicion = draw_rows(9, 500)
    like = suspicion + 0.1 * np.random.default_rng(0).normal(size=suspicion.size)
    _, low, high = interval("roc_auc", y, suspicion)
    difference = compare("roc_auc", y, suspicion, like)

    assert difference.high - difference.low < 0.5 * (high - low)


@pytest.mark.parametrize(
    "shown, text",
    [
        (Interval(0.712, 0.683, 0.734), ".71 (.68-.73)"),
        (Interval(31.2, 24.4, 38.1), "31 (24-38)"),
        (Interval(0.0031, 0.0012, 0.0052), ".003 (.001-.005)"),
        (Interval(1.0, 1.0, 1.0), "1.00 (1.00-1.00)"),
        (Interval(-0.02, -0.0501, 0.0101), "-.02 (-.05 to .01)"),
        (Comparison(0.03, -0.0004, 0.0596, 0.97), ".03 (.00 to .06)"),
    ],
)
def test_intervals_print_with_the_decimals_they_are_worth(shown, text):
    assert str(shown) == text


def test_an_unknown_metric_is_refused_with_the_names_there_are():
    with pytest.raises(
        ValueError, match=r"one of average_precision, .* got 'roc_acu'; did you mean 'roc_auc'"
    ):
        interval("roc_acu", [1, 0], [2, 1])
    with pytest.raises(ValueError, match="metric must be one of average_precision"):
        compare(max, [1, 0], [2, 1], [2, 1])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"level": 0}, "level must be greater than 0"),
        ({"level": 1}, "level must be greater than 0 and at most 0.999; got 1"),
        ({"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        ({"k": 3}, "k must be between 1 and 2; got 3"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        interval("found_at_k", [1, 0], [2, 1], **{"k": 1, **arguments})


def test_rankings_of_different_length_are_not_compared():
    with pytest.raises(ValueError, match="y must have 3 values, one per score; got 2"):
        compare("roc_auc", [1, 0], [2, 1], [3, 2, 1])


@compiled_only
@pytest.mark.parametrize(
    "n_rows, name, options, share",
    [
        (50_000, "average_precision", {}, 0.01),
        pytest.param(1_000_000, "average_precision", {}, 0.01, marks=pytest.mark.slow),
        pytest.param(1_000_000, "average_precision", {}, 0.5, marks=pytest.mark.slow),
        pytest.param(1_000_000, "precision_at_k", {"k": 1000}, 0.01, marks=pytest.mark.slow),
    ],
)
def test_200_resamples_take_less_than_two_fifths_of_drawing_the_rows_200_times(
    n_rows, name, options, share
):
    rows = draw_rows(10, n_rows, share)
    interval(name, *draw_rows(10, 2000, share), **options)  # compiles
    begin = time.process_time()
    interval(name, *rows, **options)
    middle = time.process_time()
    for seed in range(4):
        drawn = np.random.default_rng(seed).integers(0, n_rows, n_rows)
        getattr(metrics, name)(*(each[drawn] for each in rows), **options)

    assert middle - begin < 0.4 * 50 * (time.process_time() - middle)
