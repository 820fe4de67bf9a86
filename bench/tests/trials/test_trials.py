"""Trials: each runs in a small form, and mistakes in a file get a sentence."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank_bench import find_experiment, names, read_experiment
from toprank_bench.protocols.trial import Trials
from toprank_bench.simulated.drifting_worlds import WORLDS, drifting_world
from toprank_bench.trials.trial_table import TRIALS

TEXT = """
title = "Coverage"
source = "simulated"
protocol = "trial"
data = ["equal spread, 1 %"]
seeds = [1]
metrics = ["covered"]

[methods.smooth]
learner = "yield-coverage"
parameters = { calibration = "smooth", cases = 5 }
"""


def run(name, data, folder=None, seed=0, **parameters):
    """What a trial measures, with all metrics it names."""
    outcome = TRIALS[name].measure(data, seed, folder, **parameters)
    assert set(outcome.figures) == set(TRIALS[name].metrics)
    assert all(np.isfinite(value) for value in outcome.figures.values())
    return outcome


def declared(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return Trials(read_experiment(text, "mine"))


def test_every_trial_belongs_to_an_experiment():
    used = {method.learner for name in names() for method in find_experiment(name).methods}
    assert TRIALS.keys() <= used


def test_ranges_cover_nine_cases_in_ten():
    figures = run("yield-coverage", "equal spread, 1 %", calibration="smooth", cases=60).figures
    assert 0.8 <= figures["covered"] <= 1
    assert figures["covered"] + figures["below"] + figures["above"] == pytest.approx(1)


def test_recall_from_random_checks_is_compared_with_the_truth():
    figures = run("recall-coverage", "10 frauds drawn", replays=60).figures
    assert 0.85 <= figures["covered"] <= 1
    assert abs(figures["missed_bias"]) < 4 * figures["missed_error"]
    assert abs(figures["recall_bias"]) < 4 * figures["recall_error"]


@pytest.mark.slow
def test_days_are_replayed_through_the_tables_of_a_desk():
    figures = run("recall-coverage", "a desk's tables", replays=1).figures
    assert figures["frauds_drawn"] > 0 and figures["covered_with_claims"] in (0, 1)


def test_a_range_that_is_corrected_follows_a_change_of_fraud():
    options = {"replays": 4, "seed": 5}
    data = "a third, 30 checks"
    corrected = run("promise-under-drift", data, corrected=True, **options).figures
    plain = run("promise-under-drift", data, corrected=False, **options).figures
    assert corrected["after"] > 0.6 > plain["after"]


def test_somebody_who_flips_all_verdicts_is_noticed_within_days():
    figures = run("hostile-labeller", "100 % flipped", teams=2).figures
    assert figures["noticed"] == 1 and figures["most_checks"] < 100


def test_a_row_follows_from_its_cell_alone():
    protocol = declared()
    (cell,) = protocol.cells()
    assert protocol.run(cell, None).figures == protocol.run(cell, None).figures


def test_a_way_of_learning_is_replayed():
    outcome = run("feedback-ways", "no new pattern", way="static", customers=60, days=4, trees=3)
    assert 0 <= outcome.figures["card_precision"] <= 1
    assert len(outcome.facts["found_by_day"]) == 4


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_history_is_timed_in_both_places(where):
    outcome = run("store-cost", "made-up payments", where=where, rows=300)
    assert all(value > 0 for value in outcome.figures.values())


def test_one_machine_trains_where_there_are_no_workers():
    outcome = run("two-workers", "ap-exp", workers=0, rows=3000, trees=2)
    assert 0 < outcome.figures["average_precision"] < 1


def test_cards_are_found_by_losses_of_payments_and_of_cards():
    options = {"n_estimators": 10, "binning": "balanced", "cards": 150}
    plain = run("card-loss", "new pattern, world 1", loss="log", **options)
    of_cards = run("card-loss", "new pattern, world 1", loss="ap-card", **options)
    assert plain.facts["checks"] == of_cards.facts["checks"] == 3
    assert len(plain.facts["found"]) == 7
    for outcome in (plain, of_cards):
        assert 0 < outcome.figures["average_precision"] < 1
        assert outcome.figures["card_precision"] <= outcome.facts["ceiling"]


def test_a_fit_is_timed_beside_one_of_lightgbm():
    pytest.importorskip("lightgbm")
    outcome = run("fit-speed", "made-up rows", time_limit=0.01, rows=2000, columns=20, trees=3)
    figures = outcome.figures
    ratio = figures["seconds"] / figures["lightgbm_seconds"]
    assert figures["times_lightgbm"] == pytest.approx(ratio)
    assert 0.01 < figures["average_precision"] < 1


@pytest.mark.slow
def test_a_stream_killed_twice_differs_in_nothing():
    outcome = run("stream-crashes", "made-up payments", rows=3000, kills=2)
    assert outcome.figures["parts_that_differ"] == 0


def test_a_tree_is_counted_and_scored(data):
    outcome = run(
        "tree-size", "first", data, learner="geometric-tree", criterion="entropy", max_depth=2
    )
    assert 2 <= outcome.figures["leaves"] <= 4


def test_small_sets_are_those_of_the_folder(data, tmp_path):
    (tmp_path / "keel_small.parquet").write_bytes((data / "first.parquet").read_bytes())
    outcome = run("warm-start", "small public sets", tmp_path, share=0.5, trees=4)
    assert outcome.facts["sets"] == 1 and list(outcome.facts["by_set"]) == ["keel_small"]
    assert outcome.figures["sets_better"] + outcome.figures["sets_worse"] <= 1


@pytest.fixture
def numbers(tmp_path):
    """A folder with a data set of numbers."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(400, 3))
    columns = {f"x{place}": column for place, column in enumerate(x.T)}
    table = pa.table({**columns, "y": (x[:, 0] > 0.5).astype(int)})
    pq.write_table(table, tmp_path / "numbers.parquet")
    return tmp_path


