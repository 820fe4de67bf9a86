"""Designs of boxes: the law that is written down, and draws that follow from the seed alone."""

import numpy as np
import pytest

from toprank.metrics import roc_auc
from toprank_bench.simulated.boxes import BoxDesign, _boxes, design_of, drawn


def array(sample):
    return np.column_stack([column.to_numpy() for column in sample.features.columns])


@pytest.mark.parametrize("design", [BoxDesign(6, 1_000, 2), BoxDesign(10, 300, 5)])
def test_a_draw_has_the_positives_of_its_name_and_a_large_test(design):
    train, test = drawn(design, 1)
    assert (train.is_positive.sum(), train.is_positive.size) == (design.n_positive, design.n_rows)
    assert (test.is_positive.sum(), test.is_positive.size) == (2_000, 12_000)
    assert train.features.num_columns == test.features.num_columns == design.n_dimensions
    for sample in (train, test):
        assert array(sample).min() >= 0 and array(sample).max() <= 1


@pytest.mark.parametrize(("n_dimensions", "side"), [(2, 0.1), (5, 1 / 3)])
def test_positives_fill_four_boxes_whose_cores_hold_no_negative(n_dimensions, side):
    design, seed = BoxDesign(6, 1_000, n_dimensions), 3
    _, test = drawn(design, seed)
    centres = _boxes(np.random.default_rng([seed, 6, n_dimensions]), n_dimensions)
    apart = np.abs(centres[:, None] - centres).max(axis=2)[~np.eye(4, dtype=bool)]
    assert apart.min() >= side and centres.min() >= side / 2 and centres.max() <= 1 - side / 2

    distance = np.abs(array(test)[:, None] - centres).max(axis=2)
    of_positives, of_negatives = distance[test.is_positive], distance[~test.is_positive]
    assert of_positives.min(axis=1).max() <= side / 2 + 1e-6
    assert np.bincount(of_positives.argmin(axis=1), minlength=4).min() > 400
    assert of_negatives.min() > 0.37 * side
    assert (of_negatives < side / 2).any(axis=0).all()  # at the margins there are both


def test_a_draw_follows_from_the_seed_alone():
    design = BoxDesign(6, 1_000, 2)
    one, again, other = (drawn(design, seed)[0] for seed in (1, 1, 2))
    assert one.features.equals(again.features)
    assert not one.features.equals(other.features)


@pytest.mark.parametrize(("n_dimensions", "n_boxes"), [(2, 2), (2, 4), (5, 4), (5, 8)])
def test_fixed_boxes_mirror_each_other_so_that_no_linear_score_ranks(n_dimensions, n_boxes):
    name = f"6 of 1000, {n_dimensions} dimensions, {n_boxes} fixed boxes of 0.2, core 0.5"
    design = design_of(name)
    assert (design.side, design.core_side) == (0.2, 0.1)
    rows = [array(drawn(design, seed)[1]) for seed in (1, 2)]
    is_positive = drawn(design, 1)[1].is_positive
    centre = [np.unique(np.round(2 * each[is_positive] - 0.5) / 2, axis=0) for each in rows]
    np.testing.assert_array_equal(*centre)  # the same with every seed
    assert len(centre[0]) == n_boxes
    for direction in np.random.default_rng(0).normal(size=(5, n_dimensions)):
        assert roc_auc(is_positive, rows[0] @ direction) == pytest.approx(0.5, abs=0.03)
    centres = 0.25 + 0.5 * (rows[0][~is_positive] > 0.5)
    inside = np.abs(rows[0][~is_positive] - centres).max(axis=1)
    if n_boxes == 2**n_dimensions:
        assert 0.05 - 1e-6 <= inside.min() < 0.1


@pytest.mark.parametrize(
    "name",
    [
        "6 of 1000, 2 dimensions, 3 fixed boxes of 0.1, core 0.5",
        "6 of 1000, 2 dimensions, 6 fixed boxes of 0.1, core 0.5",
        "6 of 1000, 2 dimensions, 4 fixed boxes of 0.6, core 0.5",
        "6 of 1000",
        "6 of 1000, 3 dimensions",
        "0 of 9, 2 dimensions",
        "9 of 9, 2 dimensions",
    ],
)
def test_a_name_that_is_no_world_gets_a_sentence(name):
    with pytest.raises(ValueError, match=f"a design must be named like .* got '{name}'"):
        design_of(name)
