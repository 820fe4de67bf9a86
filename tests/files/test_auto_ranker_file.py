"""AutoRanker in a file."""

import json

import numpy as np
import pytest

from files.boosted import check_scores_and_reasons, payments, rows_for
from files.packing import members_of, npy_of, refused, rewrite, with_member
from toprank import AutoRanker
from toprank.files import load, save
from toprank.rankers import reasons
from toprank.rankers.auto import search
from toprank.rankers.auto.auto_ranker import _KINDS
from toprank.rankers.auto.trial import equal_blend

NOT_IT = "its contents do not make a AutoRanker"


def one_of_each(judge, trials):
    first = {}
    for trial in trials:
        first.setdefault(search.kind_of(trial.recipes[0]), trial)
    kinds = ("BoostedTrees", "RandomisedForest", "SmoothModel", "KernelModel")
    return equal_blend(judge, [first[kind] for kind in kinds])


@pytest.fixture(scope="module")
def ranker():
    """A blend of every kind, whatever the data would have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "BEYOND_DOUBT", 2.0)
        patch.setattr(search, "AHEAD", 0.0)
        patch.setattr(search, "blended_trial", one_of_each)
        ranker = AutoRanker(20, n_estimators=6, n_bags=2, n_jobs=1).fit(*payments())
    assert [type(member) for member in ranker.members_] == list(_KINDS.values())
    return ranker


@pytest.fixture
def path(ranker, tmp_path):
    save(ranker, tmp_path / "payments.toprank")
    return tmp_path / "payments.toprank"


def test_a_loaded_auto_ranker_is_the_saved_one(ranker, path, tmp_path):
    loaded = load(path)
    check_scores_and_reasons(loaded)
    rows = rows_for(ranker)

    np.testing.assert_array_equal(loaded.suspicion(rows), ranker.suspicion(rows))
    np.testing.assert_array_equal(loaded.predict_proba(rows), ranker.predict_proba(rows))
    np.testing.assert_array_equal(loaded.contributions(rows), ranker.contributions(rows))
    np.testing.assert_array_equal(loaded.feature_importances_, ranker.feature_importances_)
    assert reasons.explain(loaded, rows) == reasons.explain(ranker, rows)
    assert loaded.expected_positives(rows) == ranker.expected_positives(rows)
    assert loaded.account_.to_json() == ranker.account_.to_json()
    assert loaded.account_.chosen.words == ranker.account_.chosen.words
    assert loaded.get_params() == ranker.get_params()
    again = tmp_path / "again.toprank"
    save(loaded, again)
    first, second = members_of(path), members_of(again)
    assert {name: first[name] for name in first if name != "manifest.json"} == {
        name: second[name] for name in second if name != "manifest.json"
    }


def test_plain_log_loss_alone_can_be_saved(tmp_path):
    frame, labels = payments()
    ranker = AutoRanker(time_limit=1e-9, n_estimators=5, n_jobs=1).fit(frame, labels)
    save(ranker, tmp_path / "plain.toprank")
    loaded = load(tmp_path / "plain.toprank")

    check_scores_and_reasons(loaded)
    np.testing.assert_array_equal(loaded.suspicion(frame), ranker.suspicion(frame))
    assert loaded.account_.is_plain
    assert loaded.account_.left_out == ranker.account_.left_out


def test_columns_without_categories_and_numeric_labels_can_be_saved(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(150, 2))
    y = (X[:, 0] > 1).astype(int)
    ranker = AutoRanker(n_estimators=4, n_jobs=1).fit(X, y)
    save(ranker, tmp_path / "numbers.toprank")
    loaded = load(tmp_path / "numbers.toprank")

    np.testing.assert_array_equal(loaded.suspicion(X), ranker.suspicion(X))
    np.testing.assert_array_equal(loaded.classes_, [0, 1])


def test_members_are_named_by_their_position_in_the_blend(path):
    names = set(members_of(path)) - {"manifest.json"}
    assert all(name.startswith(("0-", "1-", "2-", "3-")) for name in names)
    assert {"0-trees.ubj", "1-trees.ubj", "1-orders.npy", "2-weights.npy"} <= names


def test_the_same_seed_writes_the_same_file(tmp_path):
    written = []
    for name in ("one.toprank", "again.toprank"):
        save(AutoRanker(n_estimators=3, n_jobs=1).fit(*payments()), tmp_path / name)
        members = members_of(tmp_path / name)
        manifest = json.loads(members.pop("manifest.json"))
        del manifest["created"]
        written.append((manifest, members))
    assert written[0] == written[1]


def change_state(name, value):
    def change(manifest, members):
        manifest["state"][name] = value

    return change


def change_member(number, name, value):
    def change(manifest, members):
        manifest["state"]["members"][number][name] = value

    return change


def exchange(first, second):
    def change(manifest, members):
        members[first], members[second] = members[second], members[first]

    return change


def without(name):
    def change(manifest, members):
        del members[name]

    return change


def change_account(name, value):
    def change(manifest, members):
        manifest["state"]["account"][name] = value

    return change


def change_parameter(name, value):
    def change(manifest, members):
        manifest["parameters"][name] = value

    return change


NAN, INFINITE = {"$float": "nan"}, {"$float": "inf"}
BREAKS = {
    "no members": change_state("members", []),
    "members of no list": change_state("members", None),
    "two of three members": change_state("members", [{"kind": "boosted", "state": {}}]),
    "a member of no kind": change_member(0, "kind", "neural"),
    "a kind that is a list": change_member(0, "kind", ["boosted"]),
    "another kind": change_member(0, "kind", "smooth"),
    "no state": change_member(2, "state", None),
    "no degree": change_member(2, "state", {"intercept": 0.0}),
    "degree 3": change_member(2, "state", {"degree": 3, "intercept": 0.0}),
    "intercept NaN": change_member(2, "state", {"degree": 1, "intercept": NAN}),
    "two centres": change_state("scales", [[0.0, 1.0], [0.0, 1.0]]),
    "a centre of NaN": change_state("scales", [[0.0, 1.0], [0.0, 1.0], [NAN, 1.0]]),
    "a centre of text": change_state("scales", [[0.0, 1.0], [0.0, 1.0], ["far", 1.0]]),
    "an infinite spread": change_state("scales", [[0.0, 1.0], [0.0, 1.0], [0.0, INFINITE]]),
    "a spread of 0": change_state("scales", [[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]),
    "a spread below 0": change_state("scales", [[0.0, 1.0], [0.0, 1.0], [0.0, -1.0]]),
    "a spread near 0": change_state("scales", [[0.0, 1.0], [0.0, 1.0], [0.0, 1e-300]]),
    "no account": change_state("account", None),
    "an unknown winner": change_account("winner", "luck"),
    "nothing tried": change_account("tried", []),
    "no orders": without("1-orders.npy"),
    "orders too short": with_member("1-orders.npy", npy_of(np.zeros(2, np.float32))),
    "orders of float64": with_member("1-orders.npy", npy_of(np.zeros(3))),
    "orders NaN": with_member("1-orders.npy", npy_of(np.full(3, np.nan, np.float32))),
    "no weights": without("2-weights.npy"),
    "weights NaN": with_member("2-weights.npy", npy_of(np.full(99, np.nan))),
    "numeric out of range": with_member("2-numeric.npy", npy_of(np.array([0, 7]))),
    "spread of text": with_member("2-spread.npy", npy_of(np.array(["a", "b"]))),
    "flags of numbers": with_member("2-has_missing.npy", npy_of(np.zeros(2))),
    "codes of floats": with_member("2-category_code.npy", npy_of(np.zeros(3))),
    "no trees": without("0-trees.ubj"),
    "no bags": change_parameter("n_bags", 0),
    "no trees asked for": change_parameter("n_estimators", 0),
    "no time": change_parameter("time_limit", -1.0),
    "an unknown parameter": change_parameter("depth", 3),
    "no calibration": change_state("calibration", []),
    "other columns": change_state(
        "schema", {"columns": [{"name": "amount", "kind": "number", "categories": []}]}
    ),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_an_auto_ranker_with_invalid_contents_is_refused(broken, path):
    rewrite(path, BREAKS[broken])
    with refused(NOT_IT):
        load(path)


def test_an_invalid_booster_is_refused(path):
    rewrite(path, with_member("1-trees.ubj", b"{}"))
    with refused("booster '1-trees' is not valid"):
        load(path)


def test_exchanged_boosters_make_another_but_valid_ranker(path, ranker):
    rewrite(path, exchange("0-trees.ubj", "1-trees.ubj"))
    loaded = load(path)
    check_scores_and_reasons(loaded)
    rows = rows_for(ranker)
    assert not np.array_equal(loaded.suspicion(rows), ranker.suspicion(rows))
