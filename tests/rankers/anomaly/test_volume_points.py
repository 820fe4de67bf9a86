import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy import stats
from scipy.special import gammaln

from examples import examples
from toprank import metrics
from toprank.rankers.anomaly import volume_points
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.volume_points import importance_points, uniform_points


def cube(n_columns, reach):
    return Box(np.full(n_columns, -float(reach)), np.full(n_columns, float(reach)))


def radius(points):
    return np.linalg.norm(points, axis=1)


def ball_volume(radius, n_columns):
    log_unit = n_columns / 2 * np.log(np.pi) - gammaln(n_columns / 2 + 1)
    return np.exp(log_unit + n_columns * np.log(radius))


def normal_rows(n_columns, reach, seed=0, n_rows=1500):
    rows = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return rows[(radius(rows) < reach)]


def exact_area(rows, reach):
    """The area of suspicion = radius: each row represents its ball, which is in the box."""
    n_columns = rows.shape[1]
    return float(ball_volume(radius(rows), n_columns).mean() / (2 * reach) ** n_columns)


@pytest.mark.parametrize(
    ("n_columns", "n_points"),
    [(10, 3000), *(pytest.param(n, 8000, marks=pytest.mark.slow) for n in (2, 5, 10, 20))],
)
def test_importance_points_measure_the_area_of_a_normal_density_in_many_columns(
    n_columns, n_points
):
    rows = normal_rows(n_columns, reach=8)
    box = cube(n_columns, 8)
    points, weight = importance_points(box, rows, n_points, np.random.default_rng(1))
    found = metrics.mass_volume_interval(radius(rows), radius(points), weight, level=0.99)

    assert found.low <= exact_area(rows, 8) <= found.high
    assert (found.high - found.low) / 2 < 0.2 * found.value


def test_even_points_measure_the_area_of_a_normal_density_in_2_columns():
    rows = normal_rows(2, reach=4)
    points = uniform_points(cube(2, 4), 8000, np.random.default_rng(1))
    found = metrics.mass_volume_interval(radius(rows), radius(points), level=0.99)

    assert found.low <= exact_area(rows, 4) <= found.high
    assert (found.high - found.low) / 2 < 0.06 * found.value


def test_in_10_columns_even_points_know_nothing_and_say_so():
    rows = normal_rows(10, reach=8)
    points = uniform_points(cube(10, 8), 8000, np.random.default_rng(1))
    with pytest.warns(metrics.HopelessVolume, match="importance_points"):
        found = metrics.mass_volume_interval(radius(rows), radius(points))

    exact = exact_area(rows, 8)
    assert abs(found.value - exact) > 0.5 * exact
    assert found.low <= exact <= found.high
    assert found.high > 100 * exact


@pytest.mark.parametrize(
    ("n_ticks", "n_points", "width"),
    [(300, 6000, 0.04), pytest.param(700, 20_000, 0.02, marks=pytest.mark.slow)],
)
def test_the_area_of_a_mixture_is_that_of_a_lattice(n_ticks, n_points, width):
    generator = np.random.default_rng(3)
    rows = np.concatenate([generator.normal(m, 0.05, (700, 2)) for m in (0.25, 0.7)])
    rows = rows[((rows > 0) & (rows < 1)).all(axis=1)]
    box = Box(np.zeros(2), np.ones(2))

    def suspicion(points):
        return -sum(np.exp(-200 * ((points - m) ** 2).sum(axis=1)) for m in (0.25, 0.7))

    ticks = (np.arange(n_ticks) + 0.5) / n_ticks
    lattice = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    exact = metrics.area_under_mass_volume(suspicion(rows), suspicion(lattice))
    points, weight = importance_points(box, rows, n_points, generator)
    found = metrics.mass_volume_interval(suspicion(rows), suspicion(points), weight, level=0.99)

    assert found.low <= exact <= found.high
    assert (found.high - found.low) / 2 < width * found.value


