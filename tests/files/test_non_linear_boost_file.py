"""NonLinearBoost in a file."""

import numpy as np
import pytest

from files.boosted import check_scores_and_reasons, payments, rows_for
from files.packing import members_of, npy_of, refused, rewrite
from toprank import NonLinearBoost
from toprank.files import load, save

N_LATENTS, N_TREES = 5, 6


@pytest.fixture(scope="module")
def ranker():
    settings = {"n_estimators": N_TREES, "n_latents": N_LATENTS, "max_depth": 2, "n_jobs": 1}
    return NonLinearBoost(**settings).fit(*payments())


@pytest.fixture
def path(ranker, tmp_path):
    save(ranker, tmp_path / "payments.toprank")
    return tmp_path / "payments.toprank"


def test_a_loaded_non_linear_boost_is_the_saved_one(ranker, path, tmp_path):
    loaded = load(path)
    check_scores_and_reasons(loaded)
    rows = rows_for(ranker)
    np.testing.assert_array_equal(loaded.predict_proba(rows), ranker.predict_proba(rows))
    np.testing.assert_array_equal(loaded.contributions(rows), ranker.contributions(rows))
    np.testing.assert_array_equal(loaded.staged_suspicion(rows), ranker.staged_suspicion(rows))
    np.testing.assert_array_equal(loaded.latents(rows), ranker.latents(rows))
    np.testing.assert_array_equal(loaded.latent_weights_, ranker.latent_weights_)
    assert loaded.get_params() == ranker.get_params()
    again = tmp_path / "again.toprank"
    save(loaded, again)
    before, after = members_of(path), members_of(again)
    assert before.keys() == after.keys()
    assert all(before[name] == after[name] for name in before if name != "manifest.json")


def test_a_non_linear_boost_without_a_cut_can_be_saved(tmp_path):
    X = np.ones((20, 2))
    ranker = NonLinearBoost(n_estimators=3, n_jobs=1).fit(X, np.arange(20) < 3)
    save(ranker, tmp_path / "flat.toprank")
    loaded = load(tmp_path / "flat.toprank")
    np.testing.assert_array_equal(loaded.probability(X), ranker.probability(X))


def spoiled(array, value):
    array = array.copy()
    array.flat[-1] = value
    return array


@pytest.mark.parametrize("name", ["biases", "mixing", "weights"])
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (lambda array: spoiled(array, np.nan), "must be between"),
        (lambda array: spoiled(array, -np.inf), "must be between"),
        (lambda array: spoiled(array, 1e60), "must be between"),
        (lambda array: array[..., :-1], "must be float64 of shape"),
        (lambda array: array[None], "must be float64 of shape"),
        (lambda array: np.concatenate([array, array]), "must be float64 of shape"),
        (lambda array: array.astype(np.float32), "must be float64 of shape"),
        (lambda array: array.astype(str), "must be float64 of shape"),
    ],
)
def test_invalid_latent_arrays_are_refused(ranker, path, name, odd, reason):
    array = odd(getattr(ranker.combination_, name))

    def change(manifest, members):
        members[f"{name}.npy"] = npy_of(array)

    rewrite(path, change)
    with refused(f"its contents do not make a NonLinearBoost: {name} {reason}"):
        load(path)


@pytest.mark.parametrize("value", [-2.5, 3.0])
def test_a_tree_that_weighs_more_than_any_step_allows_is_refused(ranker, path, value):
    def change(manifest, members):
        members["mixing.npy"] = npy_of(spoiled(ranker.combination_.mixing, value))

    rewrite(path, change)
    with refused("mixing must be between -2 and 2"):
        load(path)


@pytest.mark.parametrize("name", ["biases", "mixing", "weights"])
def test_a_missing_array_is_refused(path, name):
    def change(manifest, members):
        del members[f"{name}.npy"]

    rewrite(path, change)
    with refused("its contents do not make a NonLinearBoost"):
        load(path)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("state", "intercept", {"$float": "nan"}),
        ("state", "intercept", {"$float": "inf"}),
        ("state", "intercept", None),
        ("state", "intercept", "much"),
        ("parameters", "n_latents", 6),
        ("parameters", "n_latents", 0),
        ("parameters", "learning_rate", -1.0),
        ("parameters", "loss", "log"),
    ],
)
def test_a_non_linear_boost_with_invalid_contents_is_refused(part, name, value, path):
    def change(manifest, members):
        manifest[part][name] = value

    rewrite(path, change)
    with refused("its contents do not make a NonLinearBoost"):
        load(path)
