"""`toprank stream`: lines in and out, late labels, checkpoints, and what survives a kill."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest

import toprank
from cli.running import names_here, one_sentence, run_main, start
from toprank import BoostedRanker, OnlineBBM, OnlineNonLinearBoost
from toprank.cli.stream_files import locked
from toprank.cli.stream_lines import Position
from toprank.cli.stream_run import Output, _StatusLine
from toprank.rankers.online.event_stream import EventStream

STOPPED = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def made_events(n_rows, delay=20, seed=0):
    """Rows with text and gaps; two thirds get their labels late, as lines of their own."""
    draw = random.Random(seed)
    events, late = [], {}
    for i in range(n_rows):
        label = int(draw.random() < 0.2)
        row = {
            "id": f"e{i}",
            "amount": round(draw.gauss(2.0 * label, 1.0), 4),
            "country": draw.choice(["FR", "DE", "US"]),
            "age": None if draw.random() < 0.2 else draw.randrange(20, 80),
        }
        if i % 3 == 0:
            events.append(row | {"label": label})
        else:
            events.append(row)
            late[i + delay] = {"id": f"e{i}", "label": label}
        if i in late:
            events.append(late.pop(i))
    return events


def written(events, name="events.ndjson"):
    lines = (each if isinstance(each, str) else json.dumps(each) for each in events)
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return name


def run_stream(*arguments, stdin=None):
    """Run `toprank stream ... --model m.toprank` in this process."""
    given = io.TextIOWrapper(io.BytesIO((stdin or "").encode()))
    handler = signal.getsignal(signal.SIGINT)
    if "--learner" not in arguments and not Path("m.toprank").exists():
        arguments = (*arguments, "--learner", "onlb")
    with patch.object(sys, "stdin", given):
        outcome = run_main("stream", *arguments, "--model", "m.toprank")
    assert signal.getsignal(signal.SIGINT) == handler
    return outcome


def said(outcome):
    assert outcome.exit_code == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def replayed(events, **options):
    """The stream that the library alone makes of events, and what it says of them."""
    stream, lines = EventStream(OnlineNonLinearBoost(), **options), []
    for event in events:
        row = {name: value for name, value in event.items() if name not in ("id", "label")}
        label = event.get("label")
        if not row:
            stream.label(event["id"], label)
            continue
        if label is None:
            scored = stream.score(row, event["id"])
        else:
            scored = stream.learn(row, label, event["id"])
        line = {"id": event["id"], **scored._asdict(), "alert": scored.is_alert}
        del line["is_alert"]
        reasons = line.pop("reasons")
        if reasons:
            line["reasons"] = {name: round(effect, 3) for name, effect in reasons.items()}
        lines.append(line)
    return stream, lines


def state_of(model="m.toprank"):
    """All that a model file holds but the time it was written at."""
    saved = toprank.load(model)._to_saved()
    return saved.state, {name: array.tobytes() for name, array in saved.arrays.items()}


def test_rows_are_scored_and_learned_from_as_by_the_library():
    events = made_events(200)
    lines = said(run_stream(written(events)))
    stream, expected = replayed(events)

    assert lines == expected
    found, saved = toprank.load("m.toprank")._to_saved(), stream._to_saved()
    assert {name: array.tobytes() for name, array in found.arrays.items()} == {
        name: array.tobytes() for name, array in saved.arrays.items()
    }
    assert found.state["counters"] == saved.state["counters"]


def test_stdin_gives_the_same_as_a_file():
    events = made_events(60)
    text = "\n".join(map(json.dumps, events))
    from_stdin = said(run_stream("-", stdin=text))
    Path("m.toprank").unlink()

    assert from_stdin == said(run_stream(written(events)))


def test_the_fields_can_be_named_and_left_out():
    events = [
        {"key": 7, "is_fraud": True, "amount": 9.5, "paid_at": "2024-01-01"},
        {"key": 8, "amount": 12.5, "paid_at": "2024-01-02"},
        {"key": 8, "is_fraud": False, "paid_at": "2024-01-03"},  # of a late label
    ]
    options = ("--id", "key", "--label", "is_fraud", "--drop", "paid_at", "--drop", "none")
    lines = said(run_stream(written(events), *options))
    stream = toprank.load("m.toprank")

    assert [line["id"] for line in lines] == [7, 8]
    assert stream.learner.model_.columns.names == ["amount"]
    assert stream.n_labelled == 2


def test_a_csv_gives_what_json_does():
    Path("events.csv").write_text(
        '\ufeffid,amount,country,label\n1,9.5,FR,0\n2,,"D,E",\n\n2,,,1\n,-3e1,1_0,True\r\n',
        encoding="utf-8",
    )
    events = [
        {"id": "1", "amount": 9.5, "country": "FR", "label": 0},
        {"id": "2", "amount": None, "country": "D,E"},
        {"id": "2", "label": 1},
        {"id": None, "amount": -30.0, "country": "1_0", "label": True},
    ]

    lines = said(run_stream("events.csv"))
    assert lines == replayed(events)[1]
    Path("m.toprank").unlink()
    assert lines == said(run_stream("--format", "csv", stdin=Path("events.csv").read_text()))
    Path("m.toprank").unlink()
    assert lines == said(run_stream(written(events)))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_and_spaces_in_the_header_are_understood(delimiter):
    text = " id,amount , country,label\n1,9.5,FR,0\n2,12,DE,1\n"
    Path("plain.csv").write_text(text.replace(" ", ""))
    Path("events.csv").write_text(text.replace(",", delimiter))
    lines = said(run_stream("plain.csv"))
    Path("m.toprank").unlink()

    assert said(run_stream("events.csv")) == lines


def test_a_csv_read_as_json_is_reported_with_the_option():
    Path("events.txt").write_text("id,amount\n1,9.5\n2,12\n")
    outcome = run_stream("events.txt")

    assert outcome.exit_code == 1
    assert "--format csv" in outcome.stderr.splitlines()[-1]


def test_scores_of_a_live_source_are_not_buffered():
    for is_live in (True, False):
        with Path("scores.ndjson").open("wb") as file:
            Output(file, Position(), is_live).write(["{}\n"])
            assert Path("scores.ndjson").read_text() == ("{}\n" if is_live else "")


@pytest.mark.slow
def test_each_score_comes_at_once_from_a_pipe():
    run = start("stream", "--model", "m.toprank", stdin=subprocess.PIPE, bufsize=1)
    try:
        for i in range(3):
            run.stdin.write(json.dumps({"id": i, "amount": 1.0}) + "\n")
            assert json.loads(run.stdout.readline())["id"] == i
    finally:
        run.stdin.close()
        run.wait(timeout=30)

    assert run.returncode == 0


def test_text_labels_are_learned_once_the_positive_one_is_named():
    events = [{"amount": 1.0, "label": "fine"}, {"amount": 9.0, "label": "stolen"}]
    refused = run_stream(written(events))
    assert refused.exit_code == 1
    assert "line 1 is skipped: labels must be true and false, 1 and 0" in refused.stderr
    assert "--positive must name" in refused.stderr.splitlines()[-1]
    outcome = run_stream(written(events), "--positive", "stolen")

    assert "2 learned from" in outcome.stderr
    assert "1 positive" in outcome.stderr


def test_options_reach_the_learner_and_the_stream():
    options = ("--class-weight", "balanced", "--loss", "ap", "--learning-rate", "0.02")
    more = ("--window", 500, "-k", 7, "--threshold", 0.25, "--drift", "adwin")
    run_stream(written(made_events(5)), *options, *more, "--on-drift", "none")
    stream = toprank.load("m.toprank")

    assert (stream.learner.class_weight, stream.learner.loss) == ("balanced", "ap")
    assert stream.learner.learning_rate == 0.02
    assert (stream.window.size, stream.window.budget, stream.threshold) == (500, 7, 0.25)
    assert (stream.drift, stream.on_drift) == ("adwin", "none")


def test_the_summary_counts_what_the_run_did():
    events = [*made_events(300), {"id": "never seen", "label": 1}, "{"]
    outcome = run_stream(written(events), "--threshold", "0.3")
    n_labels = sum(isinstance(each, dict) and each.get("label") is not None for each in events)
    n_alerts = sum(line["alert"] for line in said(outcome))
    counts, measured = outcome.stderr.splitlines()[-2:]

    assert counts.startswith("300 rows scored in ")
    assert f"; {n_labels - 1} learned from; {n_alerts} alerts; " in counts
    assert counts.endswith("; 1 labels of unknown rows; 1 bad lines.")
    assert measured.startswith(f"Of the last {n_labels - 1} labelled rows, ")
    assert " positive: AP 0." in measured


def test_the_metrics_of_a_long_window_have_bounds():
    outcome = run_stream(written(made_events(400)), "--window", 20_000)

    assert ": AP 0." in outcome.stderr
    assert " to 0." in outcome.stderr.split(": AP 0.")[1].split(";")[0]


# Labels, as `toprank fit` takes them

SAME_LABELS = [
    ([1, 0], []),
    (["1", "0"], []),
    (["1.0", 0], []),
    ([True, False], []),
    (["true", "FALSE"], []),
    (["Yes", "No"], []),
    (["fraud", "genuine"], []),
    (["stolen", "fine"], ["--positive", "stolen"]),
    (["stolen", "fine"], ["--positive", "STOLEN"]),
    ([2, 1], ["--positive", "2"]),
]


@pytest.mark.parametrize(("labels", "options"), SAME_LABELS, ids=str)
def test_labels_may_be_written_as_for_fit(labels, options):
    positive, negative = labels
    events = [{"id": i, "amount": float(i % 5)} for i in range(20)]
    named = [event | {"label": positive if i % 5 else negative} for i, event in enumerate(events)]
    lines = said(run_stream(written(named), *options))
    Path("m.toprank").unlink()
    plain = [event | {"label": int(i % 5 > 0)} for i, event in enumerate(events)]

    assert lines == said(run_stream(written(plain)))


def test_labels_may_change_their_case_but_not_their_number():
    labels = ["Yes", "no", "YES", "No", "maybe"]
    outcome = run_stream(written([{"amount": 1, "label": label} for label in labels]))

    assert toprank.load("m.toprank").n_labelled == 4
    assert "line 5 is skipped" in outcome.stderr
    assert "'maybe'" in outcome.stderr


def test_a_third_label_beside_the_named_one_is_a_bad_line():
    events = [{"amount": 1, "label": label} for label in ("fraud", "genuine")]
    outcome = run_stream(written(events), "--positive", "frauds")

    assert (
        "field 'label' must be 'frauds' (--positive) or 'fraud'; got 'genuine'" in outcome.stderr
    )


def test_a_missing_label_is_none():
    run_stream(
        written([{"id": i, "amount": 1, "label": text} for i, text in enumerate(["NA", ""])])
    )

    assert len(toprank.load("m.toprank").pending) == 2


@pytest.mark.parametrize(
    ("late", "is_noted"),
    [
        ({"amount": None, "country": None}, False),
        ({"decided_at": "2024-01-01"}, True),
        ({"decided_at": "2024-01-01", "by": "Ann", "amount": None}, True),
    ],
    ids=str,
)
def test_a_label_with_null_or_further_fields_is_the_label_of_its_row(late, is_noted):
    rows = [{"id": i, "amount": float(i % 5), "country": "FR"} for i in range(20)]
    labels = [{"id": i, "label": int(i % 5 > 2)} for i in range(20)]
    lines = said(run_stream(written([*rows, *labels])))
    state = state_of()
    Path("m.toprank").unlink()
    outcome = run_stream(written([*rows, *(label | late for label in labels)]))

    assert said(outcome) == lines
    assert state_of()[1] == state[1]
    assert ("note: line 21 has a label and fields that no row had" in outcome.stderr) == is_noted


# Nothing useful


def test_all_lines_bad_exits_1_with_the_most_frequent_reason_and_saves_nothing():
    lines = ["{", *({"id": i, "amount": i, "label": "bad"} for i in range(9))]
    outcome = run_stream(written(lines), "-o", "scores.ndjson", "--checkpoint-every", 2)
    sentence = outcome.stderr.splitlines()[-1]

    assert outcome.exit_code == 1
    assert sentence.startswith("toprank: all 10 lines are bad, so nothing was scored or saved")
    assert "(9 lines), first in line 2: labels must be" in sentence
    assert "--positive must name the suspicious one; got 'bad'" in sentence
    assert not Path("m.toprank").exists()
    again = run_stream("events.ndjson", "--positive", "bad")
    assert len(said(again)) == 9


def test_labels_of_rows_that_never_came_exit_1():
    outcome = run_stream(written([{"id": i, "label": 1} for i in range(3)]))

    assert outcome.exit_code == 1
    assert "none of the 3 labels belongs to a row" in outcome.stderr.splitlines()[-1]
    assert "--id" in outcome.stderr.splitlines()[-1]


# Numbers and codes


def learned_from(*amounts, suffix, options=()):
    """The state of a learner after these amounts, and what was printed about them."""
    Path("m.toprank").unlink(missing_ok=True)
    if suffix == "csv":
        lines = [f'"{each}",FR,{i % 2}' for i, each in enumerate(amounts)]
        written(["amount,country,label", *lines], "e.csv")
    else:
        rows = [{"amount": each, "country": "FR"} for each in amounts]
        written([row | {"label": i % 2} for i, row in enumerate(rows)], "e.ndjson")
    outcome = run_stream(f"e.{suffix}", *options)
    return state_of()[0]["learner"], outcome.stderr


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
@pytest.mark.parametrize(
    ("texts", "numbers", "options"),
    [
        (["1,234.56", "1,234"], [1234.56, 1234], ()),
        (["12,50", "1,234"], [12.5, 1.234], ()),
        (["19.732,10", "1.234"], [19732.1, 1234], ()),
        (["€12.50", "12.50 EUR"], [12.5, 12.5], ()),
        (["1'000", "7"], [1000, 7], ()),
        (["1,234", "5"], [1.234, 5], ("--decimal", ",")),
        (["1,234", "5"], [1234, 5], ("--thousands", ",")),
    ],
)
def test_a_number_as_people_write_it_is_read_as_rank_reads_it(suffix, texts, numbers, options):
    plain, _ = learned_from(*numbers, suffix=suffix)
    state, printed = learned_from(*texts, suffix=suffix, options=options)

    assert state == plain
    assert options or f"note: field 'amount' is text such as {texts[0]!r}, read as" in printed


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("1,234", (), "say which with --decimal , or --thousands ,"),
        ("12.50", ("--decimal", ","), "must be a number; got '12.50'"),
    ],
)
def test_a_number_with_two_meanings_or_against_an_option_is_a_bad_line(
    suffix, text, options, words
):
    _, printed = learned_from(1, text, 2, suffix=suffix, options=options)

    line = 3 if suffix == "csv" else 2
    assert f"line {line} is skipped: field 'amount'" in printed
    assert words in printed


def test_a_number_in_quotes_is_a_number_where_numbers_were_before():
    run_stream(written([{"amount": 1, "code": "7", "label": 0}]))
    outcome = run_stream(written([{"amount": "2.5", "code": "8"}, {"amount": 2.5, "code": "8"}]))

    first, second = said(outcome)
    assert first == second
    assert "bad lines" not in outcome.stderr


def test_another_encoding_is_read_and_one_without_lines_is_refused():
    Path("e.csv").write_bytes("amount,city,label\n1,Zürich,0\n".encode("latin-1"))
    assert "--encoding" in run_stream("e.csv").stderr
    assert len(said(run_stream("e.csv", "--encoding", "latin-1"))) == 1
    refused = run_stream("e.csv", "--encoding", "utf-16")
    assert (refused.exit_code, "--encoding" in refused.stderr) == (2, True)


def test_codes_with_leading_zeros_stay_text_also_after_a_restart():
    lines = ["code,amount,label", "007,0,0", "008,0.5,1", "123,2,0", "456,0,1"]
    outcome = run_stream(written(lines[:3], "e.csv"))
    assert "note: column 'code' is read as text" in outcome.stderr
    run_stream(written(lines, "e.csv"))
    in_two = state_of()
    Path("m.toprank").unlink()
    run_stream("e.csv")
    assert state_of() == in_two
    columns = ["code", "amount"]
    rows = [line.split(",") for line in lines[1:]]
    Path("m.toprank").unlink()
    run_stream(
        written(
            [
                dict(zip(columns, [code, float(amount)], strict=True)) | {"label": int(label)}
                for code, amount, label in rows
            ]
        )
    )

    assert state_of()[1] == in_two[1]


# Checkpoints


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
def test_a_file_that_has_grown_is_resumed(suffix):
    events = made_events(120)
    if suffix == "csv":
        names = ["id", "amount", "country", "age", "label"]
        lines = [",".join(str(each.get(name, "")) for name in names) for each in events]
        lines = [",".join(names), *(line.replace("None", "") for line in lines)]
    else:
        lines = list(map(json.dumps, events))
    name = f"events.{suffix}"
    for place in (30, 31, 100, len(lines)):
        written(lines[:place], name)
        outcome = run_stream(name, "-o", "scores.ndjson")
        assert outcome.exit_code == 0, outcome.stderr
        assert "note" not in outcome.stderr
    in_parts, scores = state_of(), Path("scores.ndjson").read_bytes()
    Path("m.toprank").unlink()
    run_stream(name, "-o", "scores.ndjson")

    assert state_of() == in_parts
    assert Path("scores.ndjson").read_bytes() == scores
    assert len(scores.splitlines()) == 120


def test_a_file_under_another_name_is_the_same_file():
    Path(written(made_events(20))).rename("moved.log")
    run_stream("moved.log")
    Path("moved.log").rename("moved again.log")

    assert said(run_stream("moved again.log")) == []


def test_another_file_is_read_from_its_start_and_its_scores_are_appended():
    run_stream(written(made_events(20)), "-o", "scores.ndjson")
    other = written(made_events(10, seed=1), "other.ndjson")
    outcome = run_stream(other, "-o", "scores.ndjson")

    assert (
        "note: other.ndjson is not the input of the last run; it is read from its"
        in outcome.stderr
    )
    assert "10 rows scored" in outcome.stderr
    assert len(Path("scores.ndjson").read_text().splitlines()) == 30
    assert toprank.load("m.toprank").n_scored == 30


def test_a_file_that_begins_alike_is_another_file():
    events = [{"amount": float(i)} for i in range(300)]
    run_stream(written(events))
    events[200] = {"amount": -1.0}
    run_stream(written(events))

    assert toprank.load("m.toprank").n_scored == 600


def test_of_stdin_nothing_is_skipped_unless_requested():
    text = "\n".join(map(json.dumps, made_events(20))) + "\n"
    run_stream("-", stdin=text)
    assert len(said(run_stream("-", stdin=text))) == 20
    more = text + '{"id": "new", "amount": 2}\n'
    (line,) = said(run_stream("-", "--skip-seen", stdin=more))

    assert line["id"] == "new"


def test_skip_seen_takes_all_where_nothing_was_seen():
    assert said(run_stream("--skip-seen", stdin="")) == []
    outcome = run_stream("--skip-seen", "--format", "csv", stdin="amount\n1\n")
    assert len(said(outcome)) == 1
    outcome = run_stream("--skip-seen", "--format", "csv", stdin="amount\n1\n2\n")
    assert len(said(outcome)) == 1


@pytest.mark.parametrize("text", ["", '{"amount": 2}\n', '{"amount": 2}\n{"amount": 3}\n'])
def test_skip_seen_refuses_other_lines_than_those_seen(text):
    run_stream("-", stdin='{"amount": 1}\n')
    outcome = run_stream("-", "--skip-seen", stdin=text)

    assert "the input must begin with what was read before" in one_sentence(outcome)


def test_a_stream_begins_from_a_learner_that_was_saved_in_python():
    learner = OnlineBBM(5)
    for i in range(20):
        learner.learn_one({"amount": float(i)}, i > 10)
    expected = learner.score_one({"amount": 19.0})
    toprank.save(learner, "m.toprank")
    (line,) = said(run_stream("-", stdin='{"amount": 19.0}'))

    assert line["suspicion"] == expected
    assert isinstance(toprank.load("m.toprank").learner, OnlineBBM)


def test_a_model_of_another_kind_is_refused():
    ranker = BoostedRanker(n_estimators=2, n_jobs=1).fit([[9.0], [12.0], [980.0]], [0, 0, 1])
    toprank.save(ranker, "m.toprank")

    assert "must contain an online learner" in one_sentence(run_stream("-", stdin=""))


@pytest.mark.parametrize(
    "option",
    [("--window", 500), ("-k", 5), ("--drift", "adwin"), ("--loss", "ap"),
     ("--class-weight", "balanced"), ("--positive", "fraud"), ("--learning-rate", 0.5),
     ("--seed", 3)],
)  # fmt: skip
def test_what_a_model_was_started_with_cannot_be_changed(option):
    run_stream("-", stdin='{"amount": 1}')
    sentence = one_sentence(run_stream("-", *option, stdin='{"amount": 1}'))

    assert "must be that of m.toprank" in sentence
    assert toprank.load("m.toprank").n_scored == 1


def test_the_same_options_and_another_threshold_may_be_given_again():
    options = ("-", "--window", 500, "--learning-rate", 0.5, "--positive", "1")
    run_stream(*options, stdin='{"amount": 1, "label": "1"}')
    outcome = run_stream(*options, "--threshold", 0.01, stdin='{"amount": 1}')

    assert said(outcome)[0]["alert"]


def test_the_file_of_scores_is_cut_back_to_the_checkpoint():
    run_stream(written(made_events(20)), "-o", "scores.ndjson")
    scores = Path("scores.ndjson").read_bytes()
    Path("scores.ndjson").write_bytes(scores + b'{"id": "e77", "susp')  # as after a kill
    run_stream("events.ndjson", "-o", "scores.ndjson")

    assert Path("scores.ndjson").read_bytes() == scores


@pytest.mark.parametrize("other", ["", "something else\n" * 1000])
def test_a_file_of_something_else_is_not_written_to(other):
    run_stream(written(made_events(20)), "-o", "scores.ndjson")
    Path("scores.ndjson").write_text(other)
    sentence = one_sentence(run_stream("events.ndjson", "-o", "scores.ndjson"))

    assert "scores.ndjson must be the file of scores that m.toprank was writing" in sentence
    assert Path("scores.ndjson").read_text() == other


def test_a_new_file_of_scores_may_be_named():
    events = made_events(30)
    run_stream(written(events[:20]), "-o", "scores.ndjson")
    outcome = run_stream(written(events), "-o", "new.ndjson")

    assert "note: new.ndjson is new; earlier scores are not in it." in outcome.stderr
    assert len(Path("new.ndjson").read_text().splitlines()) == 10


def test_what_a_kill_left_half_written_is_removed():
    leftover = Path(".m.toprank.0123456789abcdef.part")
    others = [Path(".m.toprank.part"), Path(".n.toprank.0123456789abcdef.part")]
    for path in (leftover, *others):
        path.touch()
    run_stream("-", stdin="")

    assert not leftover.exists()
    assert all(path.exists() for path in others)


@pytest.mark.parametrize(
    "position",
    [
        {"input": 7, "output": "x"},
        {"input": [-1, 0, 0], "output": [True, 1, 0]},
        {"input": [2**70, 0, 0]},
        {"input": [2**60, 0, 0]},
        {"input": [3, 0]},
    ],
)
def test_a_position_that_is_not_valid_is_ignored(position):
    stream = EventStream(OnlineNonLinearBoost())
    stream.position = position
    toprank.save(stream, "m.toprank")

    assert run_stream(written(made_events(5)), "-o", "scores.ndjson").exit_code == 0
    assert len(Path("scores.ndjson").read_text().splitlines()) == 5


def test_an_empty_input_leaves_a_model_that_can_be_resumed():
    assert said(run_stream(written([]))) == []
    assert said(run_stream(written([{"amount": 1}])))[0]["suspicion"] == 0.0


# Bad lines

BAD = [
    ("{", "a line must be JSON"),
    ("[" * 100_000, "a line must be JSON"),
    ("7", "a line must be a JSON object"),
    ('{"amount": [1]}', "field 'amount' must be a number, text, true, false or null; got a list"),
    ('{"amount": {}}', "got an object"),
    ('{"amount": Infinity}', "numbers must be finite; got Infinity"),
    ('{"amount": 1e999}', "field 'amount' must be finite"),
    (f'{{"amount": {10**400}}}', "field 'amount' must be finite"),
    ('{"amount": ' + "9" * 5000 + "}", "a line must be JSON"),
    ('{"amount": 1, "label": 7}', "labels must be true and false"),
    ('{"amount": 1, "label": "x"}', "labels must be all text or all numbers"),
    ('{"amount": 1, "label": [1]}', "field 'label' must be a number"),
    ('{"amount": 1, "id": 1.5}', "field 'id' must hold ids, text or whole numbers; got 1.5"),
    ('{"amount": 1, "id": true}', "field 'id' must hold ids, text or whole numbers; got True"),
    (
        '{"amount": 1, "id": "%s"}' % ("a" * 257),
        "field 'id' must have at most 256 characters; got 257",
    ),
    ('{"%s": 1}' % ("a" * 257), "a field's name must have at most 256 characters"),
    ('{"\\ud800": 1}', "a field's name must be Unicode text"),
    ('{"amount": 1, "label": "\\ud800"}', "a label must be Unicode text"),
    ("{}", "a line must have fields in addition to id"),
    ('{"id": 1}', "a line must have fields in addition to id"),
    ('{"id": 1, "label": null}', "a line must have fields in addition to id"),
    ('{"label": 1}', "a line with a label must have an id"),
    ('{"amount": "%s"}' % ("a" * 1_000_000), "a line must have at most 1,000,000 bytes"),
    ('{"amount": "%s"}' % ("a" * 5_000_000), "a line must have at most 1,000,000 bytes"),
]
GOOD = ['{"id": 1, "amount": 1, "label": 0}', '{"id": 2, "amount": 2, "label": 1}']


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """What is printed for the good lines alone, and what is saved then."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path_factory.mktemp("good"))
        return said(run_stream(written(GOOD))), state_of()


