"""`toprank retrain` and `toprank models`; here, since a desk to learn from takes long to make."""

import json

import pytest

from cli.running import one_sentence, run_main
from live import desks
from toprank.live.desk import Desk
from toprank.live.learning import retraining
from toprank.live.log_replay import replay
from toprank.payments.history_store.writer_lock import WriterLock


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    """Commands give way to other processes; tests do not."""
    monkeypatch.setattr(retraining.os, "nice", lambda _: 0)


def run(*words):
    outcome = run_main(*words)
    assert outcome.exit_code == 0, outcome
    return outcome.stdout


def as_json(*words):
    return json.loads(run(*words, "--json"))


def refused(*words):
    return one_sentence(run_main(*words))


def test_a_challenger_is_shown_promoted_by_a_second_person_and_rolled_back(desk):
    folder = desk.folder
    shown = run("models", "show", folder, 2)
    assert "Against model 1" in shown and "checks (" in shown and "prevalence-adjusted" in shown
    assert "In shadow: no payment of today" in shown and "On live payments: not yet" in shown
    live = as_json("models", "show", folder, 2)["live"]
    assert (live["n_days"], live["least_days"], live["least_frauds"]) == (0, 7, 20)
    assert "second person" in refused("models", "promote", folder, 2, "--by", "anna")
    assert "is the champion" in run("models", "promote", folder, 2, "--by", "ben")
    assert "must be the challenger" in refused("models", "promote", folder, 2, "--by", "ben")
    found = {each["number"]: each for each in as_json("models", "list", folder)}
    assert (found[1]["state"], found[2]["state"]) == ("retired", "champion")
    assert found[2]["approver"] == "person:ben" and found[2]["figures"]["against"] == 1
    assert as_json("models", "rollback", folder, "--by", "ben")["number"] == 1
    assert "rolled back to model 1" in run("models", "list", folder)
    assert "made with" in refused("models", "rollback", folder, "--by", "ben")


def test_a_challenger_can_be_rejected(desk):
    assert "its file is kept" in run("models", "reject", desk.folder, 2, "--by", "ben")
    assert desk.path_of("0002.toprank").exists()
    assert as_json("models", "show", desk.folder, 2)["why"] == "rejected by person:ben"


@pytest.mark.parametrize("number", [0, "two"])
def test_a_number_that_is_none_is_a_wrong_call(desk, number):
    assert run_main("models", "show", desk.folder, number).exit_code == 2


def test_a_model_that_there_is_not_is_named(desk):
    assert "between 1 and 2; got 7" in refused("models", "show", desk.folder, 7)


def test_retrain_prints_what_was_learned_while_the_desk_is_in_use(untrained):
    live = desks.live(untrained)
    model = as_json("retrain", untrained.folder, "--by", "anna", "--jobs", 1, "--effort", "quick")
    assert (model["number"], model["state"], model["who"]) == (2, "challenger", "person:anna")
    live.notice_changes()
    assert live.n_changes > 0 and replay(untrained).differences == []
    live.close()


def test_two_trainings_at_once_and_folders_without_a_desk_are_refused(untrained, tmp_path):
    lock = WriterLock(untrained.folder / retraining.LOCK, untrained.folder, 0.0)
    assert "is being trained by process" in refused("retrain", untrained.folder)
    lock.release()
    assert "toprank desk init" in refused("retrain", tmp_path / "nowhere")
    with Desk.open(untrained.folder) as desk:
        assert not retraining.is_training(desk.folder)
