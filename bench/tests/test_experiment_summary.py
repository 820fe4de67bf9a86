"""Summaries are made from rows: figures, published ones next to them, ranks and sources."""

import pytest

from small_experiment import experiment
from toprank_bench.experiment_summary import (
    facts_of,
    html_page,
    markdown,
    picture_of,
    section_of,
    summary_of,
    text_of,
)
from toprank_bench.runner import cells_of

METRICS = ("average_precision", "roc_auc", "precision_at_k(100%)")
VALUE = {"log": 0.8, "forest": 0.6, "third": 0.5}


def rows_of(declared, **others):
    return [
        {
            **cell._asdict(),
            "definition": declared.definition(cell.data, cell.method),
            "figures": dict.fromkeys(METRICS, VALUE[cell.method] + 0.01 * cell.seed),
            "parameters": {},
            "seconds": {"fit": 30.0},
            "commit": "abc",
            "machine": "a machine",
            **others,
        }
        for cell in cells_of(declared)
    ]


@pytest.fixture
def summary():
    return summary_of(experiment(), rows_of(experiment()))


def test_the_text_has_our_mean_the_published_figure_and_the_difference(summary):
    text = text_of(summary)
    assert "first\n  log     0.8150*  (0.5000 ▲ +0.3150)\n  forest  0.6150\n" in text
    assert "Mean rank\n  log     1.00*\n  forest  2.00" in text
    assert "log, the best mean rank, against the others" in text
    assert "8 of 8 rows are recorded, 4.0 minutes of work on a machine; commit abc (8)." in text


def test_markdown_html_and_plain_values_agree(summary):
    assert "| first | **0.8150** (0.5000 ▲ +0.3150) | 0.6150 |" in markdown(summary)
    page = html_page(summary)
    assert page.startswith("<!DOCTYPE html>") and "<svg" in page and "+0.3150" in page
    facts = facts_of(summary)
    assert facts["mean_ranks"] == {"log": 1.0, "forest": 2.0}
    assert facts["figures"][0]["mean"] == pytest.approx(0.815)
    assert facts["published"] == [{"data": "first", "method": "log", "value": 0.5}]
    assert picture_of(summary).get_size_inches()[0] > 0


def test_the_order_of_rows_does_not_matter():
    rows = rows_of(experiment())
    one, other = (summary_of(experiment(), each) for each in (rows, rows[::-1]))
    assert text_of(one) == text_of(other)


def test_per_cent_and_another_metric():
    declared = experiment(("[options]", "percent = true\n[options]"), ("log = 0.5", "log = 50.0"))
    assert "first\n  log     81.50*  (50.00 ▲ +31.50)" in text_of(
        summary_of(declared, rows_of(declared))
    )
    text = text_of(summary_of(declared, rows_of(declared), "roc_auc"))
    assert "first\n  log     81.50*\n" in text
    with pytest.raises(ValueError, match="has no metric 'roc'"):
        summary_of(declared, rows_of(declared), "roc")


def test_where_lower_is_better_the_lower_is_the_best():
    declared = experiment(("[options]", "lower_is_better = ['roc_auc']\n[options]"))
    assert summary_of(declared, rows_of(declared), "roc_auc").best == "forest"
    assert summary_of(declared, rows_of(declared)).best == "log"


def test_the_others_are_compared_with_our_method_in_every_metric():
    declared = experiment(("[options]", "ours = 'forest'\n[options]"))
    first, further = (
        summary_of(declared, rows_of(declared), metric) for metric in (None, "roc_auc")
    )
    assert "forest against the others\n" in text_of(first)
    assert "## forest against the others\n" in markdown(first)
    assert first.pairs[0][:2] == ("forest", "log")
    assert "### forest against the others\n" in section_of(further)
    assert "| log | 0, 0, 2 | -0.2000" in section_of(further)
    assert "against" not in section_of(summary_of(experiment(), rows_of(experiment()), "roc_auc"))