@pytest.mark.parametrize(("line", "sentence"), BAD, ids=[line[:40] for line, _ in BAD])
def test_a_bad_line_is_reported_and_skipped(line, sentence, good):
    with_it = run_stream(written([GOOD[0], "", line, GOOD[1]]))
    reported = with_it.stderr.splitlines()[0]
    assert reported.startswith("line 3 is skipped: ")
    assert sentence in reported
    assert "; 1 bad lines." in with_it.stderr
    lines, (state, arrays) = good

    assert said(with_it) == lines
    assert state_of()[1] == arrays
    assert state_of()[0]["learner"] == state["learner"]


CSV_BAD = [
    ("1,2,3,4", "a line must have 3 cells; got 4"),
    ("1,2", "a line must have 3 cells; got 2"),
    ('1,"2,0', "a line must be one row of CSV"),
    ('1,"1,234",0', "field 'amount' has '1,234', in which ',' may separate"),
    ("1,EUR 12.50,0", None),
    ("1,inf,0", None),  # a word
    ("1,-inf,0", "field 'amount' must be finite; got -inf"),
    ("1,1e999,0", "field 'amount' must be finite; got 1e999"),
    (",,1", "a line with a label must have an id"),
    ("1,2,fraud", "labels must be all text or all numbers"),
]


