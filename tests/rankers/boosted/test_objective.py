"""The gradients an engine gets: batches inside the sums, scale, warm start."""

import numpy as np
import pytest
from pytest import approx

from toprank.losses import ApExp, Log
from toprank.rankers.boosted.objective import Objective


def objective(is_positive, **changes):
    settings = {
        "loss": ApExp(),
        "weight": None,
        "batch_fraction": 1.0,
        "seed": 0,
    }
    return Objective(is_positive=is_positive, **{**settings, **changes})


@pytest.fixture
def rows():
    generator = np.random.default_rng(0)
    is_positive = generator.random(400) < 0.1
    return is_positive, generator.normal(size=400)


def test_listwise_curvatures_are_scaled_to_one_per_positive(rows):
    is_positive, raw = rows
    gradient, curvature = objective(is_positive).gradient_curvature(raw, 0)
    plain, plain_curvature = ApExp().gradient_curvature(is_positive, raw)
    factor = is_positive.sum() / plain_curvature.sum()
    assert curvature.sum() == approx(is_positive.sum(), rel=1e-5)
    assert gradient == approx(factor * plain, rel=1e-6)
    assert curvature == approx(factor * plain_curvature, rel=1e-6)


def test_weighted_curvatures_are_scaled_to_the_positives_weight(rows):
    is_positive, raw = rows
    weight = np.linspace(0.5, 3, 400)
    _, curvature = objective(is_positive, weight=weight).gradient_curvature(raw, 0)
    assert curvature.sum() == approx(weight[is_positive].sum(), rel=1e-5)


def test_scaled_gradients_of_both_forms_are_the_same(rows):
    is_positive, raw = rows
    log_form, paper_form = (
        objective(is_positive, loss=ApExp(form)).gradient_curvature(raw, 0)
        for form in ("log", "paper")
    )
    assert log_form[0] == approx(paper_form[0], rel=1e-5)
    assert log_form[1] == approx(paper_form[1], rel=1e-5)


def test_log_gradients_keep_their_own_scale(rows):
    is_positive, raw = rows
    gradient, _ = objective(is_positive, loss=Log()).gradient_curvature(raw, 0)
    assert gradient == approx(Log().gradient_curvature(is_positive, raw)[0], rel=1e-6)


def test_the_loss_ignores_rows_outside_the_batch(rows):
    is_positive, raw = rows
    batched = objective(is_positive, batch_fraction=0.3)
    in_batch = batched.batch_weight(5) > 0
    gradient, curvature = batched.gradient_curvature(raw, 5)
    alone, _ = objective(is_positive[in_batch]).gradient_curvature(raw[in_batch], 0)
    assert 60 < in_batch.sum() < 180
    assert not gradient[~in_batch].any()
    assert not curvature[~in_batch].any()
    assert gradient[in_batch] == approx(alone, rel=1e-5)


def test_every_round_draws_another_batch_and_a_seed_draws_it_again(rows):
    is_positive, _ = rows
    first, again = (objective(is_positive, batch_fraction=0.5) for _ in range(2))
    assert np.array_equal(first.batch_weight(3), again.batch_weight(3))
    assert not np.array_equal(first.batch_weight(3), first.batch_weight(4))


@pytest.mark.parametrize("fraction", [1e-9, 0.01])
def test_a_batch_without_positives_teaches_nothing(fraction):
    is_positive = np.arange(50) == 0
    batched = objective(is_positive, batch_fraction=fraction)
    without = [t for t in range(200) if not batched.batch_weight(t)[0]]
    gradient, curvature = batched.gradient_curvature(np.linspace(0, 1, 50), without[0])
    assert not gradient.any()
    assert np.isfinite(curvature).all()
