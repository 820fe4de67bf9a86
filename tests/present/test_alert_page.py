"""The page of a list: whole, harmless, and with all that an investigator asks for."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from present.report.test_report import ATTACK, Page
from toprank.metrics import Interval
from toprank.present.alert_page import (
    AlertPage,
    PastRow,
    past_rows,
    render_alert_page,
    write_alert_page,
)
from toprank.rankers.reasons import Reason
from toprank.workflow.alert_list import AlertList

FACTS = {"card": "card", "time": "at", "terminal": "shop", "amount": "amount", "id": "tx"}
NOW = datetime(2025, 3, 9, 10, 39, 42)


def listed(**changes):
    rows = pa.table(
        {
            "tx": ["T1", "T2"],
            "at": ["2025-03-09 10:39:42.000000", "2025-03-09 11:00:00.000000"],
            "card": ["C-517", "C-2"],
            "shop": ["S9", "S9"],
            "amount": ["481.2", "12"],
            "country": ["DE", "FR"],
        }
    )
    words = "amount 481.20; this card: usually 12-60; others: 7-152"
    alerts = AlertList(
        rows,
        np.array([483, 5]),
        np.array([2.72, 1.5]),
        np.array([0.732198, 0.41]),
        [[Reason("amount", "481.20", "7-152", 1.2, "usually 12-60", words)], []],
        Interval(1.1, 0.0, 2.0),
        1_160,
        cleared=np.array(["NaT", "2025-03-07T08:00"], dtype="datetime64[us]"),
        n_left_out=3,
        less_suspicious=[[Reason("country", "DE", "FR (98 %)", -0.3, words="country DE")], []],
    )
    return replace(alerts, **changes)


def past(n=3):
    earlier = [
        PastRow(NOW - timedelta(days=i + 1), 20.0 + i, "S1", {"country": "FR"}, i == 1)
        for i in range(n)
    ]
    return [PastRow(NOW, 481.2, "S9", {"country": "DE"}, None, is_listed=True), *earlier]


def page(**changes):
    made = AlertPage("Alerts in today.csv", listed(), FACTS, "frauds", "toprank 0", {},
                     [past(), past(0)])  # fmt: skip
    return replace(made, **changes)


def shown(made):
    return " ".join(" ".join(Page(render_alert_page(made)).text).split())


def test_an_alert_has_its_card_id_time_amount_probability_and_reasons():
    words = shown(page())
    for each in ("C-517", "T1", "2025-03-09 10:39:42", "481.2", "S9", "73 %", "amount 481.20",
                 "this card: usually 12-60 ; others: 7-152", "row 483"):  # fmt: skip
        assert each in words, each
    assert "Expect about 1.1 ( 0-2 ) frauds in these 2 cards." in words
    assert "1,160 rows were scored" in words
    assert "3 rows of cards known as fraud were left out." in words


def test_what_makes_a_row_less_suspicious_is_in_a_place_of_its_own():
    rendered = render_alert_page(page())
    why, against = (
        re.search(f'<div class="{name}">(.*?)</div>', rendered).group(1)
        for name in ("why", "against")
    )
    assert "amount 481.20" in why and "country DE" not in why
    assert "country DE" in against and "amount" not in against
    assert rendered.count('class="against"') == 1


def test_an_alert_without_an_unusual_value_says_so_and_a_cleared_card_as_well():
    words = shown(page())
    assert "a combination of ordinary values" in words
    assert "Cleared by an investigator on 7 Mar 2025 08:00." in words


def test_the_last_days_of_a_card_open_without_script_and_show_what_is_known():
    rendered = render_alert_page(page())
    assert "<script" not in rendered
    assert rendered.count("<details>") == 1  # the other card has no other payment
    words = shown(page())
    assert "Last 30 days: 4 payments, 544.20 in all, 1 known fraud" in words
    assert "8 Mar 2025 10:39 20.00 S1 FR genuine" in words
    assert "7 Mar 2025 10:39 21.00 S1 FR fraud" in words
    assert "9 Mar 2025 10:39 481.20 S9 DE not known" in words
    assert "No other payment in the 30 days before." in words
    assert rendered.count('<path class="listed"') == 1
    assert rendered.count('<path class="positive"') == 1


def test_of_very_many_payments_the_latest_are_shown_and_the_others_counted():
    words = shown(page(pasts=[past(100), past(0)]))
    assert "And 61 earlier ones." in words


def test_rows_without_cards_are_listed_with_their_columns():
    words = shown(page(facts={"time": "at"}, pasts=None))
    assert "row 483" in words
    assert "Expect about 1.1 ( 0-2 ) frauds in these 2 rows." in words
    assert "country DE" in words


def test_names_in_words_are_those_of_the_page():
    assert "land of the card DE" in shown(page(names={"country": "land of the card"}))


def test_the_page_is_whole_and_needs_nothing_from_elsewhere():
    rendered = render_alert_page(page())
    parsed = Page(rendered)
    assert parsed.unclosed == [] and parsed.mismatched == []
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert not [each for each in parsed.attributes if each[1] in ("src", "href")]
    assert "http" not in rendered
    assert "prefers-color-scheme: dark" in rendered and "@media print" in rendered
    assert render_alert_page(page()) == rendered


def test_nothing_in_the_data_becomes_markup():
    rows = listed().rows
    text = ATTACK.replace("\ud800", "")  # which no table can hold
    attacked = pa.table({name: [text, text] for name in [*rows.column_names, text]})
    reason = Reason(ATTACK, ATTACK, ATTACK, 1.0, ATTACK, ATTACK)
    made = page(
        title=ATTACK,
        made_with=ATTACK,
        names={"country": ATTACK, "shop": ATTACK, "amount": ATTACK},
        alerts=listed(rows=attacked, reasons=[[reason], []], less_suspicious=[[reason], []]),
        pasts=[[PastRow(NOW, 1.0, ATTACK, {ATTACK: ATTACK}), *past()], []],
    )
    parsed = Page(render_alert_page(made))
    assert parsed.unclosed == [] and parsed.mismatched == []
    assert "script" not in parsed.tags and "img" not in parsed.tags


@pytest.mark.parametrize("before", [None, 0o640])
def test_only_the_owner_may_read_a_new_file_and_a_mode_that_was_set_is_kept(before, tmp_path):
    path = tmp_path / "alerts.html"
    if before is not None:
        path.write_text("old")
        path.chmod(before)
    write_alert_page(page(), path)
    assert path.stat().st_mode & 0o777 == (before or 0o600)
    assert path.read_text(encoding="utf-8") == render_alert_page(page())


def test_payments_of_a_card_come_latest_first_and_the_listed_one_is_found():
    rows = pa.table(
        {
            "tx": ["T0", "T1"],
            "at": pa.array([NOW - timedelta(days=2), NOW], pa.timestamp("us")),
            "card": ["C", "C"],
            "shop": ["S", "S"],
            "amount": [1.5, 481.2],
            "country": ["FR", "DE"],
            "is_fraud": [False, None],
        }
    )
    expected = [
        PastRow(NOW, 481.2, "S", {"country": "DE"}, None, True),
        PastRow(NOW - timedelta(days=2), 1.5, "S", {"country": "FR"}, False, False),
    ]
    listed_fact = {"card": "C", "time": "2025-03-09 10:39:42", "amount": 481.2, "id": "T1"}
    assert past_rows(rows, FACTS, "is_fraud", listed_fact) == expected
    without = {role: name for role, name in FACTS.items() if role != "id"}
    for time in (NOW, "2025-03-09T10:39:42", (NOW - datetime(1970, 1, 1)).total_seconds()):
        found = past_rows(rows.drop_columns(["tx"]), without, "is_fraud",
                          {"card": "C", "time": time, "amount": 481.2})  # fmt: skip
        assert [row.is_listed for row in found] == [True, False]