@pytest.mark.parametrize(("line", "sentence"), CSV_BAD)
def test_a_bad_line_of_a_csv_is_reported_and_skipped(line, sentence):
    Path("events.csv").write_text(f"id,amount,label\n7,1,0\n{line}\n8,2,1\n")
    outcome = run_stream("events.csv")

    assert len(said(outcome)) == (2 if sentence else 3)
    if sentence:
        assert f"line 3 is skipped: {sentence}" in outcome.stderr


def test_bytes_that_are_no_text_are_skipped():
    Path("events.ndjson").write_bytes(b'{"amount": 1}\n{"amount": "\xff"}\n{"amount": 2}')
    outcome = run_stream("events.ndjson")

    assert "line 2 is skipped: a line must be UTF-8" in outcome.stderr
    assert len(said(outcome)) == 2


def test_only_the_first_bad_lines_are_reported():
    outcome = run_stream(written([*["{"] * 50, '{"amount": 1}']))

    assert outcome.stderr.count("is skipped") == 5
    assert "further bad lines are only counted" in outcome.stderr
    assert "; 50 bad lines." in outcome.stderr


def test_strict_stops_at_the_first_bad_line_and_keeps_what_came_before():
    events = [*GOOD, "{", '{"id": 3, "amount": 3}']
    outcome = run_stream(written(events), "--strict")
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("toprank: line 3: a line must be JSON")
    assert len(outcome.stdout.splitlines()) == 2
    assert toprank.load("m.toprank").n_scored == 2
    written([*GOOD, '{"id": 9, "amount": 3}', events[-1]])  # fixed
    outcome = run_stream("events.ndjson", "--strict")

    assert [line["id"] for line in said(outcome)] == [9, 3]


