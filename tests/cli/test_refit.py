"""`toprank refit`: a new version next to the old one, compared, promoted and rolled back."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.running import names_here, one_sentence, run_main
from payments.payment_days import copied, joined, made_days, new_model, unlabelled
from toprank.payments.payment_model import PaymentModel

N_FIT = 34
QUICK = ("--minutes", 0.0001, "--jobs", 1)


@pytest.fixture(scope="module")
def days():
    return made_days(42)


@pytest.fixture(scope="module")
def saved(days, tmp_path_factory):
    """A model that lived for some days: its list was checked, and the rest was claimed or not."""
    folder = tmp_path_factory.mktemp("saved")
    path = folder / "payments.toprank"
    fitted = new_model().fit(joined(days[:N_FIT]))
    fitted.save(path)
    fitted.close()
    with PaymentModel.load(path, for_writing=True) as model:
        for day in days[N_FIT:]:
            checked = model.rank(unlabelled(day), 3, remember=True).rows["tx"].to_pylist()
            truth = dict(zip(day["tx"].to_pylist(), day["is_fraud"].to_pylist(), strict=True))
            model.label(checked, [truth.pop(each) for each in checked])
            model.label(list(truth), list(truth.values()), source="claim")
    return folder


@pytest.fixture
def model(saved, tmp_path):
    copied(saved, tmp_path)
    return "payments.toprank"


@pytest.fixture(scope="module")
def refitted_once(saved, tmp_path_factory):
    folder = tmp_path_factory.mktemp("refitted")
    path = copied(saved, folder)
    outcome = run_main("refit", path, *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    return folder, outcome


@pytest.fixture
def refitted(refitted_once, tmp_path):
    """What was printed; the model and its second version are in the folder the test runs in."""
    copied(refitted_once[0], tmp_path)
    return refitted_once[1]


def test_a_new_version_is_written_next_to_the_old_one_which_stays(saved, refitted):
    assert names_here() == ["payments.history", "payments.toprank", "payments.v2.toprank"]
    assert Path("payments.toprank").read_bytes() == (saved / "payments.toprank").read_bytes()
    assert "--promote" in refitted.stderr
    assert "payments.v2.toprank" in refitted.stderr
    with (
        PaymentModel.load("payments.v2.toprank") as new,
        PaymentModel.load("payments.toprank") as old,
    ):
        assert new.state_.history.id == old.state_.history.id
        assert new.get_params(deep=False).keys() == old.get_params(deep=False).keys()
        assert new.delay == old.delay
        assert new.row_id == "tx"


def test_the_comparison_is_printed_with_its_days_and_intervals(refitted):
    lines = refitted.stdout.splitlines()
    assert re.match(r"Compared on [\d,]+ payments of 20\d\d-\d\d-\d\d to 20\d\d", lines[0])
    assert lines[1].split()[0] == "AP"
    assert "cards found in 5 checks per day" in lines[1]
    assert [line.split()[0] for line in lines[2:5]] == ["current", "version", "difference"]
    assert "The difference in AP is" in refitted.stdout
    assert "payments known by a verdict alone were left out" in refitted.stdout


def test_the_comparison_as_json(model):
    outcome = run_main("refit", model, *QUICK, "--json")
    facts = json.loads(outcome.stdout)
    assert facts["version"] == 2
    assert facts["rows"] > facts["positives"] > 0
    assert facts["left_out_verdicts_alone"] > 0
    assert facts["average_precision"]["low"] <= facts["average_precision"]["difference"]
    ahead = facts["new"]["cards_found"] - facts["current"]["cards_found"]
    assert facts["cards_found"]["difference"] == pytest.approx(ahead)


def test_promoted_it_is_current_and_rolled_back_the_old_one_is(refitted, saved, days):
    new = Path("payments.v2.toprank").read_bytes()
    outcome = run_main("refit", "payments.toprank", "--promote")
    assert outcome.exit_code == 0, outcome.stderr
    assert "Version 2 of payments.toprank is the current one now; version 1" in outcome.stderr
    assert Path("payments.toprank").read_bytes() == new
    assert "payments.v1.toprank" in names_here()
    pq.write_table(unlabelled(days[-1]), "today.parquet")
    for name in ("payments.toprank", "payments.v1.toprank", "payments.v2.toprank"):
        assert run_main("rank", name, "today.parquet").exit_code == 0
    back = run_main("refit", "payments.toprank", "--rollback")
    assert "Version 1 of payments.toprank is the current one now" in back.stderr
    assert Path("payments.toprank").read_bytes() == (saved / "payments.toprank").read_bytes()
    named = run_main("refit", "payments.toprank", "--promote", "--version", 2)
    assert named.exit_code == 0
    assert Path("payments.toprank").read_bytes() == new


def test_each_refit_has_a_number_of_its_own(refitted):
    run_main("refit", "payments.toprank", "--promote")
    outcome = run_main("refit", "payments.toprank", *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    assert "payments.v3.toprank" in names_here()
    assert outcome.stdout.startswith(
        "Version 3 learned from rows up to 2018-05-12, the current one"
    )
    assert "too few to compare" in outcome.stdout


def test_remembering_and_labelling_go_on_for_all_versions(refitted, days):
    pq.write_table(unlabelled(days[-1]), "today.parquet")
    run_main("refit", "payments.toprank", "--promote")
    assert run_main("rank", "payments.toprank", "today.parquet", "--remember").exit_code == 0
    with PaymentModel.load("payments.v1.toprank") as old:
        assert old.state_.history.n_repeated >= days[-1].num_rows


def test_what_cannot_be_done_is_said(model):
    assert "no version newer than 1" in one_sentence(run_main("refit", model, "--promote"))
    assert "no version before 1" in one_sentence(run_main("refit", model, "--rollback"))
    sentence = one_sentence(run_main("refit", model, "--promote", "--version", 9))
    assert "got 9" in sentence
    for options, words in (
        (("--promote", "--rollback"), "must not be given together"),
        (("--version", 2), "--version must come with --promote"),
        (("--promote", "--version", 0), "--version"),
    ):
        outcome = run_main("refit", model, *options)
        assert outcome.exit_code == 2
        assert words in outcome.stderr
    sentence = one_sentence(run_main("refit", model, "--silence", "soon"))
    assert "silence must be a span of time" in sentence
    assert "payments.v2.toprank" not in names_here()
    assert one_sentence(run_main("refit", "nowhere.toprank"))


def test_a_model_without_cards_is_refused(days):
    plain = joined(days[:5]).select(["amount", "channel", "is_fraud"])
    model = PaymentModel("is_fraud", n_estimators=5, time_limit=0.01, n_jobs=1).fit(plain)
    model.save("plain.toprank")
    assert "fitted without a card" in one_sentence(run_main("refit", "plain.toprank"))
    assert names_here() == ["plain.toprank"]
