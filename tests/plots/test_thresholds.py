"""Thresholds, ratios and savings are drawn where the figures say."""

from typing import NamedTuple

import numpy as np
import pytest
from pytest import approx

from toprank import metrics, plots
from toprank.decisions.thresholds import f_beta_by_threshold


class Savings(NamedTuple):
    checks: np.ndarray
    savings: np.ndarray
    low: np.ndarray
    high: np.ndarray


@pytest.fixture
def ranking():
    generator = np.random.default_rng(3)
    y = generator.random(3000) < 0.03
    return y, generator.normal(size=3000) + 2.5 * y


def line(ax, gid):
    (found,) = [each for each in ax.lines if each.get_gid() == gid]
    return found


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_f_beta_is_drawn_by_threshold_with_a_dot_at_the_best(ranking, beta):
    ax = plots.f_beta_by_threshold(*ranking, beta=beta, label="ours")
    at, value = line(ax, "model-0").get_data()
    expected = f_beta_by_threshold(*ranking, beta, 1000)
    best = metrics.best_f_beta(*ranking, beta=beta).value

    assert at == approx(expected.threshold)
    assert value == approx(expected.value)
    assert line(ax, "best-0").get_ydata() == approx([best])
    assert ax.get_ylabel() == f"F{beta:g}"
    assert ax.get_legend().get_texts()[0].get_text().startswith(f"ours, best {best:.2f} at ")


def test_the_default_threshold_is_marked_once_and_on_probabilities_only(ranking):
    y, suspicion = ranking
    probability = 1 / (1 + np.exp(-suspicion))
    ax = plots.f_beta_by_threshold(y, probability)
    plots.f_beta_by_threshold(y, probability**2, ax)

    assert [each.get_gid() for each in ax.lines].count("default") == 1
    assert ax.get_xlim() == (0, 1)
    assert line(ax, "model-0").get_color() != line(ax, "model-1").get_color()
    gids = [each.get_gid() for each in plots.f_beta_by_threshold(y, suspicion).lines]
    assert "default" not in gids


def test_metrics_stand_by_the_logarithm_of_the_ratio_with_their_intervals():
    values = {"under": {0.01: (0.6, 0.5, 0.7), 0.1: (0.5, 0.4, 0.6), 1.0: (0.3, 0.2, 0.4)}}
    ax = plots.metrics_by_ratio(values, baseline=(0.55, 0.5, 0.6))
    places, middle = line(ax, "method-0").get_data()
    bars = [path.vertices[:, 1].tolist() for path in ax.collections[0].get_paths()]

    assert np.diff(places) == approx([0.5, 0.5])
    assert list(middle) == [0.6, 0.5, 0.3]
    assert bars == [[0.5, 0.7], [0.4, 0.6], [0.2, 0.4]]
    assert line(ax, "baseline").get_ydata() == approx([0.55, 0.55])
    assert [label.get_text() for label in ax.get_xticklabels()] == [".01", ".1", "1"]


def test_a_method_without_a_ratio_is_at_the_right():
    values = {
        "over": {0.1: (0.5, 0.4, 0.6), 1.0: (0.3, 0.2, 0.4)},
        "tomek": {None: (0.6, 0.5, 0.7)},
    }
    ax = plots.metrics_by_ratio(values)

    assert line(ax, "method-1").get_xdata()[0] > line(ax, "method-0").get_xdata().max()
    assert [label.get_text() for label in ax.get_xticklabels()] == [".1", "1", "own"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["over", "tomek"]


@pytest.mark.parametrize(
    "values", [{}, {"tomek": {None: (0.6, 0.5, 0.7)}}, {"a": {1.0: (1, 1, 1)}}]
)
def test_few_methods_can_be_drawn(values):
    plots.metrics_by_ratio(values, baseline=(0.5, 0.4, 0.6)).figure.draw_without_rendering()


def test_methods_differ_by_shape_and_are_next_to_each_other():
    values = {name: {1.0: (0.5, 0.4, 0.6)} for name in "abcdefgh"}
    ax = plots.metrics_by_ratio(values)
    drawn = [line(ax, f"method-{number}") for number in range(8)]

    assert len({each.get_marker() for each in drawn}) == 8
    assert np.all(np.diff([each.get_xdata()[0] for each in drawn]) > 0)


@pytest.fixture
def curve():
    at, saved = np.array([0, 1, 10, 100]), np.array([0.0, 80.0, 1500.0, -9000.0])
    return Savings(at, saved, saved - 50, saved + 50)


def test_savings_are_drawn_with_their_band_and_the_best_number_of_checks(curve):
    ax = plots.savings(curve)

    assert line(ax, "model-0").get_data()[0].tolist() == [1, 10, 100]
    assert line(ax, "best-0").get_xdata() == [10]
    assert [text.get_text() for text in ax.texts] == ["1,500 with 10 checks"]
    assert line(ax, "nothing-saved").get_ydata() == approx([0, 0])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (-9050, 1550)
    assert ax.get_xscale() == "log"


def test_losses_of_checking_everything_do_not_flatten_the_savings(curve):
    low, high = plots.savings(curve).get_ylim()

    assert -2000 < low < -1000
    assert 1550 < high < 2000


def test_savings_of_two_models_are_named_in_the_legend(curve):
    ax = plots.savings(curve, label="ours")
    plots.savings(curve._replace(savings=curve.savings / 2), ax, label="theirs")

    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "ours, 1,500 with 10 checks",
        "theirs, 750 with 10 checks",
    ]
    assert [each.get_gid() for each in ax.lines].count("nothing-saved") == 1


def test_savings_that_are_losses_throughout_are_all_in_view():
    loss = np.array([-10.0, -100.0])
    low, high = plots.savings(Savings(np.array([1, 2]), loss, loss - 1, loss + 1)).get_ylim()

    assert low < -100
    assert high > -9