def test_nan_is_a_missing_value():
    (line,) = said(run_stream("-", stdin='{"amount": NaN, "country": "FR"}'))
    Path("m.toprank").unlink()

    assert said(run_stream("-", stdin='{"amount": null, "country": "FR"}')) == [line]


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("", "events.csv must begin with a line of column names; it has none."),
        ("id,amount,amount", "columns of a CSV must differ; 'amount' comes twice."),
        ("id,amuont,lable", "column 'label' is not in events.csv; did you mean 'lable'?"),
        (
            'id,"amount',
            "the header of events.csv could not be read: a line must be one row of CSV",
        ),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(header, sentence):
    Path("events.csv").write_text(header)

    assert sentence in one_sentence(run_stream("events.csv", "--label", "label"))
    assert names_here() == ["events.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("events.ndjson", "--id", "label"),
        ("events.ndjson", "--drop", "id"),
        ("events.ndjson", "--skip-seen"),
        ("events.ndjson", "-o", "m.toprank"),
        ("events.ndjson", "-o", "events.ndjson"),
        ("m.toprank",),
    ],
    ids=" ".join,
)
def test_a_wrong_call_exits_2_and_touches_nothing(arguments):
    written(made_events(3))
    toprank.save(EventStream(OnlineNonLinearBoost()), "m.toprank")
    before = {name: Path(name).read_bytes() for name in names_here()}
    outcome = run_stream(*arguments)

    assert outcome.exit_code == 2, outcome
    assert {name: Path(name).read_bytes() for name in names_here()} == before