def test_columns_that_go_together_are_measured_too():
    n_columns, reach = 10, 12
    generator = np.random.default_rng(5)
    together = np.full((n_columns, n_columns), 0.97) + 0.03 * np.eye(n_columns)
    rows = generator.multivariate_normal(np.zeros(n_columns), together, 1500)

    def suspicion(points):
        return np.sqrt(((points @ np.linalg.inv(together)) * points).sum(axis=1))

    squeezed = np.sqrt(np.linalg.det(together)) / (2 * reach) ** n_columns
    exact = float(ball_volume(suspicion(rows), n_columns).mean() * squeezed)
    points, weight = importance_points(cube(n_columns, reach), rows, 3000, generator)
    found = metrics.mass_volume_interval(suspicion(rows), suspicion(points), weight, level=0.99)

    assert exact < 1e-12
    assert found.low <= exact <= found.high
    assert (found.high - found.low) / 2 < 0.2 * found.value


@pytest.mark.parametrize("n_seeds", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_the_interval_holds_the_exact_area_in_10_columns_as_often_as_promised(n_seeds):
    rows = normal_rows(10, reach=8, n_rows=300)
    exact, box = exact_area(rows, 8), cube(10, 8)
    hits = 0
    for seed in range(n_seeds):
        points, weight = importance_points(box, rows, 1000, np.random.default_rng(seed))
        found = metrics.mass_volume_interval(radius(rows), radius(points), weight, level=0.9)
        hits += found.low <= exact <= found.high

    assert 0.78 <= hits / n_seeds <= (0.99 if n_seeds > 10 else 1)


@examples(15)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 10**6))
def test_weights_are_at_most_4_and_1_on_average(n_columns, n_rows, seed):
    generator = np.random.default_rng(seed)
    box = Box(np.full(n_columns, -1.0), np.full(n_columns, 3.0))
    rows = generator.uniform(-1, 3, (n_rows, n_columns)).round(1)
    points, weight = importance_points(box, rows, 4000, generator)

    assert np.all((points >= box.low) & (points <= box.high))
    assert weight.min() >= 0
    assert weight.max() <= 4
    assert abs(weight.mean() - 1) < 5 * weight.std() / np.sqrt(4000)


@pytest.mark.parametrize(
    ("n_points", "within"), [(10_000, 0.2), pytest.param(40_000, 0.15, marks=pytest.mark.slow)]
)
def test_weighted_points_fill_each_part_of_the_box_by_its_volume(n_points, within):
    generator = np.random.default_rng(2)
    rows = generator.beta(1, 9, (300, 2))
    points, weight = importance_points(Box(np.zeros(2), np.ones(2)), rows, n_points, generator)
    cell = (points * 4).astype(int).clip(0, 3) @ [4, 1]
    volume = np.bincount(cell, weight, minlength=16) / n_points

    assert np.bincount(cell).max() > 5 * np.bincount(cell).min()
    assert volume == approx(np.full(16, 1 / 16), rel=within)


def test_the_density_of_the_mixture_is_that_of_its_normals():
    centers = np.array([[0.1, 0.5], [0.8, 0.9], [0.4, 0.05]])
    points = np.random.default_rng(0).random((20, 2))
    kernels = volume_points._kernels(centers)
    density = 0.25 + 0.75 * np.mean([_mean_density(k, points) for k in kernels], axis=0)

    assert volume_points._weight(kernels, points) == approx(1 / density)


def _mean_density(kernel, points):
    if isinstance(kernel, volume_points._Slanted):
        covariance = kernel.factor @ kernel.factor.T
        return np.mean(
            [stats.multivariate_normal(c, covariance).pdf(points) for c in kernel.centers], axis=0
        )
    ends = -kernel.centers / kernel.spread, (1 - kernel.centers) / kernel.spread
    columns = stats.truncnorm(*ends, loc=kernel.centers, scale=kernel.spread)
    return columns.pdf(points[:, None, :]).prod(axis=2).mean(axis=1)


