"""Sampling in time: what is chosen where, and that nothing else decides."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank.metrics import average_precision, f_beta
from toprank_bench import ExperimentError, read_experiment, run
from toprank_bench.datasets.known_sets import KNOWN, KnownSet
from toprank_bench.experiment import Method
from toprank_bench.protocols import Cell
from toprank_bench.protocols.sampled import SampledInTime, _choosing
from toprank_bench.row_file import read_rows
from toprank_bench.runner import cells_of
from toprank_bench.sampling import fits
from toprank_bench.sampling.fits import Choosing, SplitPart, SplitParts

pytest.importorskip("imblearn")

TEXT = """
title = "Sampled"
source = "made up"
protocol = "sampled"
data = ["payments", "bare"]
seeds = [0, 1, 2]
metrics = ["average_precision", "f1", "roc_auc"]
uneven_grids = "shares are chosen as well"
ranked = false

[options]
forest_seeds = 2

[options.payments.bare]
first_card = 5
n_cards = 25
first_day = 2

[methods.RF]
learner = "random-forest"
parameters = { n_estimators = 5 }
grid = { max_depth = [1, 4] }

[methods."Undersampling + RF"]
learner = "random-forest"
parameters = { sampler = "under", n_estimators = 5 }
grid = { max_depth = [1, 4], share = [0.01, 0.2, 0.5] }

[methods."EasyEnsemble + GB"]
learner = "gradient-boosting"
parameters = { sampler = "easy-ensemble", n_subsets = 2, max_depth = 2, n_estimators = 3 }
grid = { share = [0.3] }

[quick]
data = ["payments"]
seeds = [0]
"""


def experiment(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_experiment(text, "small")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two sets in time: one with features, one of bare payments with dates."""
    _choosing.cache_clear()
    generator = np.random.default_rng(0)
    n = 600
    x = generator.normal(size=(2, n))
    y = (x[0] + 0.5 * generator.normal(size=n) > 1.6).astype(int)
    seconds = np.sort(generator.uniform(0, 100_000, n))
    table = {"seconds": seconds, "a": x[0], "b": x[1], "y": y}
    pq.write_table(pa.table(table), tmp_path / "payments.parquet")
    begin = np.datetime64("2025-01-01", "us")
    bare = {
        "at": begin + np.sort(generator.uniform(0, 30 * 86_400, n)).astype("timedelta64[s]"),
        "card": generator.integers(0, 30, n),
        "terminal": generator.integers(0, 4, n),
        "amount": 10 * np.exp(x[0]),
        "y": y,
    }
    pq.write_table(pa.table(bare), tmp_path / "bare.parquet")
    monkeypatch.setitem(KNOWN, "payments", KnownSet(roles={"time": "seconds"}))
    roles = {"time": "at", "card": "card", "terminal": "terminal", "amount": "amount"}
    monkeypatch.setitem(KNOWN, "bare", KnownSet(roles=roles))
    yield tmp_path
    _choosing.cache_clear()


@pytest.fixture
def parts(folder):
    return SampledInTime(experiment())._choosing("payments", folder).parts


def test_forests_take_fewer_seeds_and_every_method_begins_with_the_first():
    cells = cells_of(experiment())
    assert cells[:6] == [
        Cell(data, 0, method.name)
        for data in ("payments", "bare")
        for method in experiment().methods
    ]
    assert [cell.method for cell in cells if cell.seed == 2] == ["EasyEnsemble + GB"] * 2


def test_a_set_may_have_seeds_and_methods_of_its_own():
    own = "[sets.bare]\nseeds = [7]\nwithout = ['RF', 'EasyEnsemble + GB']\n[quick]"
    cells = cells_of(experiment(("[quick]", own)))
    assert [cell for cell in cells if cell.data == "bare"] == [
        Cell("bare", 7, "Undersampling + RF")
    ]


def test_a_run_gives_every_metric_with_what_was_chosen_and_resampled(folder, tmp_path):
    ran = run(experiment(), tmp_path / "results", folder=folder)
    assert ran.failed == {} and ran.left_out == []
    for row in read_rows(ran.path):
        assert set(row["figures"]) == set(row["parameters"]) == {
            "average_precision", "f1", "roc_auc",
        }  # fmt: skip
        assert set(row["seconds"]) == {"choose", "fit"}
        resampled = row["facts"]["resampled"]
        for name, value in row["figures"].items():
            assert len(resampled[name]) == 200
            assert abs(np.mean(resampled[name]) / 1e4 - value) < 0.1
        n_candidates = {"RF": 2, "Undersampling + RF": 4, "EasyEnsemble + GB": 1}
        assert row["facts"]["candidates"] == n_candidates[row["method"]]


def test_rows_follow_from_the_cell_alone(folder):
    protocol, cell = SampledInTime(experiment()), Cell("payments", 1, "Undersampling + RF")
    alone = protocol.run(cell, folder)
    _choosing.cache_clear()
    for name in ("RF", "EasyEnsemble + GB"):
        protocol.run(Cell("payments", 0, name), folder)
    after_others = protocol.run(cell, folder)
    assert after_others.figures == alone.figures
    assert after_others.parameters == alone.parameters
    assert after_others.facts == alone.facts


def test_the_figures_are_those_of_the_chosen_fits_with_the_seed_of_the_cell(folder, parts):
    outcome = SampledInTime(experiment()).run(Cell("payments", 1, "Undersampling + RF"), folder)
    found = fits.scores("random-forest", outcome.parameters["average_precision"], 1, parts)
    y = parts.test.is_positive
    assert outcome.figures["average_precision"] == average_precision(y, found.test)
    of_f1 = fits.scores("random-forest", outcome.parameters["f1"], 1, parts)
    assert outcome.figures["f1"] == f_beta(y, of_f1.test, outcome.facts["threshold"])