def test_missing_files_are_reported_before_anything_is_written():
    assert "no such file" in one_sentence(run_stream("nowhere.ndjson"))
    assert "there is no folder" in one_sentence(
        run_stream(written([]), "-o", "nowhere/scores.ndjson")
    )
    assert "must be a regular file" in one_sentence(run_stream("events.ndjson", "-o", "."))
    assert names_here() == ["events.ndjson"]


# Signals


class SignalsAfter(io.BytesIO):
    """Lines, after which a signal comes while the next one is read."""

    def __init__(self, text, how):
        super().__init__(text.encode())
        self._how = how

    def read1(self, *size):
        raw = super().read1(*size)
        if not raw:
            os.kill(os.getpid(), self._how)
        return raw


@pytest.mark.parametrize(("how", "code"), STOPPED)
def test_a_signal_while_a_line_is_read_saves_what_was_read(how, code):
    given = io.TextIOWrapper(SignalsAfter('{"id": 1, "amount": 1.0}\n', how))
    with patch.object(sys, "stdin", given):
        outcome = run_main("stream", "--model", "m.toprank")

    assert outcome.exit_code == code, outcome.stderr
    assert outcome.stderr.splitlines()[-1] == "stopped; all that was read is saved in m.toprank."
    assert toprank.load("m.toprank").n_scored == 1


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), STOPPED)
def test_a_signal_to_a_program_between_lines_saves_what_was_read(how, code):
    run = start("stream", "--model", "m.toprank", stdin=subprocess.PIPE, bufsize=1)
    run.stdin.write('{"id": 1, "amount": 1.0}\n')
    run.stdout.readline()
    run.send_signal(how)
    _, remarks = run.communicate(timeout=30)

    assert run.returncode == code, remarks
    assert remarks.splitlines()[-1] == "stopped; all that was read is saved in m.toprank."
    assert toprank.load("m.toprank").n_scored == 1


