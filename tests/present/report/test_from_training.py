"""The report of a training: its figures are those of the training, its rows those of the file."""

import html

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx

from toprank.present import summary
from toprank.present.report import render_report, report_of
from toprank.present.report.markup import prose
from toprank.present.summary import date_text
from toprank.rankers import list_reasons, reasons
from toprank.workflow import training
from toprank.workflow.task import prepare

START = np.datetime64("2025-01-01T00:00", "s")


def payments(n=700, limit=170):
    generator = np.random.default_rng(0)
    amount = generator.gamma(2.0, 40.0, n)
    label = pa.array(amount + 30 * generator.normal(size=n) > limit)
    hours = np.where(generator.random(n) < 0.25, np.nan, generator.exponential(10, n))
    return pa.table(
        {
            "paid_at": START + np.arange(n) * 3600,
            "amount": amount,
            "hours": hours,  # missing as NaN
            "country": [None if i % 5 == 0 else "FR" if i % 3 else "DE" for i in range(n)],
            "online": generator.random(n) < 0.3,
            "is_fraud": [None if i % 7 == 3 else label[i].as_py() for i in range(n)],
        }
    )


def train(table, learner="auto", **options):
    task = prepare(table, "is_fraud", **options)
    return training.train(task, 4, learner=learner, n_estimators=10, n_jobs=1)


@pytest.fixture(scope="module")
def trained():
    return train(payments(), time="paid_at")


@pytest.fixture(scope="module")
def report(trained):
    return report_of(trained, "Payments", "frauds", ["a remark."])


def test_the_figures_are_those_of_the_training(trained, report):
    assert report.headline == summary.headline(trained.chosen.test, "frauds", trained.promise)
    assert report.budget == 4
    assert report.per_day
    assert report.rows == 600
    assert report.positives == trained.task.is_positive.sum()
    assert [model.name for model in report.models] == [each.name for each in trained.candidates]
    for model, candidate in zip(report.models, trained.candidates, strict=True):
        assert model.found == candidate.test.found
        assert model.average_precision == candidate.test.average_precision
        assert np.array_equal(model.y, candidate.test.is_positive)
        assert np.array_equal(model.suspicion, candidate.test.suspicion)
        assert np.array_equal(model.probability, candidate.test.probability)
    assert report.remarks == [
        *summary.held_lines(trained.promise, trained.chosen.test),
        *(line.replace("\n", " ") for line in summary.refit_lines(trained)),
        summary.choice_line(trained).replace("\n", " "),
        "a remark.",
    ]
    assert report.parameters["n_estimators"] == "10"


def test_the_alerts_are_the_top_test_rows_under_their_numbers_in_the_file(trained, report):
    table, ranker, task = payments(), trained.chosen.ranker, trained.task
    order = np.argsort(-trained.chosen.test.suspicion, kind="stable")[:10]
    numbers = task.row_numbers[task.split.test[order]]
    assert task.n_unlabelled > 0
    assert [alert.row for alert in report.alerts] == [str(number) for number in numbers]
    assert [alert.rank for alert in report.alerts] == list(range(1, 11))
    rows = table.take(numbers - 1)
    assert [alert.suspicion for alert in report.alerts] == approx(ranker.suspicion(rows))
    assert [alert.probability for alert in report.alerts] == approx(ranker.probability(rows))
    assert [alert.is_positive for alert in report.alerts] == rows["is_fraud"].to_pylist()
    found = list_reasons.reasons_for_list(ranker, rows)
    for alert, row in zip(report.alerts, found, strict=True):
        texts = list(map(str, row.reasons))
        assert alert.reasons == texts or alert.reasons[0].startswith(list_reasons.NO_REASON)
    against = [list(map(str, row.less_suspicious)) for row in found]
    assert [alert.less_suspicious for alert in report.alerts] == against
    amounts = [reasons.number_text(np.float32(each)) for each in rows["amount"].to_pylist()]
    assert [alert.values["amount"] for alert in report.alerts] == amounts


