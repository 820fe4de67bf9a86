"""What a command prints and writes where data, terminals and files are hostile to it."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import toprank.cli
from cli.running import one_sentence, run_main, start, written
from toprank.cli import screen
from toprank.cli.standard_streams import ClosedOutput
from toprank.cli.stream_lines import Position
from toprank.cli.stream_run import Output
from toprank.data.atomic import atomic_path

EVIL = "\x1b]0;OWNED\x07\x1b[31mred\x9b2J\u202etxt"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose names and values are escape codes, and a tree that cuts at them."""
    folder = tmp_path_factory.mktemp("hostile")
    generator = np.random.default_rng(0)
    shop = generator.choice([EVIL, "=1+1", "Bakery"], 400)
    frame = pd.DataFrame({EVIL: shop, "größe": generator.random(400)})
    frame["is_fraud"] = ((shop == EVIL) & (frame["größe"] > 0.5)).astype(int)
    data = written(frame, folder / "payments.csv")
    outcome = run_main(
        *("fit", data, "--label", "is_fraud", "--learner", "metaap", "-k", 5, "--jobs", 1),
        *("-o", folder / "m.toprank"),
    )
    assert outcome.exit_code == 0, outcome.stderr
    return outcome, data, folder / "m.toprank"


def test_escape_codes_in_data_are_shown_and_never_sent_to_a_terminal(hostile, monkeypatch):
    fitted, data, model = hostile
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    shown = [
        fitted,
        run_main("rank", model, data, "-k", 5),
        run_main("rank", model, data, "-k", 5, "--json"),
        run_main("explain", model, "--tree"),
        run_main("explain", model, data, "--row", 1),
        run_main("evaluate", model, data),
        run_main("evaluate", model, data, "--label", EVIL),
    ]
    for each in shown:
        assert not CONTROLS.search(each.stdout + each.stderr), each
    assert r"\u001b[31mred" in shown[3].stdout
    assert json.loads(shown[2].stdout)["alerts"][0][EVIL] == EVIL


def test_a_program_that_reads_the_list_gets_the_data_as_it_is(hostile):
    _, data, model = hostile
    outcome = run_main("rank", model, data, "-k", 5)
    assert EVIL in pd.read_csv(io.StringIO(outcome.stdout))[EVIL].tolist()


def test_every_result_is_printed_by_the_one_function_that_removes_escape_codes():
    for path in Path(toprank.cli.__file__).parent.glob("*.py"):
        if path.name not in ("screen.py", "version_option.py", "completion.py"):
            assert "click.echo" not in path.read_text(), path.name


# Encodings and closed streams