def test_even_points_are_even_over_the_box():
    box = Box(np.array([-1.0, 10.0]), np.array([1.0, 40.0]))
    points = uniform_points(box, 4000, np.random.default_rng(0))

    for column, (low, high) in enumerate(zip(box.low, box.high, strict=True)):
        assert stats.kstest(points[:, column], "uniform", (low, high - low)).pvalue > 0.001


def test_a_column_without_width_keeps_its_value_and_changes_no_weight():
    rows = normal_rows(2, reach=4)
    flat = np.insert(rows, 1, 7.0, axis=1)
    box = Box(np.array([-4.0, 7.0, -4.0]), np.array([4.0, 7.0, 4.0]))
    points, weight = importance_points(box, flat, 500, np.random.default_rng(0))
    others, same = importance_points(cube(2, 4), rows, 500, np.random.default_rng(0))

    assert np.unique(points[:, 1]).tolist() == [7.0]
    assert points[:, [0, 2]] == approx(others)
    assert weight == approx(same)
    assert np.unique(uniform_points(box, 50, np.random.default_rng(0))[:, 1]).tolist() == [7.0]


def test_points_do_not_depend_on_the_unit_of_a_column():
    rows, unit = normal_rows(3, reach=4), np.array([1.0, 1e6, 1e-6])
    box = cube(3, 4)
    scaled = Box(box.low * unit, box.high * unit)
    points, weight = importance_points(box, rows, 500, np.random.default_rng(0))
    others, same = importance_points(scaled, rows * unit, 500, np.random.default_rng(0))

    assert others / unit == approx(points)
    assert same == approx(weight, rel=1e-6)


def test_the_same_generator_gives_the_same_points():
    rows, box = normal_rows(3, reach=4), cube(3, 4)
    first, second = (importance_points(box, rows, 200, np.random.default_rng(9)) for _ in range(2))

    assert np.array_equal(first.points, second.points)
    assert np.array_equal(first.weight, second.weight)


@pytest.mark.parametrize("rows", [np.zeros((1, 3)), np.zeros((50, 3))])
def test_rows_that_are_all_the_same_still_give_points(rows):
    points, weight = importance_points(cube(3, 1), rows, 2000, np.random.default_rng(0))

    assert np.isfinite(points).all()
    assert weight.mean() == approx(1, abs=0.2)


def test_rows_outside_the_box_draw_no_points():
    rows = normal_rows(2, reach=1)
    with_others = np.append(rows, [[50.0, 0.0], [0.0, -50.0]], axis=0)
    points, _ = importance_points(cube(2, 1), rows, 300, np.random.default_rng(0))
    others, _ = importance_points(cube(2, 1), with_others, 300, np.random.default_rng(0))

    assert np.array_equal(points, others)


@pytest.mark.parametrize(
    "rows, message",
    [
        (np.zeros((4, 3)), r"features must have the 2 columns of the box; got shape \(4, 3\)"),
        (np.array([[0, np.nan], [0, 0]]), "features .* no missing values; got some in 1 of 2"),
        (np.full((4, 2), 9.0), "at least one row inside the box; got 0 of 4"),
    ],
)
def test_rows_that_do_not_fit_the_box_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        importance_points(cube(2, 1), rows, 10, np.random.default_rng(0))


def test_a_box_with_categories_has_no_volume_to_measure():
    box = Box(np.array([0.0, -np.inf]), np.array([1.0, np.inf]))
    generator = np.random.default_rng(0)
    for draw in (
        lambda: uniform_points(box, 10, generator),
        lambda: importance_points(box, np.zeros((4, 2)), 10, generator),
    ):
        with pytest.raises(ValueError, match="box must have finite bounds; those of column 1"):
            draw()


def test_there_must_be_points():
    with pytest.raises(ValueError, match="n_points must be at least 1; got 0"):
        uniform_points(cube(2, 1), 0, np.random.default_rng(0))