def test_settings_are_best_without_sampling_and_the_share_is_best_with_them(parts):
    method = experiment().method("Undersampling + RF")
    chosen = Choosing(parts).chosen(method, "roc_auc")

    def figure(**parameters):
        found = fits.scores("random-forest", {"n_estimators": 5, **parameters}, 0, parts)
        return fits.figures_on_validation(parts, found)["roc_auc"]

    depth = max((1, 4), key=lambda depth: figure(max_depth=depth))
    share = max(
        (0.2, 0.5), key=lambda share: figure(max_depth=depth, sampler="under", share=share)
    )
    assert (chosen.parameters["max_depth"], chosen.parameters["share"]) == (depth, share)


def test_neither_choice_nor_scores_depend_on_labels_of_the_test(parts):
    wrong = SplitPart(parts.test.features, ~parts.test.is_positive)
    others = replace(parts, test=wrong)
    for method in experiment().methods:
        for metric in fits.METRICS:
            chosen = Choosing(parts).chosen(method, metric)
            assert chosen == Choosing(others).chosen(method, metric)
            ours, theirs = (
                fits.scores(method.learner, chosen.parameters, 1, each) for each in (parts, others)
            )
            np.testing.assert_array_equal(ours.test, theirs.test)


def test_rows_are_split_in_time_with_a_gap(folder, parts):
    whole = pq.read_table(folder / "payments.parquet")["a"].to_numpy().astype(np.float32)
    sizes = [each.is_positive.size for each in (parts.train, parts.validation, parts.test)]
    assert sum(sizes) < whole.size
    np.testing.assert_array_equal(parts.train.features[:, 0], whole[: sizes[0]])
    np.testing.assert_array_equal(parts.test.features[:, 0], whole[-sizes[2] :])
    assert parts.train.features.shape[1] == 2  # the time is no feature


def test_no_fit_is_made_twice_to_choose(parts, monkeypatch):
    made = []
    original = fits.scores

    def counted(learner, parameters, seed, parts):
        made.append(json.dumps([learner, parameters, seed], sort_keys=True))
        return original(learner, parameters, seed, parts)

    monkeypatch.setattr(fits, "scores", counted)
    choosing = Choosing(parts)
    for metric in fits.METRICS:
        for method in experiment().methods:
            choosing.chosen(method, metric)
    assert len(made) == len(set(made))


def test_a_share_that_the_training_rows_have_already_is_not_tried(parts):
    own = float(parts.train.is_positive.mean())
    method = Method("M", "random-forest", {"sampler": "under"}, {"share": (own / 2, 0.5)})
    assert Choosing(parts).chosen(method, "f1").parameters["share"] == 0.5
    with pytest.raises(ValueError, match=r"one share at least must be above that of the training"):
        Choosing(parts).chosen(replace(method, grid={"share": (own / 2,)}), "f1")


def test_an_easy_ensemble_has_as_many_models_as_asked(parts):
    parameters = {"sampler": "easy-ensemble", "n_subsets": 3, "share": 0.3, "n_estimators": 2}
    model = fits.make_model("random-forest", parameters, 0).fit(*parts.train)
    assert len(model.rankers_) == 3


def test_a_tie_goes_to_the_first_candidate():
    rows = SplitPart(np.zeros((40, 1), dtype=np.float32), np.arange(40) % 4 == 0)
    method = Method("M", "random-forest", {}, {"n_estimators": (1, 2)})
    chosen = Choosing(SplitParts(rows, rows, rows)).chosen(method, "average_precision")
    assert chosen.parameters == {"n_estimators": 1}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("forest_seeds = 2", "forrest_seeds = 2", "option 'forrest_seeds' is not one of the"),
        ("forest_seeds = 2", "forest_seeds = 0", "forest_seeds must be at least 1; got 0."),
        (
            "payments.bare",
            "payments.bares",
            "options.payments names 'bares', which is not in data",
        ),
        ("first_card = 5", "first_crad = 5", "key 'first_crad' is not one of options.payments.b"),
        ("first_day = 2", "first_day = -1", "options.payments.bare.first_day must be at least 0"),
        ('"roc_auc"', '"roc_au"', "metric 'roc_au' is not one of the protocol sampled; did you"),
        ('sampler = "under", ', "", "must have both a sampler among its parameters and a list"),
        ("[0.01, 0.2, 0.5]", "[0.01, 0.7]", "share must be above 0 and at most 0.5; got 0.7."),
        ("[quick]", "[sets.bare]\ntuned = false\n[quick]", "sets.bare must have neither ranges"),
    ],
)
def test_a_mistake_in_a_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ExperimentError, match=re.escape(sentence)):
        experiment((old, new))


def test_what_is_not_available_is_reported(folder, monkeypatch):
    protocol, empty = SampledInTime(experiment()), folder / "empty"
    empty.mkdir()
    assert "was not found" in protocol.why_not_data("payments", empty)
    assert protocol.why_not_data("payments", folder) is None
    monkeypatch.delitem(KNOWN, "payments")
    _choosing.cache_clear()
    assert "must have a time column" in protocol.why_not_data("payments", folder)
    wrong = SampledInTime(
        experiment(("n_estimators = 5 }\ngrid = { max_depth = [1, 4] }", "n_trees = 5 }"))
    )
    assert "cannot be made" in wrong.why_not_method("RF")
    assert protocol.why_not_method("RF") is None
