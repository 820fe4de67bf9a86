"""Later rows: the model that is written and its lists day by day, next to other methods."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.simulator import Simulation, tables_by_day
from toprank_bench import read_experiment
from toprank_bench.in_time import named_tables
from toprank_bench.in_time.named_tables import time_table
from toprank_bench.in_time.time_results import TimeResults
from toprank_bench.in_time.time_tables import LABEL, cards_table, plain_table
from toprank_bench.protocols import Cell
from toprank_bench.protocols.later_rows import LaterRows

TEXT = """
title = "In time"
source = "made up"
protocol = "later-rows"
data = ["plain", "cards"]
seeds = [0]
metrics = ["average_precision", "precision_per_day", "roc_auc", "covered", "seconds", "megabytes"]

[methods.toprank]
learner = "toprank-fit"
parameters = { n_estimators = 5, time_limit = 0.01, refit = false }

[methods.logistic]
learner = "sklearn-logistic-regression"
grid = { C = [0.1, 1.0] }
"""


@pytest.fixture(autouse=True)
def tables(monkeypatch):
    monkeypatch.setattr(named_tables, "TABLES", {"plain": _plain, "cards": _cards})
    monkeypatch.setattr("toprank_bench.protocols.later_rows.TABLES", named_tables.TABLES)
    time_table.cache_clear()
    yield
    time_table.cache_clear()


def _plain(folder):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(900, 2))
    y = x[:, 0] + generator.normal(size=900) > 1
    moments = np.datetime64("2025-01-01", "us") + np.arange(900) * np.timedelta64(1, "h")
    return plain_table(pa.table({"a": x[:, 0], "b": x[:, 1]}), y, moments, 5)


def _cards(folder):
    simulation = Simulation(n_cards=120, n_terminals=60, n_days=60, random_state=5)
    rows = pa.concat_tables(list(tables_by_day(simulation)))
    roles = {"time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"}
    return cards_table(rows.rename_columns([*rows.column_names[:-1], LABEL]), roles, 4)


def declared(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return LaterRows(read_experiment(text, "in-time"))


@pytest.mark.parametrize("data", ["plain", "cards"])
def test_toprank_has_a_list_per_later_day_with_its_range_and_what_was_found(data):
    outcome = declared().run(Cell(data, 0, "toprank"), None)
    lists = np.array(outcome.facts["lists"])
    assert len(lists) == outcome.facts["days"] == len(time_table(data, None).later_days())
    expected, low, high, found = lists.T
    assert (low <= expected).all() and (expected <= high).all()
    assert (found <= outcome.facts["budget"]).all() and found.sum() > 0
    covered = np.mean((low <= found) & (found <= high))
    assert outcome.figures["covered"] == pytest.approx(covered)


def test_other_methods_have_no_promise_and_one_of_their_settings():
    outcome = declared().run(Cell("plain", 0, "logistic"), None)
    assert "covered" not in outcome.figures and "lists" not in outcome.facts
    assert outcome.parameters["C"] in (0.1, 1.0)
    assert 0.3 < outcome.figures["average_precision"] < 1
    assert 0 < outcome.figures["precision_per_day"] <= 1
    assert outcome.figures["seconds"] > 0


def test_the_ranks_of_a_row_give_its_average_precision():
    protocol = declared()
    outcome = protocol.run(Cell("plain", 0, "toprank"), None)
    row = {
        "data": "plain", "seed": 0, "method": "toprank", "figures": outcome.figures,
        "facts": outcome.facts,
        "definition": protocol.experiment.definition("plain", "toprank"),
    }  # fmt: skip
    results = TimeResults(protocol.experiment, [row])
    figure = results.average_precision("plain", "toprank")
    assert figure.value == pytest.approx(outcome.figures["average_precision"])
    assert figure.low < figure.value < figure.high


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"plain", "cards"', '"plane"', "plane"),
        ('"roc_auc"', '"roc_acu"', "roc_acu"),
        ("refit = false }", "refit = false }\ngrid = { budget = [1, 2] }", "chooses for itself"),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        declared((old, new))


def test_a_table_whose_data_set_is_missing_is_reported(monkeypatch, tmp_path):
    def missing(folder):
        raise OSError("there is no data set here")

    monkeypatch.setitem(named_tables.TABLES, "plain", missing)
    assert declared().why_not_data("plain", tmp_path) == "there is no data set here"