@pytest.mark.slow
def test_a_signal_within_a_file_stops_between_two_lines():
    events = made_events(4000)
    files = ("--model", "m.toprank", "-o", "scores.ndjson")
    run = start("stream", written(events), *files, "--learner", "onlb")
    wait_for(lambda: scored_bytes() > 0, run)
    run.send_signal(signal.SIGTERM)
    _, remarks = run.communicate(timeout=30)
    assert run.returncode == 143, remarks
    n_scored = toprank.load("m.toprank").n_scored
    assert len(Path("scores.ndjson").read_text().splitlines()) == n_scored < 4000
    run_stream("events.ndjson", "-o", "scores.ndjson")
    in_parts, scores = state_of(), Path("scores.ndjson").read_bytes()
    Path("m.toprank").unlink()
    run_stream("events.ndjson", "-o", "scores.ndjson")

    assert state_of() == in_parts
    assert Path("scores.ndjson").read_bytes() == scores


@pytest.mark.slow
def test_three_kills_change_nothing_in_the_end():
    """The small form of `toprank bench run stream-crashes`."""
    arguments = ("stream", written(made_events(4000)), "--checkpoint-every", 300)
    files = ("--model", "m.toprank", "-o", "scores.ndjson")
    draw = random.Random(0)
    for _ in range(3):
        before = scored_bytes()
        run = start(*arguments, *files)
        wait_for(lambda before=before: scored_bytes() > before and Path("m.toprank").exists(), run)
        time.sleep(0.02 * draw.random())
        run.kill()
        run.communicate(timeout=30)
        assert run.returncode == -signal.SIGKILL
    outcome = run_main(*arguments, *files)
    assert outcome.exit_code == 0, outcome.stderr
    assert names_here() == ["events.ndjson", "m.toprank", "scores.ndjson"]
    uninterrupted = run_main(*arguments, "--model", "whole.toprank", "-o", "whole.ndjson")

    assert "4,000 rows scored" not in outcome.stderr
    assert "4,000 rows scored" in uninterrupted.stderr
    assert state_of() == state_of("whole.toprank")
    assert Path("scores.ndjson").read_bytes() == Path("whole.ndjson").read_bytes()


