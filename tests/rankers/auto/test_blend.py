"""Every member: contributions add up, files restore it, and odd columns do no harm."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from rankers.auto.encoded import AMOUNT, COLUMNS, COUNTRY, number_columns, numbers, payments
from toprank.data.inputs import TrainingRows
from toprank.rankers.auto.blend import sampled
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.smooth_member import SmoothModel

RECIPES = [
    BoostedTrees(n_trees=12),
    BoostedTrees(n_trees=8, random_share=0.7, n_bags=3),
    BoostedTrees("ap-exp", n_trees=10),
    BoostedTrees("ap-lambda", n_trees=10, binning="balanced"),
    RandomisedForest(20),
    SmoothModel(1),
    SmoothModel(2),
]
every_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.words)


def fitted(recipe, rows, columns=COLUMNS, seed=0):
    return recipe.fit(rows, columns, seed=seed, n_threads=1)


@every_recipe
def test_contributions_add_up_to_the_score_from_one_start(recipe):
    member, features = fitted(recipe, payments()), payments(seed=1).features
    shares = member.contributions(features)

    assert shares.shape == (len(features), len(COLUMNS) + 1)
    assert shares.sum(axis=1) == approx(member.raw(features), abs=1e-5)
    assert shares[:, -1] == approx(np.full(len(features), shares[0, -1]), abs=1e-3)


@every_recipe
def test_importances_add_up_to_one_and_name_the_columns_that_matter(recipe):
    importances = fitted(recipe, payments(600)).importances()

    assert importances.shape == (len(COLUMNS),)
    assert (importances >= 0).all()
    assert importances.sum() == approx(1)
    assert importances[0] + importances[2] > importances[1] + importances[3]


@every_recipe
def test_a_restored_member_is_the_saved_one(recipe):
    member, features = fitted(recipe, payments()), payments(seed=1).features
    restored = type(member).from_parts(member.parts(), COLUMNS)

    assert np.array_equal(restored.raw(features), member.raw(features))
    assert np.array_equal(restored.contributions(features), member.contributions(features))
    assert np.array_equal(restored.importances(), member.importances())


@every_recipe
def test_a_score_does_not_depend_on_the_other_rows(recipe):
    member, features = fitted(recipe, payments()), payments(seed=1).features
    whole = member.raw(features)
    order = np.random.default_rng(0).permutation(len(features))

    assert np.array_equal(member.raw(features[order]), whole[order])
    for n_rows in (1, 2, 5, 33):
        assert np.array_equal(member.raw(features[-n_rows:]), whole[-n_rows:])
    one_by_one = [member.raw(features[[row]])[0] for row in range(20)]
    assert np.array_equal(one_by_one, whole[:20])


@every_recipe
def test_a_trial_scores_as_the_fitted_member_does(recipe):
    rows, features = payments(), payments(seed=1).features
    tried = recipe.tried(rows, COLUMNS, features, seed=3, n_threads=1)
    if isinstance(recipe, RandomisedForest):  # tried with fewer trees, which are less sure
        recipe = replace(recipe, n_trees=recipe.n_trees // 3)
    raw = fitted(recipe, rows, seed=3).raw(features)

    # forests are converted in float32
    assert np.clip(tried, raw.min(), raw.max()) == approx(raw, abs=1e-3)


@every_recipe
def test_a_seed_gives_the_same_member_again(recipe):
    rows = payments()
    first, again = (fitted(recipe, rows, seed=5).raw(rows.features) for _ in range(2))

    assert np.array_equal(first, again)


@every_recipe
def test_an_unseen_category_counts_as_missing_and_is_scored(recipe):
    rows = payments()
    known = rows.features[:, 2] != 4  # nobody from there in training
    member = fitted(recipe, rows.take(known))
    missing = rows.features.copy()
    missing[:, 2] = np.nan

    assert np.isfinite(member.raw(missing)).all()
    assert np.isfinite(member.raw(rows.features)).all()


NOTHING = np.full(240, np.nan)
ODD_TABLES = {
    "one number": ([payments().features[:, 0]], (AMOUNT,)),
    "one category": ([payments().features[:, 2]], (COUNTRY,)),
    "constant": ([np.full(240, 0.1), np.full(240, -7e30)], number_columns(2)),
    "a number all missing": ([payments().features[:, 0], NOTHING], number_columns(2)),
    "a category all missing": ([payments().features[:, 0], NOTHING], (AMOUNT, COUNTRY)),
    "a category all missing comes first": ([NOTHING, NOTHING + 1], (COUNTRY, AMOUNT)),
    "nothing but missing numbers": ([NOTHING], (AMOUNT,)),
    "nothing but missing categories": ([NOTHING], (COUNTRY,)),
    "huge": ([payments().features[:, 0] * 1e37], (AMOUNT,)),
}


@every_recipe
@pytest.mark.parametrize("table", ODD_TABLES)
def test_odd_columns_are_learned_from_scored_and_explained(recipe, table):
    values, columns = ODD_TABLES[table]
    features = np.column_stack(values).astype(np.float32)
    if isinstance(recipe, SmoothModel) and not recipe.can_fit(columns):
        pytest.skip("there is no number to square")
    member = fitted(recipe, TrainingRows(features, payments().is_positive, None), columns)
    restored = type(member).from_parts(member.parts(), columns)
    elsewhere = np.ones_like(features)

    assert np.isfinite(member.raw(features)).all()
    assert np.isfinite(restored.raw(elsewhere)).all()
    assert member.contributions(features).sum(axis=1) == approx(member.raw(features), abs=1e-5)
    assert member.importances().shape == (len(columns),)
    assert member.importances().sum() in (approx(1), 0)  # 0 if no column matters


@every_recipe
def test_two_rows_are_enough(recipe):
    rows = TrainingRows(
        np.array([[0, 0, 0, 0], [1, 1, 1, 1]], np.float32), np.array([True, False]), None
    )

    assert np.isfinite(fitted(recipe, rows).raw(rows.features)).all()


@pytest.mark.parametrize(
    ("recipe", "within"),
    [
        (BoostedTrees(n_trees=12), 1e-4),
        (BoostedTrees("ap-exp", n_trees=10), 1e-4),
        (BoostedTrees("ap-lambda", n_trees=10), 1e-4),
        (RandomisedForest(20), 1e-4),
        # the scale of a column is that of its rows, so the penalty on weights differs a little
        (SmoothModel(1), 0.1),
        (SmoothModel(2), 0.3),
    ],
    ids=lambda value: getattr(value, "words", None),
)
def test_a_weight_counts_like_that_many_copies(recipe, within):
    rows = payments(weighted=True)
    copies = np.repeat(np.arange(rows.is_positive.size), rows.weight.astype(int))
    copied = rows.take(copies)._replace(weight=None)
    weighted, repeated, plain = (
        fitted(recipe, each).raw(rows.features)
        for each in (rows, copied, rows._replace(weight=None))
    )

    assert weighted == approx(repeated, abs=within)
    assert np.abs(plain - repeated).max() > 2 * np.abs(weighted - repeated).max()


@examples(60)
@given(
    st.integers(1, 80), st.integers(1, 80), st.integers(2, 60), st.integers(0, 9), st.booleans()
)
def test_a_sample_is_small_keeps_the_total_weight_and_rare_positives(
    n_positive, n_negative, most, seed, weighted
):
    n = n_positive + n_negative
    weight = np.random.default_rng(seed).exponential(size=n) + 0.01 if weighted else None
    rows = TrainingRows(np.arange(n, dtype=np.float32)[:, None], np.arange(n) < n_positive, weight)
    sample = sampled(rows, most, seed)
    numbers_taken = sample.features[:, 0].astype(int)

    assert sample.is_positive.size == min(n, most)
    assert np.all(np.diff(numbers_taken) > 0)
    assert np.array_equal(sample.is_positive, rows.is_positive[numbers_taken])
    everything = np.ones(n) if weight is None else weight
    represented = np.ones(n) if sample.weight is None else sample.weight
    for sampled_class, whole_class in (
        (sample.is_positive, rows.is_positive),
        (~sample.is_positive, ~rows.is_positive),
    ):
        assert represented[sampled_class].sum() == approx(everything[whole_class].sum())
    if n_positive <= min(most // 2, n_negative):
        assert sample.is_positive.sum() == n_positive


def test_few_rows_are_their_own_sample():
    rows = numbers(30)
    assert sampled(rows, 30, seed=0) is rows


def test_another_seed_draws_another_sample():
    rows = numbers(200)
    one, same, other = (sampled(rows, 50, seed).features for seed in (1, 1, 2))

    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
