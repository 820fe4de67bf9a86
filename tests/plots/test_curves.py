"""The curves are drawn where the metrics say, on axes that a reader can understand."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from pytest import approx

from examples import examples
from toprank import metrics, plots


@pytest.fixture
def ranking():
    generator = np.random.default_rng(3)
    y = generator.random(3000) < 0.03
    return y, generator.normal(size=3000) + 2.5 * y


def line(ax, gid):
    (found,) = [each for each in ax.lines if each.get_gid() == gid]
    return found


def words(ax):
    return [text.get_text() for text in ax.texts]


def area_under_steps(recall, precision):
    return float(np.sum(np.diff(recall) * precision[1:]))


def test_checks_draws_the_precision_and_recall_of_the_metrics(ranking):
    ax = plots.checks(*ranking)
    curve = metrics.checks_curve(*ranking)

    assert line(ax, "model-0").get_xdata() == approx(curve.checks)
    assert line(ax, "model-0").get_ydata() == approx(curve.precision)
    assert line(ax, "recall-0").get_ydata() == approx(curve.recall)
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "Number of checks"


def test_checks_shades_between_the_bounds_of_each_curve(ranking):
    ax = plots.checks(*ranking)
    curve = metrics.checks_curve(*ranking)
    recall_band, precision_band = (band.get_paths()[0].vertices[:, 1] for band in ax.collections)

    assert precision_band.max() == approx(curve.precision_high.max())
    assert precision_band.min() == approx(curve.precision_low.min())
    assert recall_band.max() == approx(curve.recall_high.max())
    assert recall_band.min() == approx(curve.recall_low.min())


def test_checks_show_the_budget_with_the_values_found_there(ranking):
    ax = plots.checks(*ranking, budget=50)
    precision = metrics.precision_at_k(*ranking, 50)
    recall = metrics.recall_at_k(*ranking, 50)

    assert line(ax, "precision-at-50-of-0").get_ydata() == approx([precision])
    assert line(ax, "recall-at-50-of-0").get_ydata() == approx([recall])
    assert f"precision {100 * precision:.0f} %" in words(ax)
    assert "50 checks" in words(ax)


def test_checks_shows_chance_as_the_share_of_positives(ranking):
    y, suspicion = ranking
    ax = plots.checks(y, suspicion)

    assert np.unique(line(ax, "chance-precision").get_ydata()) == approx([y.mean()])
    assert line(ax, "chance-recall").get_ydata()[-1] == approx(1)


def test_checks_names_both_curves_when_no_budget_is_given(ranking):
    assert {"precision", "recall"} <= set(words(plots.checks(*ranking)))


def test_a_second_model_on_the_same_axes_keeps_one_chance_line_and_one_budget_line(ranking):
    y, suspicion = ranking
    ax = plots.checks(y, suspicion, budget=50)
    plots.checks(y, -suspicion, budget=50, ax=ax)
    drawn = [each.get_gid() for each in ax.lines]

    assert drawn.count("chance-precision") == 1
    assert drawn.count("budget-50") == 1
    assert line(ax, "model-0").get_color() != line(ax, "model-1").get_color()


@pytest.mark.parametrize("budget", [0, 3001])
def test_a_budget_that_cannot_be_spent_is_refused(ranking, budget):
    with pytest.raises(ValueError, match="budget must be between 1 and 3000"):
        plots.checks(*ranking, budget=budget)


def test_the_steps_of_the_precision_recall_curve_enclose_the_average_precision(ranking):
    few = slice(0, 300)
    y, suspicion = ranking[0][few], ranking[1][few]
    curve = line(plots.precision_recall(y, suspicion), "model-0")

    assert curve.get_drawstyle() == "steps-pre"
    assert area_under_steps(*curve.get_data()) == approx(metrics.average_precision(y, suspicion))


def test_a_long_precision_recall_curve_keeps_its_area_in_400_points(ranking):
    recall, precision = line(plots.precision_recall(*ranking), "model-0").get_data()

    assert recall.size <= 400
    assert recall[0] == 0
    assert recall[-1] == 1
    area = metrics.average_precision(*ranking)
    assert area_under_steps(recall, precision) == approx(area, abs=0.01)


def test_the_roc_curve_encloses_the_roc_auc(ranking):
    false_alarms, found = line(plots.roc(*ranking), "model-0").get_data()

    assert false_alarms.size <= 400
    area = np.sum(np.diff(false_alarms) * (found[1:] + found[:-1]) / 2)
    assert area == approx(metrics.roc_auc(*ranking), abs=0.002)


@pytest.mark.parametrize("draw", [plots.precision_recall, plots.roc])
def test_the_legend_names_each_model_with_its_figure(ranking, draw):
    y, suspicion = ranking
    ax = draw(y, suspicion, label="ours")
    draw(y, -suspicion, ax, label="price in $ or $US")
    first, second = (text.get_text() for text in ax.get_legend().get_texts())

    assert first.startswith("ours, A")
    assert second.startswith("price in $ or $US, A")
    assert [text.get_parse_math() for text in ax.get_legend().get_texts()] == [False, False]


@pytest.mark.parametrize("draw", [plots.precision_recall, plots.roc])
def test_a_curve_without_a_label_needs_no_legend(ranking, draw):
    ax = draw(*ranking)

    assert ax.get_legend() is None
    assert len([each for each in ax.lines if each.get_gid() == "chance"]) == 1


def test_dots_of_true_probabilities_follow_the_diagonal():
    generator = np.random.default_rng(5)
    probability = generator.beta(0.1, 5, size=20_000)
    y = generator.random(20_000) < probability
    ax = plots.calibration(y, probability)
    predicted, observed = line(ax, "model-0").get_data()

    assert predicted.size >= 5
    assert np.all(np.diff(predicted) > 0)
    assert np.median(np.abs(np.log(observed / predicted))) < 0.5
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlim()[0] <= predicted.min()


def test_every_calibration_dot_lies_within_its_bar():
    generator = np.random.default_rng(5)
    probability = generator.beta(0.1, 5, size=5000)
    y = generator.random(5000) < probability
    ax = plots.calibration(y, probability)
    bars = {bar[0, 0]: bar[:, 1] for bar in ax.collections[0].get_segments()}
    dots = [
        *zip(*line(ax, "model-0").get_data(), strict=True),
        *zip(*line(ax, "none-seen-0").get_data(), strict=True),
    ]

    assert len(dots) == len(bars) > 3
    assert all(bars[x][0] <= y <= bars[x][1] for x, y in dots)


def test_a_calibration_group_without_positives_sits_hollow_on_the_floor():
    y = np.r_[np.zeros(500, bool), np.ones(60, bool), np.zeros(40, bool)]
    probability = np.r_[np.full(500, 0.02), np.full(100, 0.6)]
    ax = plots.calibration(y, probability)
    hollow = line(ax, "none-seen-0")

    assert hollow.get_xdata() == approx([0.02])
    assert hollow.get_ydata() == approx([ax.get_ylim()[0]])
    assert hollow.get_fillstyle() == "none"


def test_given_axes_are_drawn_on_and_returned(ranking):
    ax = Figure().add_subplot()

    assert plots.roc(*ranking, ax) is ax
    assert plots.precision_recall(*ranking).figure is not ax.figure


def test_plots_never_load_pyplot():
    program = (
        "import sys; from toprank import plots; plots.roc([0, 1], [0.1, 0.2]);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@examples(8)
@given(st.lists(st.booleans(), min_size=2, max_size=12).filter(lambda y: 0 < sum(y) < len(y)))
def test_every_curve_draws_on_a_handful_of_rows(y):
    suspicion = np.round(np.linspace(1, 0, len(y)), 1)
    for draw in (plots.checks, plots.precision_recall, plots.roc, plots.calibration):
        ax = draw(y, suspicion)
        ax.figure.draw_without_rendering()
        assert all(np.isfinite(each.get_ydata()).all() for each in ax.lines)
