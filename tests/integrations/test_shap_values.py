"""Contributions as shap's Explanation, shap's own explainer, and scikit-learn's inspection."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.inspection import PartialDependenceDisplay, permutation_importance

import toprank
from integrations.made_rows import payments
from toprank import AutoRanker, BoostedRanker, NonLinearBoost, RankForest, RankRLS, TreeRank

shap = pytest.importorskip(
    "shap", reason="shap is not installed: pip install 'toprank[integrations]'"
)
pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS = 600


@pytest.fixture(scope="module")
def table():
    return payments(N_ROWS)[0]


@pytest.fixture(scope="module")
def is_fraud():
    return payments(N_ROWS)[1]


@pytest.fixture(scope="module")
def ranker(table, is_fraud):
    return BoostedRanker(n_estimators=20).fit(table, is_fraud)


@pytest.mark.parametrize(
    "learner",
    [
        BoostedRanker(n_estimators=5), NonLinearBoost(n_estimators=5), RankForest(n_estimators=2),
        TreeRank(), RankRLS(), AutoRanker(n_estimators=1, time_limit=1e-9),
    ],
    ids=lambda learner: type(learner).__name__,
)  # fmt: skip
def test_values_and_base_add_up_to_the_suspicion(learner, table, is_fraud):
    fitted = learner.fit(table, is_fraud)
    found = toprank.shap_values(fitted, table[:50])
    assert isinstance(found, shap.Explanation)
    assert found.feature_names == list(table.columns)
    total = found.values.sum(axis=1) + found.base_values
    assert np.allclose(total, fitted.suspicion(table[:50]), rtol=0, atol=1e-4)


def test_they_are_those_of_shaps_own_explainer(ranker, table):
    explainer = shap.TreeExplainer(ranker.to_xgboost())
    theirs = explainer.shap_values(ranker.schema_.encode(table))
    ours = toprank.shap_values(ranker, table)
    largest = np.abs(ours.values - theirs).max()
    print(f"\nlargest difference to shap.TreeExplainer: {largest:.2g}")
    assert largest < 1e-5
    assert np.allclose(ours.base_values, explainer.expected_value, atol=1e-5)


def test_rows_are_shown_as_people_wrote_them(ranker, table):
    shown = toprank.shap_values(ranker, table[:3]).display_data
    assert shown[:, 2].tolist() == table["country"][:3].tolist()
    assert set(toprank.shap_values(ranker, table).display_data[:, 3]) == {"yes", "no"}
    assert shown[0, 0] == pytest.approx(table["amount"][0], rel=1e-6)


def test_a_row_and_the_whole_are_plotted(ranker, table):
    found = toprank.shap_values(ranker, table)
    plots = [
        lambda: shap.plots.waterfall(found[0], show=False),
        lambda: shap.plots.beeswarm(found, show=False),
        lambda: shap.plots.bar(found, show=False),
        lambda: shap.plots.scatter(found[:, "amount"], show=False),
    ]
    for plot in plots:
        plot()
        figure = plt.gcf()
        figure.canvas.draw()
        labels = [each.get_text() for axes in figure.axes for each in axes.get_yticklabels()]
        labels += [axes.get_xlabel() for axes in figure.axes]
        assert any("amount" in label for label in labels)
        plt.close("all")


def test_a_learner_without_contributions_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"shap\.Explainer\(model\.suspicion, X\) estimates it"):
        toprank.shap_values(toprank.OnlineNonLinearBoost(), [[1.0]])


def test_permutation_importance_uses_average_precision(ranker, table, is_fraud):
    found = permutation_importance(ranker, table, is_fraud, n_repeats=3, random_state=0)
    worst = dict(zip(table.columns, found.importances_mean, strict=True))
    assert worst["amount"] > worst["hour"]
    assert worst["amount"] > 0.05


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_partial_dependence_is_drawn_for_numbers_and_categories(ranker, table, method):
    rows = table.astype({"hour": float})
    display = PartialDependenceDisplay.from_estimator(
        ranker,
        rows,
        ["amount", "country"],
        categorical_features=["country"],
        response_method=method,
        grid_resolution=40,
    )
    rising = display.pd_results[0]["average"][0]
    assert rising[-1] > rising[0]
    plt.close("all")