def test_errors_fall_as_rows_are_learned(numbers):
    outcome = run(
        "convergence", "numbers", numbers, learner="online-linear-boost",
        settings={"numbers": {"n_learners": 2}},
    )  # fmt: skip
    assert outcome.facts["rows"][-1] == 266
    assert outcome.facts["errors"][-1] == pytest.approx(
        outcome.figures["progressive_error"], abs=1e-5
    )


def test_latents_are_compared_with_each_other(numbers):
    outcome = run("latents", "numbers", numbers, width=2, learning_rate=0.1, rows=100)
    assert np.shape(outcome.facts["correlation"]) == (100, 100)
    assert len(outcome.facts["importance"]) == 100


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"covered"', '"cover"', "'cover'"),
        ('"equal spread, 1 %"', '"equal spread, 2 %"', "equal spread, 2 %"),
        ("cases = 5", "case = 5", "'case'.*'cases'"),
        ('calibration = "smooth", ', "", "calibration"),
    ],
)
def test_a_mistake_in_the_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        declared((old, new))


def test_the_memory_of_a_ranker_of_streams_is_measured_million_by_million():
    outcome = run("stream-memory", "made-up rows", rows=250_000, n_estimators=5)
    assert len(outcome.facts["megabytes"]) == 5
    assert outcome.facts["rows_in_memory"] < 1.2 * 100_000


@pytest.mark.parametrize("method", ["stream", "nightly", "online"])
def test_a_returning_pattern_is_judged_by_its_own_frauds(method):
    outcome = run("lifelong", "returning", method=method, cards=40, days=265)
    assert outcome.facts["of_change"] < outcome.facts["positives"]
    assert 0 <= outcome.figures["recovery_days"] <= 15


@pytest.mark.parametrize("name", WORLDS)
def test_a_drifting_world_changes_on_its_day(name):
    world = drifting_world(name, seed=0, n_cards=120, n_days=285)
    before = world.days < world.change
    amount = world.features["amount"]
    assert world.is_positive.any() and world.is_changed[~before].any()
    if name == "rising amounts":
        late = world.days > world.change
        assert amount[late].mean() > 1.4 * amount[world.days < 30].mean()
    elif name == "returning":
        assert set(np.unique(world.days[world.is_changed & before] // 70)) == {0}
    else:
        assert not world.is_changed[before].any()


@pytest.mark.slow
def test_months_are_computed_by_day_as_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = run("months", "60 days", cards=1_000, volume=1.0)

    assert outcome.figures["values_that_differ"] == 0
    assert outcome.facts["values_compared"] > 100_000
    assert outcome.figures["features_gigabytes"] < 1
    assert outcome.figures["average_precision"] > 0.3
    assert not list(tmp_path.iterdir())