def test_a_method_is_compared_with_the_published_one_it_names():
    declared = experiment(("n_estimators = 5 }", "n_estimators = 5 }\npublished_as = 'log'"))
    assert "forest  0.6150   (0.5000 ▲ +0.1150)" in text_of(
        summary_of(declared, rows_of(declared))
    )


def test_rows_of_another_form_and_failed_ones_are_counted_and_not_shown():
    rows = rows_of(experiment())
    rows[0]["definition"] = "another"
    failed = {**rows[1], "failed": "too few rows."}
    del failed["figures"]
    text = text_of(summary_of(experiment(), [rows[0], failed, *rows[2:]]))
    assert "6 of 8 rows are recorded" in text
    assert "1 rows of an earlier form of this experiment are not shown." in text
    assert "1 cells failed, the first forest on first, seed 1: too few rows." in text


def test_a_failure_that_went_well_later_is_not_reported():
    rows = rows_of(experiment())
    failed = {**rows[1], "failed": "too few rows."}
    del failed["figures"]
    assert "failed" not in text_of(summary_of(experiment(), [failed, *rows]))


def test_methods_that_share_no_data_set_are_left_out_and_reported():
    declared = experiment(
        ("[published", "[methods.third]\nlearner = 'treerank'\n[published"),
        ("log = 0.5", "log = 0.5\nthird = 0.7"),
    )
    rows = [
        row for row in rows_of(declared) if row["data"] == "first" and row["method"] != "third"
    ]
    third = {**rows[0], "data": "second", "method": "third"}
    third["definition"] = declared.definition("second", "third")
    text = text_of(summary_of(declared, [*rows, third]))
    assert "Not shown, since there are no rows: third." in text
    assert "not run by us" not in text


def test_nothing_recorded_and_nothing_to_compare_get_a_sentence():
    with pytest.raises(ValueError, match="nothing is recorded of small"):
        summary_of(experiment(), [])
    with pytest.raises(ValueError, match="at least two methods must have rows"):
        summary_of(experiment(), rows_of(experiment())[:1])


def test_methods_that_are_no_rivals_have_a_table_and_nothing_is_tested():
    declared = experiment(("[options]", "ranked = false\n[options]"))
    rows = [row for row in rows_of(declared) if row["data"] == "first" or row["method"] == "log"]
    summary = summary_of(declared, rows)
    for page in (text_of(summary), markdown(summary), html_page(summary)):
        assert "0.8150" in page and "Wilcoxon" not in page and "Mean rank" not in page
        assert "is the best" not in page and "**" not in page
    assert "mean_ranks" not in facts_of(summary)
    with pytest.raises(ValueError, match="the methods of small are not ranked"):
        picture_of(summary)


def test_groups_of_sets_have_means_of_their_own():
    declared = experiment(("[published", "[groups]\nlarge = ['second']\n[published"))
    rows = rows_of(declared)
    for row in rows:
        row["figures"] = {"average_precision": 0.5 + 0.1 * (row["data"] == "second")}
    assert "| Mean, large | **0.6000** | **0.6000** |" in markdown(summary_of(declared, rows))


def test_rows_without_a_metric_are_reported_and_the_others_shown():
    rows = rows_of(experiment())
    del rows[0]["figures"]["roc_auc"]
    text = text_of(summary_of(experiment(), rows, "roc_auc"))
    assert "1 rows were recorded without roc_auc." in text
    for row in rows:
        row["figures"] = {"average_precision": 0.5}
    with pytest.raises(ValueError, match="no row of small has roc_auc"):
        summary_of(experiment(), rows, "roc_auc")


def test_rows_of_a_script_that_came_before_say_so(summary):
    rows = rows_of(experiment(), origin="benchmarks.quality.small")
    text = text_of(summary_of(experiment(), rows))
    assert "that this experiment replaced: benchmarks.quality.small (8)." in text
    assert "replaced" not in text_of(summary)