def stream_of(n_rows):
    amounts = np.random.default_rng(0).uniform(0, 100, n_rows)
    lines = [
        {"id": f"ö{i}", "größe": float(a), "label": int(a > 50)} for i, a in enumerate(amounts)
    ]
    Path("events.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "events.ndjson"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_scores_lose_no_alert_whatever_the_encoding_of_stdout(encoding):
    taken = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", taken)
        patched.setattr(sys, "argv", ["toprank", "stream", stream_of(300), "--model", "m.toprank"])
        with pytest.raises(SystemExit) as stop:
            toprank.cli.main()
    assert stop.value.code == 0
    lines = [json.loads(line) for line in taken.buffer.getvalue().splitlines()]
    assert len(lines) == 300
    assert any("größe" in line.get("reasons", {}) for line in lines)


def test_json_is_whole_where_stdout_cannot_encode_it(monkeypatch):
    taken = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", taken)
    screen.print_json({"größe": "漢字 😀 \x9b"})
    taken.flush()
    assert json.loads(taken.buffer.getvalue()) == {"größe": "漢字 😀 \x9b"}


def run_closed(descriptor, *arguments):
    """Run a program whose stdout (1) or stderr (2) is closed."""
    run = start(*arguments, preexec_fn=lambda: os.close(descriptor))
    stdout, stderr = run.communicate(timeout=60)
    return run.returncode, stdout, stderr


def test_a_closed_stdout_is_reported_in_a_sentence(fitted, csv):
    code, _, remarks = run_closed(1, "evaluate", fitted.model, csv)
    assert code == 1
    assert (
        remarks.splitlines(keepends=True)[-1]
        == "toprank: stdout: it is closed, so the results cannot be printed.\n"
    )


def test_a_closed_stderr_does_not_stop_a_command(fitted, csv):
    code, printed, _ = run_closed(2, "rank", fitted.model, csv, "-k", 3)
    assert code == 0
    assert len(printed.splitlines()) == 4  # a heading and three rows, and no remark among them


def test_a_list_is_written_where_stdout_is_closed(fitted, csv, monkeypatch):
    monkeypatch.setattr(sys, "stdout", ClosedOutput())
    monkeypatch.setattr(sys, "argv", ["toprank", "rank", *map(str, (fitted.model, csv))])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    sys.argv += ["-o", "alerts.csv"]
    with pytest.raises(SystemExit) as stop:
        toprank.cli.main()
    assert stop.value.code == 0
    assert Path("alerts.csv").exists()


# Shortages


def test_a_full_disk_is_reported_with_the_name_of_the_file():
    with pytest.raises(OSError, match="No space left") as caught, atomic_path("alerts.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == "alerts.csv"


def test_a_full_disk_under_a_stream_is_reported_with_the_name_of_its_output():
    with Path("/dev/full").open("r+b", buffering=0) as full, pytest.raises(OSError) as caught:
        Output(full, Position(), is_live=True).write("{}\n")
    assert caught.value.filename == "/dev/full"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_shortage_of_memory_is_not_called_a_damaged_file(suffix, payments, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("malloc of size 64 failed")

    name = f"payments{suffix}"
    payments.to_csv(name, index=False) if suffix == ".csv" else payments.to_parquet(name)
    monkeypatch.setattr("pyarrow.csv.open_csv", fail)
    monkeypatch.setattr("pyarrow.csv.read_csv", fail)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", fail)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.read", fail)
    outcome = run_main("fit", name, "--label", "is_fraud")
    assert one_sentence(outcome) == f"there is not enough memory: {name} does not fit into it."


# Files that exist already


@pytest.mark.parametrize("name", ["alerts.csv", "alerts.parquet", "alerts.html"])
def test_a_file_that_toprank_did_not_write_is_not_replaced_by_a_list(name, fitted, csv):
    Path(name).write_text("precious")
    arguments = ("rank", fitted.model, csv, "-k", 3, "-o", Path(name).with_suffix(".csv"))
    if name.endswith("parquet"):
        arguments = (*arguments[:-1], name)
    sentence = one_sentence(run_main(*arguments))
    assert sentence.startswith(f"{name} exists and is not a ")
    assert Path(name).read_text() == "precious"

    outcome = run_main(*arguments, "--force")
    assert outcome.exit_code == 0, outcome.stderr
    again = run_main(*arguments)  # now it is one of toprank
    assert again.exit_code == 0, again.stderr


@pytest.mark.parametrize(("name", "kind"), [("new.toprank", "model"), ("new.html", "page")])
def test_fit_does_not_replace_a_file_of_another_kind(name, kind, csv):
    Path(name).write_text("precious")
    outcome = run_main("fit", csv, "--label", "is_fraud", "-o", "new.toprank")
    assert one_sentence(outcome).startswith(
        f"{name} exists and is not a {kind} that toprank wrote"
    )
    assert Path(name).read_text() == "precious"


def test_a_stream_does_not_write_over_a_file_that_is_none_of_scores():
    Path("notes.txt").write_text("precious")
    arguments = ("stream", stream_of(20), "--model", "m.toprank", "-o", "notes.txt")
    assert "notes.txt exists and is not a file of scores" in one_sentence(run_main(*arguments))
    assert Path("notes.txt").read_text() == "precious"
    assert not Path("m.toprank").exists()
    assert run_main(*arguments, "--force").exit_code == 0
    assert len(Path("notes.txt").read_text().splitlines()) == 20


def test_scores_of_a_model_that_was_deleted_are_kept():
    arguments = ("stream", stream_of(20), "--model", "m.toprank", "-o", "scores.ndjson")
    assert run_main(*arguments).exit_code == 0
    before = Path("scores.ndjson").read_text()
    Path("m.toprank").unlink()
    outcome = run_main(*arguments)
    assert outcome.exit_code == 0
    assert "they are now in scores.ndjson.before" in outcome.stderr
    assert Path("scores.ndjson.before").read_text() == before


def test_two_streams_do_not_write_to_one_file():
    arguments = ("--model", "first.toprank", "-o", "scores.ndjson")
    first = start("stream", *arguments, stdin=subprocess.PIPE, bufsize=1)
    first.stdin.write('{"id": 1, "amount": 1.0}\n')
    while not (Path("scores.ndjson").exists() and Path("scores.ndjson").read_text()):
        assert first.poll() is None
        time.sleep(0.05)  # its start needs the processor
    arguments = (stream_of(20), "--model", "second.toprank", "-o", "scores.ndjson")
    sentence = one_sentence(run_main("stream", *arguments))
    assert "scores.ndjson is being written by another toprank stream" in sentence
    first.communicate(timeout=30)
    assert len(Path("scores.ndjson").read_text().splitlines()) == 1