def scored_bytes():
    return Path("scores.ndjson").stat().st_size if Path("scores.ndjson").exists() else 0


def wait_for(is_so, run):
    begin = time.monotonic()
    while not is_so():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() - begin < 60
        time.sleep(0.001)


def test_a_signal_never_interrupts_the_processing_of_lines(monkeypatch):
    take_steps = OnlineNonLinearBoost.take_steps

    def stopped_within(self, *arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return take_steps(self, *arguments)

    monkeypatch.setattr(OnlineNonLinearBoost, "take_steps", stopped_within)
    monkeypatch.setattr(sys.modules["toprank.cli.stream"], "_compile", lambda _: None)
    outcome = run_stream(written(GOOD), "--checkpoint-every", 1)

    assert outcome.exit_code == 143
    assert len(outcome.stdout.splitlines()) == 1
    assert toprank.load("m.toprank").n_labelled == 1


def test_a_checkpoint_that_fails_leaves_the_one_before(monkeypatch):
    run_stream(written(GOOD))
    before = Path("m.toprank").read_bytes()
    monkeypatch.setattr("toprank.files.archive.os.fsync", no_space)
    outcome = run_stream(written([*GOOD, '{"amount": 3}']))

    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1].endswith("m.toprank: no space left on device.")
    assert Path("m.toprank").read_bytes() == before
    assert names_here() == ["events.ndjson", "m.toprank"]


