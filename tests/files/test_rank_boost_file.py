"""RankBoost in a file."""

import numpy as np
import pytest

from files.boosted import check_scores_and_reasons, payments, rows_for
from files.packing import members_of, refused, rewrite
from toprank import RankBoost
from toprank.files import load, save


@pytest.fixture(scope="module")
def ranker():
    return RankBoost(n_estimators=6, max_depth=2, learning_rate=0.5, n_jobs=1).fit(*payments())


@pytest.fixture
def path(ranker, tmp_path):
    save(ranker, tmp_path / "payments.toprank")
    return tmp_path / "payments.toprank"


def test_a_loaded_rank_boost_is_the_saved_one(ranker, path, tmp_path):
    loaded = load(path)
    check_scores_and_reasons(loaded)
    rows = rows_for(ranker)
    np.testing.assert_array_equal(loaded.predict_proba(rows), ranker.predict_proba(rows))
    np.testing.assert_array_equal(loaded.contributions(rows), ranker.contributions(rows))
    np.testing.assert_array_equal(loaded.alphas_, ranker.alphas_)
    assert loaded.get_params() == ranker.get_params()
    assert loaded.n_trees_ == ranker.n_trees_ == 6
    again = tmp_path / "again.toprank"
    save(loaded, again)
    assert members_of(again)["trees.ubj"] == members_of(path)["trees.ubj"]


def test_a_rank_boost_without_a_cut_can_be_saved(tmp_path):
    X = np.ones((20, 2))
    ranker = RankBoost(n_jobs=1).fit(X, np.arange(20) < 3)
    save(ranker, tmp_path / "flat.toprank")
    loaded = load(tmp_path / "flat.toprank")
    np.testing.assert_array_equal(loaded.probability(X), ranker.probability(X))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("state", "alphas", [0.5]),
        ("state", "alphas", [0.5] * 5 + [{"$float": "nan"}]),
        ("state", "alphas", "abcdef"),
        ("state", "alphas", None),
        ("parameters", "learning_rate", 2.0),
        ("parameters", "max_depth", 0),
        ("parameters", "loss", "log"),
    ],
)
def test_a_rank_boost_with_invalid_contents_is_refused(part, name, value, path):
    def change(manifest, members):
        manifest[part][name] = value

    rewrite(path, change)
    with refused("its contents do not make a RankBoost"):
        load(path)
