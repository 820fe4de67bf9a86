"""What a file keeps of a fitted model, and which models are not saved or loaded."""

import math
import subprocess
import sys

import numpy as np
import pytest
import xgboost
from sklearn.exceptions import NotFittedError

from files.packing import members_of, refused, rewrite, with_member
from files.tiny_ranker import ROWS, TinyRanker, fitted
from toprank.files import load, open_model, read_manifest, save, saving

pytestmark = pytest.mark.usefixtures("tiny_known")


def test_a_loaded_model_scores_as_the_saved_one(ranker, saved_file):
    loaded = load(saved_file)

    assert type(loaded) is TinyRanker
    np.testing.assert_array_equal(loaded.suspicion(ROWS), ranker.suspicion(ROWS))
    np.testing.assert_array_equal(loaded.center_, ranker.center_)
    assert loaded.center_.dtype == ranker.center_.dtype
    loaded.center_[0] = 0  # and is writable as a fitted one


def test_model_and_manifest_come_from_one_opening(ranker, saved_file, monkeypatch):
    manifest = read_manifest(saved_file)
    opened = []
    open_archive = saving.opened_archive
    monkeypatch.setattr(
        saving, "opened_archive", lambda path: opened.append(path) or open_archive(path)
    )
    model, same = open_model(saved_file)
    assert opened == [saved_file]
    assert same == manifest
    np.testing.assert_array_equal(model.suspicion(ROWS), ranker.suspicion(ROWS))


def test_parameters_are_loaded_with_nan_and_infinity(tmp_path):
    path = tmp_path / "model.toprank"
    for missing in (math.nan, math.inf, -math.inf, -999.0):
        save(fitted(missing=-1.0).set_params(missing=missing), path)

        found = load(path).missing
        assert found == missing or (math.isnan(found) and math.isnan(missing))


def test_no_member_is_pickled(saved_file):
    names = list(members_of(saved_file))

    assert names == ["manifest.json", "center.npy", "trees.ubj"]


def test_saving_again_replaces_the_file(saved_file):
    save(fitted(n_estimators=5), saved_file)

    assert load(saved_file).booster_.num_boosted_rounds() == 5
    assert list(saved_file.parent.iterdir()) == [saved_file]


def test_a_link_stays_a_link(saved_file):
    link = saved_file.with_name("current.toprank")
    link.symlink_to(saved_file)
    save(fitted(n_estimators=4), link)

    assert link.is_symlink()
    assert load(saved_file).n_estimators == 4


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError, match="this TinyRanker is not fitted yet; call fit"):
        save(TinyRanker(), tmp_path / "model.toprank")

    assert not list(tmp_path.iterdir())


def test_only_a_known_learner_is_saved(tmp_path):
    impostor = type("TinyRanker", (TinyRanker,), {})()
    for model in (object(), impostor):
        with pytest.raises(TypeError, match="save takes a fitted TinyRanker; got"):
            save(model, tmp_path / "model.toprank")


def test_a_parameter_that_is_an_object_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"parameters.random_state must be.*got RandomState"):
        save(fitted(random_state=np.random.RandomState(0)), tmp_path / "model.toprank")


def test_a_booster_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = fitted()
    model.booster_ = xgboost.train(
        {"booster": "dart", "nthread": 1}, xgboost.DMatrix(ROWS, np.arange(10)), 1
    )
    with pytest.raises(ValueError, match=r"booster 'trees' is not valid.*got 'dart'"):
        save(model, tmp_path / "model.toprank")

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{}", "booster 'trees' is not valid: the booster must have"),
        (b'{"a":1}', "booster 'trees' is not valid: UBJSON is broken"),
    ],
)
def test_an_invalid_booster_is_refused(raw, reason, saved_file):
    rewrite(saved_file, with_member("trees.ubj", raw))

    with refused(reason):
        load(saved_file)


def test_model_files_are_imported_without_learners():
    code = "import sys, toprank.files; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    imported = set(printed.stdout.split())
    assert "toprank.files.saving" in imported
    assert not imported & {"toprank.rankers.boosted", "sklearn", "xgboost"}
