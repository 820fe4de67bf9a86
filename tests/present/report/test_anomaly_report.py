"""The page of anomalies is whole, needs no other file, and says what was found."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from present.report import test_report as any_page
from present.report.test_report import ATTACK, Page
from toprank import AnomalyTreeRank
from toprank.metrics import Interval
from toprank.present.report.anomaly_report import (
    anomaly_report_of,
    render_anomaly_report,
    write_anomaly_report,
)
from toprank.present.report.contents import ColumnFacts, TreeGroup
from toprank.rankers import reasons
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.anomaly_ranker import AnomalyRanker
from toprank.rankers.anomaly.held_out import held_out_curve
from toprank.wording import decimal
from toprank.workflow.alert_list import most_unusual

SECTIONS = ["alerts", "curve", "importance", "data", "parameters", "made-with"]


def payments(n_rows=400):
    generator = np.random.default_rng(0)
    return pa.table(
        {
            "card": [f"c{i}" for i in range(n_rows)],
            "amount": generator.gamma(2.0, 40.0, n_rows),
            "gap": np.where(generator.random(n_rows) < 0.25, np.nan, generator.random(n_rows)),
            "country": generator.choice(["FR", "<u>&", "US"], n_rows),
        }
    )


def made_report(detector, n_listed=5, n_rows=400):
    table = payments(n_rows)
    features = table.drop_columns(["card"])
    detector.fit(features)
    alerts = most_unusual(detector, table, n_listed)
    curve = held_out_curve(detector, features)
    return anomaly_report_of(
        detector, alerts, features, curve, title="payments.csv", remarks=["a remark."]
    )


@pytest.fixture(scope="module")
def forest():
    return made_report(AnomalyForest(n_estimators=20))


@pytest.fixture(scope="module")
def tree():
    return made_report(AnomalyTreeRank())


@pytest.fixture(scope="module")
def pages(forest, tree):
    return {"forest": render_anomaly_report(forest), "tree": render_anomaly_report(tree)}


def words(page):
    return " ".join(" ".join(Page(page).text).split())


def test_every_section_is_there_in_reading_order(pages):
    expected = {"forest": SECTIONS, "tree": ["alerts", "tree", *SECTIONS[1:]]}
    for name, page in pages.items():
        ids = [each for each in Page(page).ids if each in [*SECTIONS, "tree"]]
        assert ids == expected[name]


@pytest.mark.parametrize("name", ["forest", "tree"])
def test_the_page_is_whole_and_needs_no_other_file(name, pages):
    any_page.test_every_tag_is_closed_where_it_should_be(pages[name])
    any_page.test_headings_begin_at_one_and_skip_no_level(pages[name])
    any_page.test_the_page_needs_no_network_and_no_script(pages[name])
    any_page.test_ids_are_unique_and_every_reference_meets_one(pages[name])
    any_page.test_table_headings_say_what_they_head(pages[name])


def test_the_list_has_suspicions_and_reasons_and_no_probabilities(forest, pages):
    shown = words(pages["forest"])

    assert "The 5 most unusual of 400 rows" in shown
    for alert in forest.alerts:
        assert f"{alert.suspicion:.2f}" in shown
        assert all(reason in shown for reason in alert.reasons)
        assert alert.probability is None
    assert not re.search("probab|expect|positive", shown, re.IGNORECASE)


def test_rows_are_numbered_as_in_the_file_and_show_their_values(forest):
    table = payments()
    for alert in forest.alerts:
        row = table.slice(int(alert.row) - 1, 1).to_pylist()[0]
        assert alert.values["amount"] == reasons.number_text(np.float32(row["amount"]))
        assert set(alert.values) == {"amount", "gap", "country"}


def test_a_tree_gives_each_row_its_rule_and_draws_itself(tree, pages):
    shown = words(pages["tree"])

    for alert in tree.alerts:
        assert alert.reasons[-1].startswith("in group ")
        assert alert.reasons[-1] in shown
    assert 'id="tree-figure"' in pages["tree"]
    assert all(group.counts in shown for group in tree.tree.groups)
    assert "of the space" in tree.tree.groups[0].counts


def test_the_curve_says_its_area_and_what_it_depends_on(forest, pages):
    shown = words(pages["forest"])
    value, low, high = forest.held_out.area

    assert f"{decimal(value, 3)} ({decimal(low, 3)}-{decimal(high, 3)})" in shown
    assert "200 rows held out from a detector that learned from 200 others" in shown
    assert "measured with 20,000 points" in shown
    assert "volumes are exact" in words(pages["tree"])
    assert 'id="mass-volume-figure"' in pages["forest"]


def test_a_tiny_area_is_not_written_as_nothing(forest):
    tiny = replace(forest.held_out, area=Interval(3.2e-6, 3.0e-6, 3.5e-6))
    shown = words(render_anomaly_report(replace(forest, held_out=tiny)))

    assert "3.2e-06 (3.0e-06-3.5e-06)" in shown


def test_columns_parameters_and_remarks_are_shown(pages):
    shown = words(pages["forest"])

    for each in ("payments.csv", "a remark.", "gap number 2", "max_samples 256", "Made with"):
        assert each in shown


def test_a_detector_that_does_not_weigh_columns_has_a_page_too():
    ranker = AnomalyRanker(n_points=500)
    report = made_report(ranker, n_rows=200)
    shown = words(render_anomaly_report(report))

    assert hasattr(ranker, "feature_importances_") or "gives no shares of columns" in shown
    assert set(report.alerts[0].values) == {"amount", "gap", "country"}


def test_a_long_list_shows_its_top_and_says_so():
    report = made_report(AnomalyTreeRank(), n_listed=150)
    page = render_anomaly_report(report)

    assert len(report.alerts) == 100
    assert "The 150 most unusual of 400 rows" in page
    assert "The first 100 are shown." in page
    assert "are shown." not in render_anomaly_report(made_report(AnomalyTreeRank(), n_listed=100))


def test_one_row_is_spoken_of_as_one():
    assert made_report(AnomalyTreeRank(), n_listed=1).headline == "The most unusual of 400 rows"


def test_no_text_of_the_user_becomes_markup(tree):
    alert = replace(tree.alerts[0], row=ATTACK, reasons=[ATTACK], values={ATTACK: ATTACK})
    attacked = replace(
        tree,
        title=ATTACK,
        headline=ATTACK,
        alerts=[alert],
        importance=[(ATTACK, 1.0)],
        columns=[ColumnFacts(ATTACK, ATTACK, 0.0, ATTACK)],
        parameters={ATTACK: ATTACK},
        remarks=[ATTACK],
        made_with=ATTACK,
        detector=ATTACK,
        tree=replace(tree.tree, groups=[TreeGroup(ATTACK, [(ATTACK, ATTACK)])]),
    )
    page = render_anomaly_report(attacked)
    parsed = Page(page)

    assert "script" not in parsed.tags
    assert parsed.unclosed == []
    assert "<script" not in page
    assert "<u>&" not in page
    assert page.encode("utf-8").count(b"\x00") == 0


def test_the_same_report_gives_the_same_bytes(pages):
    assert render_anomaly_report(made_report(AnomalyForest(n_estimators=20))) == pages["forest"]


def test_the_page_is_written_whole_or_not_at_all(forest, pages, tmp_path):
    write_anomaly_report(forest, tmp_path / "page.html")

    assert (tmp_path / "page.html").read_text(encoding="utf-8") == pages["forest"]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none to write"):
        write_anomaly_report(forest, tmp_path / "none" / "page.html")