def test_missing_values_are_counted_however_they_are_written(trained, report):
    table = payments()
    labelled = table.take(trained.task.row_numbers - 1)
    facts = {column.name: column for column in report.columns}
    assert list(facts) == ["amount", "hours", "country", "online"]
    assert facts["hours"].missing == approx(np.isnan(labelled["hours"].to_numpy()).mean())
    assert facts["country"].missing == approx(labelled["country"].null_count / 600)
    assert facts["hours"].missing > 0.2
    assert facts["amount"].missing == facts["online"].missing == 0
    assert [column.kind for column in report.columns] == [
        "number",
        "number",
        "category",
        "boolean",
    ]
    assert facts["online"].usual.startswith("no")


def test_importance_falls_and_adds_up_to_one(report):
    shares = [share for _, share in report.importance]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == approx(1)
    assert report.importance[0][0] == "amount"
    assert {name for name, _ in report.importance} == {"amount", "hours", "country", "online"}


def test_the_periods_hold_every_labelled_row_once(trained, report):
    assert [period.name for period in report.periods] == ["train", "validation", "gap", "test"]
    assert sum(period.rows for period in report.periods) == 600
    assert sum(period.positives for period in report.periods) == report.positives
    test = report.periods[-1]
    assert [np.datetime64(test.begin), np.datetime64(test.end)] == [
        moment.astype("datetime64[s]") for moment in trained.task.split.periods["test"]
    ]


def test_without_times_there_are_no_dates_and_no_gap():
    report = report_of(train(payments().drop_columns(["paid_at"])), "Payments", "frauds", [])
    assert [period.name for period in report.periods] == ["train", "validation", "test"]
    assert all(period.begin == period.end == "" for period in report.periods)
    assert not report.per_day


def test_the_page_can_be_written_from_it(report):
    page = render_report(report)
    assert prose(report.headline) in page
    assert page.count(">amount</") >= 1


def test_the_page_says_first_that_it_shows_the_test_period_and_not_today(trained, report):
    test = trained.task.split.test
    begin, end = (
        date_text(moment.astype("datetime64[s]").item())
        for moment in trained.task.split.periods["test"]
    )
    n_positive = trained.task.is_positive[test].sum()
    assert f"test period, {begin} to {end}: {test.size:,} rows with {n_positive} frauds" in (
        report.period
    )
    page = render_report(report)
    assert "today's list comes from toprank rank" in html.unescape(page)
    assert page.index('class="period"') < page.index('class="tiles"') < page.index('id="alerts"')


def test_names_given_for_columns_are_those_of_the_report(trained):
    names = reasons.ColumnNames({"amount": "amount in euros"})
    report = report_of(trained, "Payments", "frauds", [], names)
    assert report.importance[0][0] == "amount in euros"
    assert "amount in euros" in report.alerts[0].values
    assert any("amount in euros" in reason for alert in report.alerts for reason in alert.reasons)


# Trees


@pytest.fixture(scope="module")
def tree():
    return train(payments(), "metaap", time="paid_at")


def test_a_tree_is_in_the_report_with_the_rules_of_every_group(tree):
    report = report_of(tree, "Payments", "frauds", [])
    ranker = tree.ranker
    assert report.tree.svg == ranker.to_svg("frauds")
    for shown, group in zip(report.tree.groups, ranker.rules(), strict=True):
        head, *_ = group.text("frauds").splitlines()
        assert shown.counts == head
        assert [f"{rule}: {counts}" for rule, counts in shown.rules] == [
            rule.text("frauds") for rule in group.rules if rule.tally.n_rows
        ]
        assert len(shown.rules) + shown.n_more == len(group.rules)
    assert report.tried == []
    assert report.remarks[-1].startswith("Settings by cross-validated AP on the training rows: ")
    assert "\n" not in report.remarks[-1]
    assert report.parameters["depth"] == "None"
    assert '<section id="tree">' in render_report(report)


def test_what_is_no_readable_tree_is_not_in_the_report(trained, tree, monkeypatch):
    assert report_of(trained, "Payments", "frauds", []).tree is None
    forest = train(payments(), "rank-forest", time="paid_at")
    assert report_of(forest, "Payments", "frauds", []).tree is None
    monkeypatch.setattr(tree.ranker, "seen_", None)
    assert report_of(tree, "Payments", "frauds", []).tree is None
