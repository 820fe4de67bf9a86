"""Files written by earlier versions still load, and score as they did when they were written.

`written_before/make.py` says with which version they were written, and how.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from toprank import AnomalyForest, AnomalyTreeRank, BoostedRanker
from toprank.cli import commands
from toprank.data.tables import TableWarning
from toprank.files import load, read_manifest
from toprank.files.saved_learners import learner_names
from toprank.payments.history_store import HistoryStore
from toprank.payments.ledger.holding import LAST_KNOWN
from toprank.payments.payment_model import PaymentModel

FOLDER = Path(__file__).parent / "written_before"
FILES = sorted(FOLDER.glob("*.toprank"))
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
STREAMS = ["stream", "stream_before_its_first_row", "stream_with_drift"]
OTHERS = (*STREAMS, "history", "by_command", "pipeline")
RANKERS = [name for name in EXPECTED if name not in OTHERS]

# Trees add up float32 leaves or look scores up, so not a bit may change. Elsewhere exponentials
# and matrix products are involved, whose last bit is the processor's and the library's.
EXACT = {"boosted", "boosted_log", "boosted_paper", "rank_boost", "cost_boost", "sampled"}
EXACT |= {"geometric_tree", "meta_ap", "tree_rank", "forest", "forest_of_meta_ap", "easy_ensemble"}
EXACT |= {
    "stream_ranker",
    "anomaly_tree",
    "anomaly_forest",
    "anomaly_default_forest",
    "anomaly_ranker",
}
LAST_BITS = 1e-13


def rows():
    return json.loads((FOLDER / "rows.json").read_text())


def features(row):
    return {name: row[name] for name in ("amount", "country", "online")}


def features_of(model):
    return pa.Table.from_pylist(rows()).select(list(model.feature_names_in_))


def test_every_kind_that_can_be_saved_is_among_them():
    assert {read_manifest(path)["learner"] for path in FILES} == set(learner_names())
    assert {path.stem for path in FILES} == set(EXPECTED)


def test_a_pipeline_scores_as_before():
    pipeline = load(FOLDER / "pipeline.toprank")
    table = features_of(pipeline).to_pandas().astype(float)
    found = pipeline.predict_proba(table)[:, 1]
    np.testing.assert_allclose(found, EXPECTED["pipeline"]["probability"], rtol=LAST_BITS)


@pytest.mark.parametrize("name", RANKERS)
def test_a_ranker_scores_as_before(name):
    model = load(FOLDER / f"{name}.toprank")
    table, expected = features_of(model), EXPECTED[name]
    tolerance = 0 if name in EXACT else LAST_BITS

    np.testing.assert_allclose(model.suspicion(table), expected["suspicion"], rtol=tolerance)
    if "probability" in expected:
        found = model.predict_proba(table)[:, 1]
        np.testing.assert_allclose(found, expected["probability"], rtol=LAST_BITS)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_scores_and_continues_as_before(name):
    stream = load(FOLDER / f"{name}.toprank")

    for row, expected in zip(rows(), EXPECTED[name], strict=True):
        scored = stream.score(features(row))
        assert scored.suspicion == pytest.approx(expected["suspicion"], rel=LAST_BITS)
        assert scored.probability == pytest.approx(expected["probability"], rel=LAST_BITS)
        assert scored.is_alert == expected["is_alert"]
        assert (scored.reasons or {}) == pytest.approx(expected["reasons"] or {}, rel=LAST_BITS)
    if name != "stream_before_its_first_row":
        assert stream.position == {"line": 300}
        assert stream.label("p399", True)  # one of the rows that were pending


def test_a_history_gives_the_same_features_as_before():
    history = load(FOLDER / "history.toprank")
    later = json.loads((FOLDER / "rows_in_30_days.json").read_text())

    for row, expected in zip(later, EXPECTED["history"], strict=True):
        np.testing.assert_equal(history.one(row), expected)


def test_a_model_and_a_history_written_by_the_command_line_give_the_same_list(tmp_path):
    for suffix in ("toprank", "history"):
        shutil.copy(FOLDER / f"by_command.{suffix}", tmp_path)
    model, today = str(tmp_path / "by_command.toprank"), str(FOLDER / "today.csv")

    run = CliRunner().invoke(commands, ["rank", model, today, "-k", "12", "--json"])

    assert run.exit_code == 0, run.output
    alerts = json.loads(run.stdout)["alerts"]
    found = {alert["id"]: [alert["suspicion"], alert["probability"]] for alert in alerts}
    assert list(found) == list(EXPECTED["by_command"])
    for row_id, expected in EXPECTED["by_command"].items():
        np.testing.assert_allclose(found[row_id], expected, rtol=LAST_BITS)


@pytest.fixture
def by_command(tmp_path):
    """The model that the command line wrote, and its history in a single file next to it."""
    for suffix in ("toprank", "history"):
        shutil.copy(FOLDER / f"by_command.{suffix}", tmp_path)
    return tmp_path / "by_command.toprank"


def run_toprank(*words):
    run = CliRunner().invoke(commands, [str(word) for word in words])
    assert run.exit_code == 0, run.output
    return run


def test_a_history_written_by_the_command_line_becomes_a_folder_when_it_is_added_to(by_command):
    folder = by_command.with_suffix(".history")
    old = folder.read_bytes()
    today = by_command.with_name("today.csv")
    # the payments of that day had ids that the history knows
    today.write_text((FOLDER / "today.csv").read_text().replace('"p', '"new-'))
    first = run_toprank("rank", by_command, today, "-k", "12", "--json")
    assert folder.read_bytes() == old
    assert not any(path.suffix == ".bak" for path in by_command.parent.iterdir())

    remembered = run_toprank("rank", by_command, today, "-k", "12", "--json", "--remember")
    assert json.loads(remembered.stdout) == json.loads(first.stdout)
    assert folder.is_dir()
    assert folder.with_name("by_command.history.bak").read_bytes() == old
    with HistoryStore.open(folder) as store:
        assert store.rows()["id"].to_pylist() == [f"new-{i}" for i in range(12)]
    with pytest.warns(TableWarning, match="12 rows have the id of an earlier row"):
        again = run_toprank("rank", by_command, today, "-k", "12", "--json", "--remember")
    assert f"Remembered 12 rows in {folder}\n" in again.stderr
    with HistoryStore.open(folder) as store:
        assert store.rows().num_rows == 12


def test_payments_remembered_by_a_history_of_the_command_line_can_be_labelled(by_command):
    today = by_command.with_name("today.csv")
    today.write_text((FOLDER / "today.csv").read_text().replace('"p', '"new-'))
    run_toprank("rank", by_command, today, "--remember")
    claims = by_command.with_name("claims.csv")
    claims.write_text("id,fraud\nnew-3,1\nnew-4,0\nnobody,1\n")
    run = run_toprank("label", by_command, claims)
    assert run.stderr.startswith("3 labels: 2 new.\n")
    assert "no payment for 1 of the ids in 'id', such as 'nobody'" in run.stderr
    with PaymentModel.load(by_command) as model:
        known = model.state_.ledger.as_known(LAST_KNOWN, ["new-3", "new-4"])
        assert known.is_positive.tolist() == [True, False]
        card = model.state_.history.keys_of(["new-3"], "card")[0]
        assert model.known_cards().blocked == {card}


def test_a_model_whose_history_has_no_rows_yet_cannot_be_refitted(by_command):
    run = CliRunner().invoke(commands, ["refit", str(by_command)])
    assert run.exit_code == 1
    assert "the history must contain its rows" in str(run.exception)


def test_a_new_fit_over_a_model_of_the_command_line_keeps_the_old_pair_until_it_is_written(
    by_command,
):
    folder = by_command.with_suffix(".history")
    folder.rename(folder.with_name("by_command.history.bak"))
    folder.mkdir()  # as far as a killed fit may come: the new model is not written yet
    listed = run_toprank("rank", by_command, FOLDER / "today.csv", "-k", "12", "--json")
    assert [row["id"] for row in json.loads(listed.stdout)["alerts"]] == list(
        EXPECTED["by_command"]
    )


def test_a_default_that_changed_since_does_not_change_what_was_saved():
    assert BoostedRanker().loss == "log"
    assert load(FOLDER / "boosted.toprank").loss == "ap-exp"
    assert load(FOLDER / "auto.toprank").losses is None
    # made there as RankForest(AnomalyTreeRank())
    assert type(load(FOLDER / "anomaly_forest.toprank")) is AnomalyForest
    # a forest without a tree was one of density trees
    assert type(load(FOLDER / "anomaly_default_forest.toprank").tree) is AnomalyTreeRank
