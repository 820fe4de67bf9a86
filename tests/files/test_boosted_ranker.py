"""BoostedRanker in a file."""

import numpy as np
import pytest

from files.boosted import check_scores_and_reasons, real_rankers, rows_for
from files.packing import members_of, rewrite
from toprank.files import ModelFileError, load, save
from toprank.rankers import reasons


@pytest.fixture(scope="module")
def boosted():
    return real_rankers()


@pytest.mark.parametrize("which", range(4))
def test_a_loaded_boosted_ranker_is_the_saved_one(which, boosted, tmp_path):
    ranker = boosted[which]
    path, again = tmp_path / "payments.toprank", tmp_path / "again.toprank"
    save(ranker, path)
    loaded = load(path)

    check_scores_and_reasons(loaded)
    rows = rows_for(ranker)
    np.testing.assert_array_equal(loaded.predict_proba(rows), ranker.predict_proba(rows))
    assert reasons.explain(loaded, rows) == reasons.explain(ranker, rows)
    assert loaded.predict(rows).tolist() == ranker.predict(rows).tolist()
    assert loaded.get_params() == ranker.get_params()
    assert loaded.positive_label_ == ranker.positive_label_
    assert loaded.history_ == ranker.history_
    save(loaded, again)
    assert members_of(again)["trees.ubj"] == members_of(path)["trees.ubj"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("classes", ["fraud"]),
        ("classes", ["fraud", "fraud"]),
        ("classes", ["genuine", "fraud"]),
        ("classes", ["fraud", 1]),
        ("classes", [0, 10**400]),
        ("classes", [0, None]),
        ("classes", [{}, {"a": 1}]),
        ("classes", [0.0, {"$float": "nan"}]),
        ("classes", "01"),
        ("positive", 2),
        ("positive", -1),
        ("positive", True),
        ("positive", None),
        ("positive", []),
        ("positive", [0, 1]),
        ("named_columns", "no"),
        ("calibration", [1.0]),
        ("calibration", [0.0, 1.0, 0.0, 0.0, 0.0]),
        ("calibration", [{"$float": "inf"}, 1.0, 0.0, 0.0, 0.0]),
        ("calibration", [1e308, -1e308, 0.0, 0.0, 0.0]),
        ("usual", []),
        ("usual", None),
        ("history", {"a": 1}),
        ("schema", {"columns": []}),
        ("schema", {"columns": [{"name": "amount", "kind": "number", "categories": []}]}),
    ],
)
def test_a_boosted_ranker_with_invalid_state_is_refused(key, value, boosted, tmp_path):
    path = tmp_path / "payments.toprank"
    save(boosted[0], path)

    def change(manifest, members):
        manifest["state"][key] = value

    rewrite(path, change)
    with pytest.raises(ModelFileError, match="its contents do not make a BoostedRanker"):
        load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "hinge"),
        ("loss_options", {"alpha": []}),
        ("engine", "pickle"),
        ("n_estimators", -1),
        ("max_depth", 10**30),
        ("learning_rate", {"$float": "nan"}),
        ("unknown", 1),
    ],
)
def test_a_boosted_ranker_with_invalid_parameters_is_refused(name, value, boosted, tmp_path):
    path = tmp_path / "payments.toprank"
    save(boosted[0], path)

    def change(manifest, members):
        manifest["parameters"][name] = value

    rewrite(path, change)
    with pytest.raises(ModelFileError, match="its contents do not make a BoostedRanker"):
        load(path)