def no_space(_):
    raise OSError(28, "No space left on device")


def test_verbose_reports_each_checkpoint():
    outcome = run_stream(written(made_events(40)), "--checkpoint-every", 20, "--verbose")

    assert outcome.stderr.count(": saved; ") >= 3
    assert outcome.stderr.startswith("line 20: saved; ")
    assert " pending" in outcome.stderr.splitlines()[0]


def test_on_a_terminal_one_line_is_written_over(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    status = _StatusLine(is_between_rows=False)
    status.show(lambda: "10 rows")
    status.show(lambda: "too soon")
    status._next = 0
    status.show(lambda: "9 rows")
    status.clear()

    assert terminal.getvalue() == "\r10 rows\r9 rows \r      \r"

    written_over = len(terminal.getvalue())
    _StatusLine(is_between_rows=True).show(lambda: "10 rows")
    assert len(terminal.getvalue()) == written_over


def test_elsewhere_no_progress_is_written():
    assert "\r" not in run_stream(written(made_events(40))).stderr


# Positions


def test_a_position_is_found_again_in_a_file_that_only_grew():
    lines = [f"{i}\n".encode() for i in range(5000)]
    position = Position()
    for line in lines[:3000]:
        position = position.after(line)

    def is_in(*parts):
        return position.is_in(io.BytesIO(b"".join(parts)))

    assert is_in(*lines)
    assert is_in(*lines[:3000])
    assert not is_in(*lines[:2999])
    assert not is_in(*lines[:1500], b"x", *lines[1500:])
    assert not is_in(*lines[1:])
    assert Position.from_note(list(position)) == position


def test_a_last_line_that_is_not_finished_is_left_for_the_next_run():
    events = made_events(4)
    whole = "".join(json.dumps(event) + "\n" for event in events)
    Path("e.ndjson").write_text(whole[:-10])
    outcome = run_stream("e.ndjson")
    assert len(said(outcome)) == 3
    assert "line 4, the last, is not finished; it is left for the next run" in outcome.stderr
    Path("e.ndjson").write_text(whole)
    again = said(run_stream("e.ndjson"))
    assert [line["id"] for line in again] == [events[3]["id"]]
    Path("e.ndjson").write_text(whole[:-1])  # a whole event without a line break is one
    Path("m.toprank").unlink()
    assert len(said(run_stream("e.ndjson"))) == 4


def test_two_streams_do_not_share_a_model():
    events = written(made_events(3))
    with locked(Path("m.toprank").resolve()):
        outcome = run_stream(events)
    assert outcome.exit_code == 1
    assert "m.toprank is in use by another toprank stream" in outcome.stderr
    assert len(said(run_stream(events))) == 3
    assert not Path(".m.toprank.lock").exists()


def test_missing_labels_are_reported_with_the_nearest_field():
    events = [{"id": i, "amount": 1.0, "is_fraud": 0} for i in range(3)]
    outcome = run_stream(written(events), "--label", "is_frad")
    sentence = "labels are read from the field 'is_frad'; did you mean 'is_fraud'?"
    assert sentence in outcome.stderr


def test_a_small_window_takes_a_smaller_budget():
    said(run_stream(written(made_events(5)), "--window", "50"))
    assert toprank.load("m.toprank").window.budget == 50


def test_scores_and_model_are_their_owners_unless_a_mode_was_set():
    """The model keeps rows until their labels come, and scores name values as reasons."""
    Path("s.ndjson").write_text('{"id": 1, "amount": 5.0}\n')
    command = ("stream", "s.ndjson", "--model", "m.toprank", "-o", "scores.ndjson")
    assert run_main(*command).exit_code == 0
    files = [Path("m.toprank"), Path("scores.ndjson")]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]
    for path in files:
        path.chmod(0o640)
    assert run_main(*command).exit_code == 0
    assert [path.stat().st_mode & 0o777 for path in files] == [0o640, 0o640]


@pytest.mark.parametrize("text", ["3.0", "3,0", "$3.00", " 3 "])
def test_a_number_written_as_text_scores_as_the_number(text):
    run_stream(written(made_events(60)))
    Path("m.toprank").rename("kept.toprank")
    scores = []
    for amount in (3.0, text):
        Path("m.toprank").write_bytes(Path("kept.toprank").read_bytes())
        (line,) = said(run_stream("-", stdin=json.dumps({"amount": amount, "country": "FR"})))
        scores.append(line["suspicion"])
    assert scores[0] == scores[1]


def test_spaces_around_a_number_of_a_csv_do_not_make_it_text():
    rows = "".join(f"{i % 9}.5,FR,{int(i % 9 > 6)}\n" for i in range(60))
    Path("events.csv").write_text(f"amount,country,label\n{rows}")
    run_stream("events.csv")
    texts = ('{"amount": 3.5, "country": "FR"}', "amount,country\n 3.5 ,FR\n")
    before = Path("m.toprank").read_bytes()
    scores = []
    for text, form in zip(texts, ("ndjson", "csv"), strict=True):
        Path("m.toprank").write_bytes(before)
        (line,) = said(run_stream("-", "--format", form, stdin=text))
        scores.append(line["suspicion"])
    assert scores[0] == scores[1]
