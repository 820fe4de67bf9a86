"""What a notebook shows: results whole, no markup of the data, legible in both themes."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import sklearn
from axe_playwright_python.sync_playwright import Axe
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from live.browser.conftest import chromium  # noqa: F401 - a fixture
from present.report.test_report import ATTACK, Page
from present.test_alert_page import listed
from toprank import AnomalyTreeRank, BoostedRanker, GeometricTree, MetaAP, PaymentModel, top_alerts
from toprank.metrics import Interval
from toprank.present.notebook import html_of
from toprank.present.notebook.frame import range_bar
from toprank.rankers.reasons import Reason
from toprank.simulator import simulate
from toprank.workflow.comparison.imbalance import compare_methods
from toprank.workflow.comparison.learner_comparison import compare_learners
from toprank.workflow.evaluation import evaluate
from toprank.workflow.task import prepare


def rows_of(view):
    """The cells of each row of a view's table, without their markup."""
    body = re.search(r"<tbody>(.*?)</tbody>", view, re.DOTALL)[1]
    return [
        [re.sub(r"<[^>]+>", " ", cell).split() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in body.strip().splitlines()
    ]


def check_whole(view):
    """Tags match, and nothing is loaded or run."""
    page = Page(view)
    assert page.unclosed == [] and page.mismatched == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    return " ".join(page.text)


@pytest.fixture(scope="module")
def payments():
    return simulate(n_cards=80, n_terminals=30, n_days=40, random_state=2)


@pytest.fixture(scope="module")
def model(payments):
    return PaymentModel(
        "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
        n_estimators=10, time_limit=0.01, n_jobs=1,
    ).fit(payments)  # fmt: skip


@pytest.fixture(scope="module")
def task(payments):
    return prepare(payments, "is_fraud", time="paid_at", drop=["card", "terminal"])


@pytest.fixture(scope="module")
def tree():
    hours = np.arange(24.0)[:, None]
    return MetaAP().fit(hours, hours[:, 0] < 6)


# Alerts


def test_an_alert_has_its_card_probability_values_and_reasons():
    view = listed(noun="frauds", facts=facts_of(listed()))._repr_html_()

    heading = " ".join(check_whole(view).split())
    assert "Expect about 1.1 ( 0-2 ) frauds in these 2 cards" in heading
    first, second = rows_of(view)
    assert first[0] == ["1"]
    assert first[1] == ["C-517", "row", "483"]
    assert first[2] == ["73", "%"]
    assert "481.2" in first[3]
    assert "481.20;" in first[4]
    assert second[4][-5:] == ["on", "7", "Mar", "2025", "08:00"]


def facts_of(alerts):
    return alerts.rows.select(["card", "at", "amount"]).rename_columns(["card", "time", "amount"])


def long_list(n_rows):
    amounts = np.arange(300.0)
    ranker = BoostedRanker(n_estimators=5).fit(pa.table({"amount": amounts}), amounts > 280)
    return top_alerts(ranker, [pa.table({"amount": amounts})], budget=n_rows)


def test_a_long_list_shows_twenty_rows_and_counts_the_others():
    view = long_list(100)._repr_html_()

    assert len(rows_of(view)) == 20
    assert "and 80 more." in check_whole(view)


def test_a_short_list_is_shown_whole():
    view = long_list(20)._repr_html_()

    assert len(rows_of(view)) == 20
    assert "more." not in check_whole(view)


def test_an_empty_list_says_so(model, payments):
    alerts = long_list(3)
    empty = replace(
        alerts, rows=alerts.rows.slice(0, 0), row_numbers=alerts.row_numbers[:0],
        suspicion=alerts.suspicion[:0], probability=alerts.probability[:0], reasons=[],
    )  # fmt: skip
    assert "No alerts: the list of 300 rows is empty." in check_whole(empty._repr_html_())


def test_a_detector_shows_suspicion_and_rules():
    from toprank.workflow.alert_list import most_unusual

    table = pa.table({"amount": [*range(1, 201), 900]})
    view = most_unusual(AnomalyTreeRank().fit(table), table, 2)._repr_html_()

    assert "Suspicion" in check_whole(view)
    assert "900" in rows_of(view)[0][3]


def test_no_value_name_or_reason_becomes_markup():
    rows = pa.table({ATTACK.replace("\ud800", ""): [ATTACK.replace("\ud800", "")] * 2})
    attacked = listed(
        rows=rows, noun=ATTACK, reasons=[[Reason(ATTACK, ATTACK, "", 1.0, words=ATTACK)], []]
    )
    with_cards = replace(
        attacked, facts=pa.table({"card": rows.column(0), "terminal": rows.column(0)})
    )
    for view in (attacked._repr_html_(), with_cards._repr_html_()):
        assert "<script" not in view
        assert "&lt;script&gt;" in view
        check_whole(view)


def test_no_column_of_a_tree_becomes_markup():
    name = '<img src=x onerror="alert(1)">'
    table = pa.table({name: [float(i) for i in range(60)]})
    view = MetaAP().fit(table, np.arange(60) > 50)._repr_html_()

    assert "<img" not in view
    assert "&lt;img" in view


# Figures


def test_an_evaluation_shows_what_to_expect_and_its_figures():
    figures = evaluate([1, 0, 1, 0, 0], [5, 4, 3, 2, 1], [0.9, 0.5, 0.5, 0.1, 0.1], budget=2)
    view = replace(figures, noun="frauds")._repr_html_()

    text = check_whole(view)
    assert "Expect about 1 fraud in your 2 checks" in text
    assert "5 rows, 2 of them frauds" in text
    assert str(figures.average_precision).split()[0] in text


def test_figures_of_a_model_call_positives_as_its_label_does(model, payments):
    assert "frauds" in html_of(model.evaluate(payments))
    assert "frauds" in model.rank(payments.slice(0, 50), 5)._repr_html_()


def test_a_payment_model_shows_its_training_below_the_diagram(model):
    view = model._repr_html_()

    assert "sk-top-container" in view
    assert "Expect about" in view and "train to" in view
    assert "toprank-view" not in clone(model)._repr_html_()


def test_a_comparison_shows_its_learners_verdicts_and_failures(task):
    compared = compare_learners(task, 10, ["ap-exp"], n_estimators=5)
    failing = replace(compared, failed={"tree": "a <b>sentence</b>."})
    text = check_whole(html_of(failing))

    assert {row[0][0] for row in rows_of(html_of(failing))} == {"ap-exp", "log", "tree"}
    assert "failed: a <b>sentence</b>." in text  # as text
    assert "Differences are in AP" in text


def test_remedies_show_their_ratio_and_what_to_do(task):
    compared = compare_methods(task, ["under"], [0.1], n_estimators=5)
    view = html_of(compared)

    assert [row[0] for row in rows_of(view)] == [["none"], ["under,", "ratio", ".1*"]]
    assert "What to do:" in check_whole(view)


def test_a_remedy_that_failed_has_its_reason(task):
    compared = compare_methods(task, ["under"], [0.1], n_estimators=5)
    tried = [each for each in compared.tried if each.trial.method != "under"]
    under = next(each.trial for each in compared.tried if each.trial.method == "under")
    failed = replace(compared, tried=tried, failed={under: "too few rows."}, differences=[])

    last = rows_of(html_of(failed))[-1]
    assert last[0] == ["under"]
    assert last[1] == ["failed:", "too", "few", "rows."]


@pytest.mark.parametrize(
    ("interval", "left", "width", "dot"),
    [(Interval(0.25, 0.0, 0.5), 0, 100, 50), (Interval(0.5, 0.5, 0.9), 100, 0, 100)],
)
def test_a_range_is_drawn_on_its_scale_and_never_beyond(interval, left, width, dot):
    drawn = range_bar(interval.value, interval.low, interval.high, 0.5)
    assert f"left:{left:.1f}%;width:{width:.1f}%" in drawn
    assert f'<b style="left:{dot:.1f}%">' in drawn


def test_what_has_no_view_is_an_error():
    with pytest.raises(TypeError, match="no HTML of a dict"):
        html_of({})


# Trees, and what scikit-learn promises of an estimator's HTML


def test_a_fitted_tree_shows_its_drawing_and_rules_below_the_diagram(tree):
    view = tree._repr_html_()

    assert view.index("sk-top-container") < view.index("<svg xmlns") < view.index("x0 &lt;= 5")
    assert "2 groups" in view


def test_a_tree_without_labels_counts_space():
    view = AnomalyTreeRank().fit(pa.table({"amount": [*range(200), 900]}))._repr_html_()

    assert "% of the space" in view and "positives" not in view.partition("toprank-view")[2]


def test_a_tree_that_nobody_reads_is_not_drawn():
    X = np.random.default_rng(0).normal(size=(3000, 6))
    large = GeometricTree(max_depth=12).fit(X, X.sum(axis=1) + X[:, 0] ** 3 > 3)
    assert large.seen_ is None
    view = large._repr_html_()

    assert "too many cuts to be drawn here" in view
    assert len(view.partition("toprank-view")[2]) < 10_000


def test_an_estimator_that_is_not_fitted_shows_the_diagram_alone():
    assert "toprank-view" not in MetaAP()._repr_html_()


def test_display_as_text_shows_no_html(tree):
    with sklearn.config_context(display="text"):
        assert not hasattr(tree, "_repr_html_")
        assert tree._repr_mimebundle_() == {"text/plain": repr(tree)}


def test_the_bundle_has_text_and_the_same_html(tree):
    bundle = tree._repr_mimebundle_()

    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(tree)
    ids = r"sk-[\w-]+-\d+"
    assert re.sub(ids, "", bundle["text/html"]) == re.sub(ids, "", tree._repr_html_())


def test_a_tree_in_a_pipeline_is_a_box_of_its_diagram(tree):
    view = make_pipeline(StandardScaler(), tree)._repr_html_()

    assert "MetaAP" in view and "toprank-view" not in view


# In a browser

# the rules that JupyterLab has for tables in outputs
JUPYTER = """
body { background: %s; color: %s; font-family: sans-serif; font-size: 14px }
.out table { table-layout: fixed } .out td, .out th { text-align: right; padding: .5em }
.out tbody tr:nth-child(odd) { background: %s }
"""
THEMES = {"light": ("#ffffff", "#212121", "#f5f5f5"), "dark": ("#111111", "#e0e0e0", "#212121")}


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
def test_views_are_legible_in_light_and_dark_notebooks(theme, chromium, model, task, tree):  # noqa: F811
    views = [
        listed()._repr_html_(),
        long_list(30)._repr_html_(),
        html_of(model.training_),
        html_of(compare_learners(task, 10, ["ap-exp"], n_estimators=5)),
        html_of(tree),
    ]
    page = chromium.new_page(color_scheme=theme)
    body = "\n".join(f'<div class="out">{each}</div>' for each in views)
    page.set_content(
        f'<html lang="en"><title>t</title><style>{JUPYTER % THEMES[theme]}</style>'
        f"<body><main><h1>t</h1>{body}</main></body></html>"
    )
    found = Axe().run(page, options={"rules": {"region": {"enabled": False}}}).response
    wrong = {
        each["id"]: [node["html"][:90] for node in each["nodes"]] for each in found["violations"]
    }
    assert not wrong
    aligned = page.eval_on_selector_all(
        ".toprank-table:not(.toprank-figures) td",
        "cells => cells.map(c => getComputedStyle(c).textAlign)",
    )
    assert set(aligned) == {"left"}
    page.close()
