"""Payments as they come, scored by a model that was fitted in batch."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.running import run_main
from toprank import PaymentModel, PaymentStream, StreamRanker, load, save
from toprank.simulator import Simulation, tables_by_day

ROLES = {
    "time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount", "row_id": "tx",
}  # fmt: skip
LISTED = ["suspicion", "probability"]


@pytest.fixture(scope="module")
def days():
    """40 days to learn from, and the day after them."""
    made = tables_by_day(Simulation(n_cards=80, n_terminals=30, n_days=41, random_state=5))
    frame = pd.concat([day.to_pandas() for day in made], ignore_index=True)
    frame["card"] = frame["card"].str.removeprefix("card-").str.zfill(6)
    frame["tx"] = [f"{i:07d}" for i in range(len(frame))]
    day = frame["paid_at"].dt.floor("D")
    return frame[day < day.max()], frame[day == day.max()].reset_index(drop=True)


@pytest.fixture(scope="module")
def fitted(days, tmp_path_factory):
    path = tmp_path_factory.mktemp("fitted") / "payments.toprank"
    model = PaymentModel(
        "is_fraud", **ROLES, n_estimators=15, time_limit=0.01, n_jobs=1, budget=10
    ).fit(days[0])
    model.save(path)
    model.close()
    return path.parent


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model(fitted, tmp_path):
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    return Path("payments.toprank")


def events(frame, **more):
    """The rows as lines of JSON, then lines with labels."""
    rows = frame.drop(columns="is_fraud").assign(paid_at=frame["paid_at"].astype(str))
    lines = [json.dumps(row) for row in rows.to_dict("records")]
    return "".join(f"{line}\n" for line in (*lines, *map(json.dumps, more.get("labels", ()))))


def scores(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def ranked(model, frame):
    """What `rank` gives the same rows, by id."""
    with PaymentModel.load(model) as payments:
        joined = payments.with_features(frame.drop(columns="is_fraud"))
        suspicion = payments.ranker_.suspicion(joined)
    return dict(zip(frame["tx"], suspicion.tolist(), strict=True))


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_a_stream_scores_as_a_table_does(model, days, form):
    expected = ranked(model, days[1])
    if form == "csv":
        days[1].drop(columns="is_fraud").to_csv("events.csv", index=False)
    else:
        Path("events.ndjson").write_text(events(days[1]))
    outcome = run_main("stream", f"events.{form}", "--model", model, "-o", "out.ndjson")
    assert outcome.exit_code == 0, outcome.stderr
    assert {each["id"]: each["suspicion"] for each in scores("out.ndjson")} == expected


def test_payments_of_a_stream_are_in_the_history_and_known_again(model, days):
    Path("events.ndjson").write_text(events(days[1]))
    run_main("stream", "events.ndjson", "--model", model, "-o", "out.ndjson")
    first = scores("out.ndjson")
    with PaymentModel.load(model) as payments:
        assert payments.state_.history.until == days[1]["paid_at"].max().to_datetime64()
        n_rows = payments.state_.rows().num_rows
    # a stream that resumes has nothing left to do
    outcome = run_main("stream", "events.ndjson", "--model", model, "-o", "out.ndjson")
    assert "0 rows scored" in outcome.stderr
    assert scores("out.ndjson") == first
    # the same payments in another file count once and get the same scores
    Path("again.ndjson").write_text("\n" + events(days[1]))
    run_main("stream", "again.ndjson", "--model", model, "-o", "again-out.ndjson")
    assert scores("again-out.ndjson") == first
    with PaymentModel.load(model) as payments:
        assert payments.state_.rows().num_rows == n_rows


def test_labels_reach_the_ledger_and_the_features(model, days):
    ids = days[1]["tx"].tolist()
    labels = [
        {"tx": ids[0], "is_fraud": True},
        {"tx": ids[1], "is_fraud": 0},
        {"tx": "no", "is_fraud": 1},
    ]
    Path("events.ndjson").write_text(events(days[1], labels=labels))
    outcome = run_main("stream", "events.ndjson", "--model", model, "-o", "out.ndjson")
    assert "2 labels taken in" in outcome.stderr
    assert "1 labels of unknown rows" in outcome.stderr
    with PaymentModel.load(model) as payments:
        held = payments.state_.history.held_labels(ids[:3])
        assert held.is_positive.tolist() == [True, False, False]
        assert held.has_label.tolist() == [True, True, False]
        assert payments.state_.ledger.position == 2


def test_what_was_not_settled_is_not_there_after_a_kill(model, days):
    rows = days[1].drop(columns="is_fraud").to_dict("records")
    payments = PaymentModel.load(model, for_writing=True)
    stream = PaymentStream(payments)
    before = payments.state_.history.until
    for row in rows[:5]:
        stream.score({name: value for name, value in row.items() if name != "tx"}, row["tx"])
    stream.position["input"] = [5, 5, 5]
    stream.checkpoint()
    settled = payments.state_.history.until
    for row in rows[5:9]:
        stream.score({name: value for name, value in row.items() if name != "tx"}, row["tx"])
    payments.state_._lock.release()  # as the end of a process does
    with PaymentModel.load(model, for_writing=True) as again:
        assert before < again.state_.history.until == settled
        assert PaymentStream(again).position == {"input": [5, 5, 5]}
        assert again.state_.n_rows == payments.state_.n_rows - 4


def test_the_window_measures_the_scores_that_payments_had(model, days):
    with PaymentModel.load(model, for_writing=True) as payments:
        stream = PaymentStream(payments, window=100, budget=10)
        for row in days[1].head(60).to_dict("records"):
            label = row.pop("is_fraud")
            stream.learn(row, bool(label), row["tx"])
        assert stream.n_scored == stream.n_labelled == 60
        assert stream.window.summary().n_rows == 60
        assert not stream.pending
        with pytest.raises(ValueError, match=r"is_fraud.*maybe"):
            stream.label("x", "maybe")


def test_the_options_of_an_online_learner_are_refused(model, days):
    Path("events.ndjson").write_text(events(days[1]))
    outcome = run_main("stream", "events.ndjson", "--model", model, "--loss", "ap")
    assert outcome.exit_code == 2
    assert "--loss must be left out" in outcome.stderr


def test_a_model_without_cards_scores_a_stream(days, tmp_path):
    plain = PaymentModel(
        "is_fraud", time="paid_at", drop=("card", "terminal", "tx"), n_estimators=5,
        time_limit=0.01, n_jobs=1,
    ).fit(days[0])  # fmt: skip
    plain.save("plain.toprank")
    Path("events.ndjson").write_text(events(days[1].rename(columns={"tx": "id"})))
    outcome = run_main("stream", "events.ndjson", "--model", "plain.toprank", "-o", "out.ndjson")
    assert outcome.exit_code == 0, outcome.stderr
    expected = plain.ranker_.suspicion(days[1][["amount"]])
    assert np.array_equal([each["suspicion"] for each in scores("out.ndjson")], expected)


@pytest.mark.parametrize("late", [{}, {"amount": None}, {"decided_at": "2018-05-12", "by": "Ann"}])
def test_a_label_line_may_have_null_or_further_fields(model, days, late):
    ids = days[1]["tx"].tolist()
    labels = [{"tx": ids[0], "is_fraud": "TRUE"} | late, {"tx": ids[1], "is_fraud": "0"} | late]
    Path("events.ndjson").write_text(events(days[1], labels=labels))
    outcome = run_main("stream", "events.ndjson", "--model", model, "-o", "out.ndjson")
    assert "2 labels taken in" in outcome.stderr
    assert "bad lines" not in outcome.stderr
    with PaymentModel.load(model) as payments:
        held = payments.state_.history.held_labels(ids[:2])
        assert held.is_positive.tolist() == [True, False]
        assert payments.state_.rows().num_rows == len(days[0]) + len(days[1])


def test_a_number_in_quotes_or_with_separators_is_read_and_another_text_is_a_bad_line(model, days):
    lines = [json.loads(line) for line in events(days[1].head(3)).splitlines()]
    for line, amount in zip(lines, [str(lines[0]["amount"]), "1,234.56", "many"], strict=True):
        line["amount"] = amount
    Path("events.ndjson").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    outcome = run_main("stream", "events.ndjson", "--model", model, "-o", "out.ndjson")
    assert outcome.exit_code == 0
    assert "line 3 is skipped: field 'amount' must be a number; got 'many'" in outcome.stderr
    assert len(scores("out.ndjson")) == 2
    with PaymentModel.load(model) as payments:
        assert payments.state_.rows()["amount"].to_pylist()[-1] == 1234.56


def test_all_lines_without_a_column_exit_1_and_change_nothing(model, days):
    Path("events.ndjson").write_text(events(days[1].drop(columns="card")))
    with PaymentModel.load(model) as payments:
        n_rows = payments.state_.rows().num_rows
    outcome = run_main("stream", "events.ndjson", "--model", model)
    assert outcome.exit_code == 1
    assert f"all {len(days[1])} lines are bad" in outcome.stderr.splitlines()[-1]
    assert "'card'" in outcome.stderr.splitlines()[-1]
    with PaymentModel.load(model) as payments:
        assert payments.state_.rows().num_rows == n_rows


def learning(payments, stop, path=None):
    """A stream whose learner gets the label of a payment 20 payments later, and its scores.

    It is saved and loaded in the middle.
    """
    learner = StreamRanker(n_estimators=20, least_refit=20)
    stream = PaymentStream(payments, learner=learner, threshold=0.2)
    ids, labels = stop["tx"].tolist(), stop["is_fraud"].tolist()
    scores = []
    for number, row in enumerate(stop.drop(columns="is_fraud").to_dict("records")):
        scores.append(stream.score(row, ids[number]).suspicion)
        if number >= 20:
            assert stream.label(ids[number - 20], labels[number - 20])
        if path is not None and number == 70:
            save(stream.learned, path)
            stream.learned = load(path)
    return stream, scores


def test_a_learner_of_streams_learns_from_the_features_of_cards(days, model, tmp_path):
    rows = days[1]
    with PaymentModel.load(model, for_writing=True) as payments:
        stream, scores = learning(payments, rows)
    counts = stream.n_scored, stream.n_labelled, len(stream.learned.pending)
    assert counts == (len(rows), len(rows) - 20, 20)
    learner = stream.learned.learner
    assert learner.model_.n_rows == len(rows) - 20
    names = set(learner.feature_names_in_)
    assert {"amount", "card_amount_to_usual_30d"} <= names
    assert not names & {"card", "terminal", "tx", "paid_at", "is_fraud"}
    assert np.isfinite(scores).all()


def test_it_resumes_from_its_file_and_scores_the_same(days, model, fitted, tmp_path):
    rows = days[1]
    with PaymentModel.load(model, for_writing=True) as payments:
        _, expected = learning(payments, rows)
    shutil.copytree(fitted, tmp_path / "again")
    with PaymentModel.load(tmp_path / "again" / model.name, for_writing=True) as payments:
        _, scores = learning(payments, rows, tmp_path / "learned.toprank")
    assert scores == expected


def test_a_payment_without_an_id_teaches_at_once(days, model):
    rows = days[1].drop(columns=["is_fraud"]).head(3).to_dict("records")
    with PaymentModel.load(model, for_writing=True) as payments:
        stream = PaymentStream(payments, learner=StreamRanker())
        for row in rows:
            stream.learn(row, False)
    assert stream.learned.learner.model_.n_rows == 3 and stream.n_labelled == 3


def test_a_learner_that_was_fitted_on_the_past_continues_from_it(days, model):
    past, today = days
    with PaymentModel.load(model, for_writing=True) as payments:
        table = payments.with_features(past.tail(1000).drop(columns="is_fraud"))
        columns = table.select(payments.ranker_.schema_.names)
        learner = StreamRanker(n_estimators=10).fit(columns, past["is_fraud"].tail(1000))
        names = list(learner.feature_names_in_)
        stream = PaymentStream(payments, learner=learner)
        row = today.drop(columns="is_fraud").iloc[0].to_dict()
        assert stream.score(row, "first").suspicion < 0
    assert list(learner.feature_names_in_) == names  # the stream has no others
