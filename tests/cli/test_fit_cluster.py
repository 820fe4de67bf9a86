"""`toprank fit --cluster`: what it prints, what it writes and what it refuses."""

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.running import Outcome, names_here, one_sentence, run_main, written
from dask_clusters import in_this_process
from toprank import files
from toprank.cli.fit_cluster import place_of
from toprank.cluster import LostWorkerError, cluster_fit, dask_client

FIT = ("--label", "is_fraud", "--time", "paid_at", "-k", 5, "--trees", 5)
NOWHERE = ("--cluster", "tcp://127.0.0.1:9")


@pytest.fixture(scope="module")
def address():
    with in_this_process(2) as machines:
        yield machines.scheduler_address


def in_files(frame, folder):
    folder.mkdir()
    for i in range(3):
        frame.iloc[i::3].to_parquet(folder / f"{i}.parquet")


class FittedOnCluster(NamedTuple):
    outcome: Outcome
    folder: Path
    model: Path


@pytest.fixture(scope="module")
def fitted(address, payments, tmp_path_factory):
    """What `toprank fit --time --cluster` printed and wrote."""
    folder = tmp_path_factory.mktemp("cluster") / "payments"
    in_files(payments, folder)
    outcome = run_main("fit", f"{folder}/*.parquet", *FIT, "--cluster", address)
    assert outcome.exit_code == 0, outcome.stderr
    return FittedOnCluster(outcome, folder, folder.parent / "payments.toprank")


def test_it_prints_the_account_that_one_machine_prints(fitted):
    lines = fitted.outcome.stdout.splitlines()

    assert re.fullmatch(r"600 rows, 3 .* \(1 category\), 5\.\d % frauds \(label 1\)", lines[0])
    assert re.fullmatch(r"train to .* \| validate to .* \| gap 5 days \| test .*", lines[1])
    assert "frauds in 5 a day" in lines[2]
    assert re.match(r"log-loss trees  \.\d+ \(\.\d+-1?\.\d+\)  [\d.]+ \(", lines[3])
    assert lines[4].startswith("The model written learned from all rows up to")
    assert re.match(r"Expect about [\d.]+ frauds? in your 5 checks a day \(most days", lines[6])


def test_it_writes_the_model_next_to_the_folder_and_says_that_there_is_no_report(fitted):
    assert fitted.outcome.stderr == (
        f"Wrote {fitted.model}; there is no HTML report of a training on a cluster.\n"
    )
    assert sorted(path.name for path in fitted.folder.parent.iterdir()) == [
        "payments",
        "payments.toprank",
    ]
    facts = files.read_manifest(fitted.model)["facts"]
    assert (facts["label"], facts["time"], facts["budget"]) == ("is_fraud", "paid_at", 5)
    bounds = [each for part in ("train", "validation", "test") for each in facts["periods"][part]]
    assert bounds == sorted(bounds)


def test_the_model_ranks_and_is_evaluated_without_the_cluster(fitted):
    data = fitted.folder / "0.parquet"
    ranked = run_main("rank", fitted.model, data, "--json")
    evaluated = run_main("evaluate", fitted.model, data)

    assert (ranked.exit_code, evaluated.exit_code) == (0, 0), (ranked, evaluated)
    alerts = json.loads(ranked.stdout)["alerts"]
    assert len(alerts) == 5
    assert all(alert["is_fraud"] for alert in alerts[:3])


def test_json_drawn_parts_and_a_loss_by_name(address, payments):
    in_files(payments, Path("here"))
    options = ("--label", "is_fraud", "--drop", "paid_at", "--trees", 5, "--loss", "log")
    outcome = run_main(
        *("fit", "here", *options, "--json", "-o", "model.toprank", "--cluster", address)
    )

    assert outcome.exit_code == 0, outcome.stderr
    facts = json.loads(outcome.stdout)
    assert facts == files.read_manifest("model.toprank")["facts"]
    assert (facts["rows"], facts["periods"], facts["chosen"]) == (600, {}, "log-loss trees")
    assert files.load("model.toprank").loss == "log"


def test_a_lost_worker_is_reported_in_one_sentence_and_nothing_is_written(
    fitted, address, monkeypatch
):
    def lose(*_, **__):
        raise LostWorkerError("worker tcp://b:1 was lost while the trees grew.")

    monkeypatch.setattr(cluster_fit, "train", lose)
    outcome = run_main(
        "fit", fitted.folder, *FIT, "--cluster", address, "-o", Path("m.toprank").absolute()
    )

    assert one_sentence(outcome) == "worker tcp://b:1 was lost while the trees grew."
    assert names_here() == []


def test_a_scheduler_that_does_not_answer_is_reported_in_one_sentence(payments, monkeypatch):
    in_files(payments, Path("payments"))
    monkeypatch.setattr(dask_client, "_SECONDS_TO_CONNECT", 1)

    assert one_sentence(run_main("fit", "payments", *FIT, *NOWHERE)) == (
        "no Dask scheduler answers at tcp://127.0.0.1:9 within 1 seconds; start one there with: "
        "dask scheduler, or name the address that its log shows."
    )


def test_without_dask_it_says_how_to_install_it(payments, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)

    sentence = one_sentence(run_main("fit", "payments", *FIT, *NOWHERE))
    assert "needs Dask, which is not installed; install it with: pip install" in sentence


def test_a_csv_and_files_that_are_not_there_are_refused(address, payments):
    data = written(payments, "payments.csv")
    cases = {data: "payments.csv must be Parquet", "x/*.parquet": "there is no Parquet"}

    for source, sentence in cases.items():
        outcome = run_main("fit", source, *FIT, "--cluster", address, "-o", "m.toprank")
        assert one_sentence(outcome).startswith(sentence)


def test_an_unknown_loss_is_refused_before_the_cluster_is_asked():
    outcome = run_main("fit", "payments", *FIT, *NOWHERE, "--loss", "ap")

    assert outcome.exit_code == 2
    assert "--loss must be among log, ap-exp" in " ".join(outcome.stderr.split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((*NOWHERE, "--loss", "ap-card"), "--loss ap-card must be left out with --cluster"),
        ((*NOWHERE, "--minutes", 10), "--minutes must be left out with --cluster: one recipe"),
        ((*NOWHERE, "--jobs", 1), "--jobs must be left out with --cluster: the threads are"),
        ((*NOWHERE, "-o", "m.html"), "-o must name the model; m.html is the name of its report"),
    ],
)
def test_options_that_have_no_meaning_are_refused(options, sentence):
    outcome = run_main("fit", "payments", *FIT, *options)

    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.stderr.split())


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("payments/*.parquet", "payments"),
        ("/data/2024-*/[ab].parquet", "/data"),
        ("data/may.parquet", "data/may.parquet"),
        ("*.parquet", None),
        ("s3://bucket/payments", None),
    ],
)
def test_the_model_is_named_after_what_comes_before_a_pattern(data, place):
    if place is not None:
        assert place_of(data) == Path(place)
        return
    outcome = run_main("fit", data, *FIT, *NOWHERE)
    assert outcome.exit_code == 2
    assert "-o must name the model to write" in outcome.stderr
