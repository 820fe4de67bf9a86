"""Mass-volume and excess-mass curves are drawn where the metrics say."""

import numpy as np
import pytest
from pytest import approx

from toprank import metrics, plots


def line(ax, gid):
    (found,) = [each for each in ax.lines if each.get_gid() == gid]
    return found


@pytest.fixture
def detectors():
    tight = metrics.mass_volume_of_groups([80, 10, 10], [1, 3, 6])
    return {"tight": tight, "even": metrics.mass_volume_of_groups([1, 1], [1, 1])}


def test_mass_volume_curves_are_drawn_with_their_areas(detectors):
    ax = plots.mass_volume_curves(detectors)

    for number, curve in enumerate(detectors.values()):
        mass, volume = line(ax, f"model-{number}").get_data()
        assert np.trapezoid(volume, mass) == approx(curve.area)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["tight, AMV 0.135", "even, AMV 0.500"]
    assert ax.get_yscale() == "linear"


def test_volumes_below_a_hundredth_are_drawn_on_a_logarithmic_scale():
    curve = metrics.mass_volume_of_groups([50, 49, 1], [1e-7, 1e-5, 1])
    ax = plots.mass_volume_curves({"far": curve})

    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] == approx(1e-9, rel=0.01)
    plots.mass_volume_curves({"near": metrics.mass_volume_of_groups([1, 1], [1, 1])}, ax)
    assert ax.get_yscale() == "log"


def test_an_area_too_small_for_three_decimals_is_written_with_its_power_of_ten():
    curve = metrics.mass_volume_of_groups([1, 0], [1e-6, 1])
    (name,) = plots.mass_volume_curves({"far": curve}).get_legend().get_texts()

    assert name.get_text() == "far, AMV 5.0e-07"


def test_excess_mass_curves_are_drawn_where_the_metric_says(detectors):
    ax = plots.excess_mass_curves(detectors)

    for number, curve in enumerate(detectors.values()):
        level, height = line(ax, f"model-{number}").get_data()
        best = (curve.mass[:, None] - level * curve.volume[:, None]).max(axis=0)
        assert height == approx(best)
        area = curve.excess_mass().area()
        assert ax.get_legend().get_texts()[number].get_text().endswith(f"area {area:.3f}")
    assert np.unique(line(ax, "down-to").get_ydata()) == approx([0.9])
    assert ax.get_xscale() == "log"
