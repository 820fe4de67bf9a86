"""The page of a replay is whole, needs no other file, and has the figures of the replay."""

from dataclasses import replace

import numpy as np
import pytest

from present.report import test_report as any_page
from present.report.test_report import ATTACK, Page
from simulator.feedback.made_days import COLUMNS, SPANS, MeanDifference, made_payments
from toprank.present.report.feedback_report import (
    feedback_report_of,
    render_feedback_report,
    write_feedback_report,
)
from toprank.simulator.feedback import replay
from toprank.simulator.feedback.desk_figures import DailyPromise, DeskFigures

SECTIONS = ["by-day", "ways", "assumed", "parameters", "made-with"]


@pytest.fixture(scope="module")
def replayed():
    return replay(made_payments(), MeanDifference(), budget=3, days=12, **COLUMNS, **SPANS)


@pytest.fixture(scope="module")
def page(replayed):
    report = feedback_report_of(replayed, title="Days", parameters={"budget": 3})
    return render_feedback_report(report)


def words(page):
    return " ".join(" ".join(Page(page).text).split())


def test_every_section_is_there_in_reading_order(page):
    assert [each for each in Page(page).ids if each in SECTIONS] == SECTIONS


def test_the_page_is_whole_and_needs_no_other_file(page):
    any_page.test_every_tag_is_closed_where_it_should_be(page)
    any_page.test_headings_begin_at_one_and_skip_no_level(page)
    any_page.test_the_page_needs_no_network_and_no_script(page)
    any_page.test_ids_are_unique_and_every_reference_meets_one(page)
    any_page.test_table_headings_say_what_they_head(page)


def test_the_page_says_what_the_replay_holds(replayed, page):
    shown = words(page)

    for name, way in replayed.strategies.items():
        assert f"{name}, {way.found.sum()} cards" in shown
        assert f"{replayed.card_precision(name).mean():.3f}" in shown
        assert f"{way.money.sum():,.0f}" in shown
    assert f"{replayed.ceiling.mean():.3f} if the truth were known" in shown
    assert "counts as genuine after 8 days" in shown
    assert "Trainings look 20 days back" in shown
    assert f"{replayed.n_payments:,}" in shown


def test_each_figure_has_a_line_per_way_and_the_ceiling(replayed, page):
    for figure in ("card-precision-figure", "cards-found-figure"):
        for number in range(len(replayed.strategies)):
            assert f'id="{figure}-model-{number}"' in page
        assert f'id="{figure}-ceiling"' in page


def test_the_same_replay_gives_the_same_bytes(replayed, page):
    report = feedback_report_of(replayed, title="Days", parameters={"budget": 3})
    assert render_feedback_report(report) == page


def test_no_text_of_the_user_becomes_markup(replayed):
    report = feedback_report_of(
        replayed, title=ATTACK, parameters={ATTACK: ATTACK}, remarks=[ATTACK]
    )
    assert ATTACK not in render_feedback_report(report)


def test_the_file_is_the_page(replayed, page, tmp_path):
    report = feedback_report_of(replayed, title="Days", parameters={"budget": 3})
    write_feedback_report(report, tmp_path / "days.html")

    assert (tmp_path / "days.html").read_text() == page
    assert np.all([each.name == "days.html" for each in tmp_path.iterdir()])


def test_desks_have_a_section_with_their_promise_by_day(replayed):
    n_days = replayed.dates.size
    promise = DailyPromise(*(np.full(n_days, each) for each in (2.0, 1.0, 3.0, 2.0, 0.8)))
    desks = {"static desk": DeskFigures(promise, None, 1, {})}
    strategies = {"static desk": replayed.strategies["static"]}
    with_desk = replace(replayed, desks=desks, strategies=strategies, new_on=4, claims_block=True)
    report = feedback_report_of(with_desk, title="Days", parameters={})
    page = render_feedback_report(report)

    assert "desks" in Page(page).ids
    assert 'id="promise-static-desk-figure"' in page
    assert f"held on {n_days} of {n_days} days" in words(page)
    assert "a claim blocks the card" in words(page)
    any_page.test_ids_are_unique_and_every_reference_meets_one(page)
