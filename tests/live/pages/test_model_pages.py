"""The page of models: figures in words, and buttons for who may press them."""

import re
from dataclasses import replace
from html import unescape

import pytest

from live.pages.browser import Browser
from toprank.live.learning import model_life
from toprank.live.learning.model_life import LearnedFacts
from toprank.live.store import audit_chain, model_table
from toprank.live.store.model_table import StoredModel, models
from toprank.live.store.shadow_score_table import shadow_scores

FIGURES = {
    "against": 1, "first_day": 20_001, "last_day": 20_010, "n_days": 10, "n_rows": 9_000,
    "n_frauds": 40, "n_left_out": 12, "capacity": 100, "prevalence": 0.001,
    "cards": {"champion": 4.0, "challenger": 5.8, "difference": 1.8, "low": 0.4, "high": 3.1},
    "adjusted_ap": {
        "champion": 0.31, "challenger": 0.32, "difference": 0.01, "low": -0.02, "high": 0.04
    },
}  # fmt: skip
FACTS = LearnedFacts(19_900, 20_010, 90_000, {"claim": 70, "investigator": 31}, FIGURES)


@pytest.fixture
def database(desk):
    """The database of the desk, with a champion and a challenger that anna asked for."""
    with desk.pages.database.writing() as connection:
        model_table.add(
            connection, StoredModel(1, "0001.toprank", "champion", "person:anna", 1, 0, last_day=5)
        )
        model = model_life.begin(connection, 2, 0, "person:anna")
        model_life.become_challenger(connection, 3, model, FACTS)
    yield desk.pages.database
    with desk.pages.database.writing() as connection:
        for table in (models, shadow_scores):
            connection.execute(table.delete())


@pytest.fixture(scope="module")
def as_role(client):
    browsers = {}

    def logged_in(role):
        if role not in browsers:
            browsers[role] = Browser(client, address=f"192.0.2.{100 + len(browsers)}")
            browsers[role].log_in(role)
        return browsers[role]

    return logged_in


def words(reply):
    text = reply.content.decode().partition("<main")[2]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", text)))


def state_of(database, number):
    with database.reading() as connection:
        return model_table.by_number(connection, number).state


def test_the_page_says_in_words_what_a_model_learned_from_and_how_it_compares(database, as_role):
    text = words(as_role("auditor").get("/models"))
    assert "finds 1.8 more cards per day in 100 checks (0.4 to 3.1); 5.8 against 4.0" in text
    assert "This is significant." in text and "This is not significant." in text
    assert "90,000 payments of 2024-06-26 to 2024-10-14, 101 of them fraud" in text
    assert "70 from claim, 31 from investigator" in text
    assert "12 payments known by a verdict alone were left out" in text
    assert "Asked for by anna" in text and "no payment of today" in text
    assert "On live payments: not yet; 0 of the 7 days and 0 of the 20 frauds" in text
    assert "Let it rank" not in text  # for approvers


def test_an_approver_promotes_and_rolls_back_with_buttons(database, as_role):
    approver = as_role("approver")
    assert "Let it rank" in words(approver.get("/models"))
    assert "Model 2 ranks from now on." in words(approver.post("/models/2/promote"))
    assert (state_of(database, 1), state_of(database, 2)) == ("retired", "champion")
    assert "approved by approver" in words(approver.get("/models"))
    assert "Model 1 ranks again." in words(approver.post("/models/rollback"))
    assert (state_of(database, 1), state_of(database, 2)) == ("champion", "retired")
    with database.reading() as connection:
        done = [
            (each.actor, each.action)
            for each in audit_chain.entries(connection)
            if each.subject == "model:2" and each.actor == "person:approver"
        ]
    assert done == [("person:approver", "model.promote"), ("person:approver", "model.rollback")]


def test_a_step_that_cannot_be_taken_is_explained_and_changes_nothing(database, as_role):
    approver = as_role("approver")
    approver.get("/models")
    reply = approver.post("/models/1/promote")
    assert reply.status == 409 and "must be the challenger" in words(reply)
    reply = approver.post("/models/rollback")
    assert reply.status == 409 and "made with" in words(reply)
    assert (state_of(database, 1), state_of(database, 2)) == ("champion", "challenger")
    assert "Model 2 is retired." in words(approver.post("/models/2/reject"))


def test_who_asked_for_a_model_gets_no_button_and_is_refused(database, as_role):
    with database.writing() as connection:
        connection.execute(
            models.update().where(models.c.number == 2).values(who="person:approver")
        )
    approver = as_role("approver")
    text = words(approver.get("/models"))
    assert "a second person lets it rank" in text and "Let it rank" not in text
    reply = approver.post("/models/2/promote")
    assert reply.status == 409 and "second person" in words(reply)
    assert state_of(database, 2) == "challenger"


def test_a_training_that_failed_or_was_interrupted_is_shown_with_the_reason(database, as_role):
    with database.writing() as connection:
        failed = model_life.begin(connection, 5, 0, "job:nightly retrain")
        model_life.fail(connection, 6, failed, "its process ended with code -9")
        model_life.begin(connection, 7, 0, "job:nightly retrain")
    text = words(as_role("senior").get("/models"))
    assert "its process ended with code -9" in text
    assert "Interrupted; the next retrain completes it." in text


def test_the_online_model_is_shown_where_it_is_wanted(database, desk, as_role, monkeypatch):
    assert "Online model" not in words(as_role("auditor").get("/models"))
    monkeypatch.setattr(desk.pages, "settings", replace(desk.pages.settings, online=True))
    text = words(as_role("auditor").get("/models"))
    assert "Online model in shadow" in text and "It cannot be promoted" in text
    assert "from 0 frauds and 0 genuine payments" in text
