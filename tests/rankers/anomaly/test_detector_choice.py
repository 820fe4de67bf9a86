"""DetectorChoice: by few labels, by area, and what it says where labels cannot decide."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.utils.estimator_checks import check_estimator

import contracts
from rankers.trees.made_payments import payments
from toprank import AnomalyTreeRank, load, save
from toprank.rankers import reasons
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.atoms import AtomWarning
from toprank.rankers.anomaly.detector_choice import DetectorChoice, LabelsOfOneKind

FLAT, DEEP = AnomalyTreeRank(global_depth=1, local_depth=1), AnomalyTreeRank(global_depth=4)
TREES = {"flat": FLAT, "deep": DEEP}

GIVEN_CLASSES = dict.fromkeys(
    (
        "check_fit_score_takes_y",
        "check_estimators_overwrite_params",
        "check_dont_overwrite_parameters",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_dtype_object",
        "check_f_contiguous_array_estimator",
        "check_classifier_data_not_an_array",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
    ),
    "three classes, where labels must say what is an anomaly and what is not",
)


def small(detectors=None, **others):
    return DetectorChoice(TREES if detectors is None else detectors, n_points=500, **others)


def blob(n_rows=400, n_columns=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def few_labels(X, share=0.1):
    """Some rows labelled: positive where the first column is high, whatever is rare."""
    is_known = np.arange(len(X)) < share * len(X)
    return np.where(is_known, X[:, 0] > 1, np.nan)


def test_without_labels_the_area_decides():
    choice = small().fit(blob())
    assert choice.chosen_ == "deep" == choice.judged_[0].name
    assert choice.judged_[0].area.value < choice.judged_[1].area.value
    assert str(choice.detector_) == str(DEEP)


def test_labels_decide_where_there_are_both_kinds():
    class Sideways(AnomalyForest):
        def _raw(self, features):
            return features[:, 0].astype(float)

    X = blob()
    choice = small({"sideways": Sideways(n_estimators=5), **TREES})
    assert clone(choice).fit(X).chosen_ == "deep"
    fitted = clone(choice).fit(X, few_labels(X))
    assert fitted.chosen_ == "sideways"
    assert fitted.judged_[0].average_precision == 1
    assert np.array_equal(fitted.suspicion(X), X[:, 0].astype(np.float32))


def test_the_chosen_detector_learns_from_all_rows():
    frame, _ = payments(300)
    choice = small().fit(frame)
    expected = clone(TREES[choice.chosen_]).fit(frame)
    assert np.array_equal(choice.suspicion(frame), expected.suspicion(frame))
    assert np.array_equal(choice.contributions(frame), expected.contributions(frame))
    assert choice.detector_.box_.width[0] == expected.box_.width[0]


def test_it_keeps_the_promises_of_every_ranker():
    frame, _ = payments(200)
    choice = small()
    contracts.check_arguments_are_stored(choice)
    fitted = clone(choice).fit(frame)
    contracts.check_scores_are_row_wise(fitted, frame)
    contracts.check_shares_add_up(fitted, frame)
    contracts.check_columns_are_found_by_name(fitted, frame)
    contracts.check_unknown_categories_count_as_missing(fitted, frame)


@pytest.mark.parametrize(("label", "kind"), [(1.0, "positive"), (0.0, "negative")])
def test_labels_of_one_kind_leave_it_to_the_area_and_that_is_said(label, kind):
    y = np.full(400, np.nan)
    y[:3] = label
    with pytest.warns(LabelsOfOneKind, match=f"3 labelled rows, all {kind}: .* the area under"):
        choice = small().fit(blob(), y)
    assert choice.chosen_ == "deep"


def test_atoms_are_warned_of_where_the_area_decides_and_only_there():
    X = blob()
    X[:300, 1] = 0.0
    with pytest.warns(AtomWarning, match="'x1' is 0 in 75 % of the rows"):
        small().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small().fit(X, few_labels(X))


def test_a_borrowed_detector_may_be_chosen_but_has_no_reasons():
    choice = small({"isolation": IsolationForest(n_estimators=10, random_state=0)}).fit(blob())
    assert choice.suspicion([[0, 0]]) < choice.suspicion([[3, 3]])
    with pytest.raises(
        TypeError, match="'isolation' was chosen, which gives no reasons; leave it"
    ):
        reasons.explain(choice, blob(3))


def test_the_detectors_are_the_default_ones_unless_named(monkeypatch):
    asked = []

    def few_detectors(n_columns, n_rows):
        asked.append((n_columns, n_rows))
        return TREES

    monkeypatch.setattr("toprank.rankers.anomaly.detector_choice.default_detectors", few_detectors)
    choice = DetectorChoice(n_points=100).fit(blob(40))
    assert asked == [(2, 40)]
    assert {each.name for each in choice.judged_} == set(TREES)


def test_the_chosen_detector_can_be_kept_in_a_file(tmp_path):
    X = blob(100)
    choice = small().fit(X)
    save(choice.detector_, tmp_path / "chosen.toprank")
    assert np.array_equal(load(tmp_path / "chosen.toprank").suspicion(X), choice.suspicion(X))
    with pytest.raises(TypeError, match="save takes a fitted"):
        save(choice, tmp_path / "choice.toprank")


@pytest.mark.parametrize(
    ("detectors", "y", "error", "sentence"),
    [
        ([FLAT], None, TypeError, "detectors must be a dict of detectors by name, or None"),
        ({"one": "forest"}, None, TypeError, "must have fit and score_samples"),
        (TREES, ["yes"] * 100, ValueError, "y must be 1 for positives, 0 for negatives"),
        (TREES, [1, 0], ValueError, "y must have 100 labels.* got shape"),
    ],
)
def test_what_is_wrong_is_said(detectors, y, error, sentence):
    with pytest.raises(error, match=sentence):
        small(detectors).fit(blob(100), y)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract():
    outcomes = check_estimator(
        small({"deep": DEEP}), expected_failed_checks=GIVEN_CLASSES, on_fail="raise"
    )
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - len(GIVEN_CLASSES) - 1
