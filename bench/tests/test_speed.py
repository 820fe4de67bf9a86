"""Races: run in turns, recorded once, compared with their limits."""

import json
import re
import statistics
import subprocess
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank_bench import resources, speed
from toprank_bench.row_file import read_rows
from toprank_bench.speed import (
    busy_machine,
    first_fit,
    memory,
    speed_rows,
    speed_runner,
    timing,
)
from toprank_bench.speed.main_learners import FITS
from toprank_bench.speed.race import Measured, Race, Setting

# what a tiny race has in place of each size
TINY = {
    "rows": 700, "columns": 9, "depth": 2, "trees": 3, "learners": 2, "reasons": 2, "scored": 4,
    "cards": 80, "days": 40, "smallest": 500, "doublings": 1, "rival_rows": 500, "rounds": 2,
    "lines": 600,
}  # fmt: skip
ALL = [race for family in speed.FAMILIES.values() for race in family]
OWN_PROCESS = ("memory-", "first-fit-", "threads-")
IN_THIS_PROCESS = [race for race in ALL if not race.name.startswith(OWN_PROCESS)]


def fake(name="fake", figures=(1.0, 3.0, 2.0), **others):
    """A race that is over at once and counts how often it was run."""
    runs = count()

    def measure(setting):
        next(runs)
        return Measured(list(figures), {"rows_seen": setting.shape["rows"]})

    settings = {
        "what": "ours", "against": "theirs", "unit": "times as long", "shape": {"rows": 100},
        "quick": {"rows": 10}, "minutes": (2.0, 0.5),
    }  # fmt: skip
    race = Race(name=name, measure=measure, **(settings | others))
    return race, lambda: int(re.findall(r"\d+", repr(runs))[0])


def failing(_):
    raise ValueError("the rival broke.")


def table_lines(text):
    return {line.split()[0]: line for line in text.splitlines() if line and line[0] != "-"}


@pytest.mark.parametrize("race", IN_THIS_PROCESS, ids=lambda race: race.name)
def test_every_race_can_be_run(race, tmp_path):
    if race.needs:
        pytest.importorskip(race.needs)
    shape = {name: min(size, TINY[name]) for name, size in race.shape.items()}
    measured = race.measure(Setting(shape, 1, tmp_path))

    assert measured.rounds and np.isfinite(measured.rounds).all()
    json.dumps(dict(measured.facts), allow_nan=False)


@pytest.mark.parametrize("learner", FITS)
def test_every_learner_whose_memory_is_read_can_be_fitted(learner):
    features, is_positive, _ = speed_rows.rare_positives(700, 5)
    FITS[learner].prepare(features, is_positive, 1)()


@pytest.mark.skipif(not resources.has_peak(), reason="only Linux reports the peak")
def test_the_memory_of_a_fit_is_read_in_a_process_of_its_own():
    (race,) = speed.chosen_races(["memory-onlb"])
    measured = race.measure(Setting({"rows": 40_000, "columns": 5, "rounds": 1}, 1, None))

    facts = measured.facts
    assert facts["input_bytes"] == 40_000 * 5 * 4
    assert measured.rounds == [facts["bytes_with_input"] / facts["input_bytes"]]
    assert 0 <= facts["bytes_beside_input"] <= facts["bytes_with_input"]


@pytest.mark.skipif(not resources.has_peak(), reason="only Linux reports the peak")
def test_a_fit_that_breaks_in_its_own_process_is_reported(monkeypatch):
    monkeypatch.setattr(memory, "_MODULE", "no_such_module")
    (race,) = speed.chosen_races(["memory-onlb"])
    with pytest.raises(ValueError, match=r"that fits must end well; .*no_such_module"):
        race.measure(Setting({"rows": 9, "columns": 5, "rounds": 1}, 1, None))


def test_where_no_peak_can_be_read_a_sentence_says_so(monkeypatch):
    monkeypatch.setattr(memory, "has_peak", lambda: False)
    (race,) = speed.chosen_races(["memory-onlb"])
    with pytest.raises(OSError, match="can be read on Linux alone"):
        race.measure(Setting({"rows": 9, "columns": 5, "rounds": 1}, 1, None))


def test_a_first_fit_finds_nothing_compiled_and_that_of_a_later_process_does(monkeypatch):
    # in place of a fit: how many files the folder for kernels has, and one more file there
    kept = "import os; folder = os.environ['NUMBA_CACHE_DIR']; print(len(os.listdir(folder)))"
    monkeypatch.setattr(first_fit, "_FIT", f"{kept}; open(os.path.join(folder, 'x'), 'w').close()")
    found = [
        race.measure(Setting({"rows": 9, "columns": 5, "rounds": 2}, 1, None)).rounds
        for race in speed.chosen_races(["first-fit"])
    ]
    assert found == [[0, 0], [1, 1]]


def test_passive_and_spinning_threads_take_turns_and_other_work_ends_with_the_race(monkeypatch):
    seconds = "import os; print({'passive': 1, 'active': 4}[os.environ['OMP_WAIT_POLICY']])"
    monkeypatch.setattr(busy_machine, "_FIT", seconds.replace("{", "{{").replace("}", "}}"))
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    busy, quiet = speed.chosen_races(["threads"])
    for race, n_processes in ((busy, 2 + 2), (quiet, 2)):
        started.clear()
        measured = race.measure(Setting({"rounds": 1}, 2, None))
        assert measured.rounds == [0.25]
        assert len(started) == n_processes
        assert all(process.poll() is not None for process in started)


@pytest.mark.parametrize("race", ALL, ids=lambda race: race.name)
def test_a_quick_race_is_a_smaller_one_of_the_same_kind(race):
    whole, quick = race.shape_of(False), race.shape_of(True)

    assert whole.keys() == quick.keys() <= TINY.keys()
    assert all(1 <= quick[name] <= size for name, size in whole.items())
    assert quick != whole and race.definition(True) != race.definition(False)
    assert 0 < race.minutes[1] <= race.minutes[0]
    assert race.at_most is None or race.at_least is None


def test_the_names_of_races_and_families_are_all_different():
    names = [*speed.FAMILIES, *(race.name for race in ALL)]
    assert len(set(names)) == len(names)
    assert speed.chosen_races() == ALL


def test_races_are_chosen_by_name_and_family_in_order():
    chosen = speed.chosen_races(["anomaly", "metaap", "anomaly-tree"])
    assert [race.name for race in chosen] == ["metaap", "anomaly-tree", "anomaly-forest"]
    with pytest.raises(ValueError, match=r"'metap' is no race .*; did you mean 'metaap'"):
        speed.chosen_races(["metap"])
    with pytest.raises(ValueError, match="families are boosting, trees"):
        speed.chosen_races(["?"])


def test_the_sides_of_a_race_take_turns_and_ours_is_compiled_before():
    turns = []
    measured = timing.times_as_long(lambda: turns.append("o"), lambda: turns.append("t"), 3, a=1)

    assert "".join(turns) == "o" + "ot" * 3
    assert len(measured.rounds) == 3
    assert measured.facts.keys() == {"our_seconds", "their_seconds", "a"}


def test_the_ratios_of_a_race_are_of_the_same_round(monkeypatch):
    clock = iter([0, 3, 10, 12, 20, 21, 30, 34])  # ours 3 and 1, theirs 2 and 4
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    measured = timing.times_as_long(lambda: None, lambda: None, 2)

    assert measured.rounds == [1.5, 0.25]
    assert measured.facts == {"our_seconds": 2, "their_seconds": 3}


def test_as_fast_is_the_inverse_of_as_long(monkeypatch):
    clock = iter([0, 1, 10, 14])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    assert timing.times_as_fast(lambda: None, lambda: None, 1).rounds == [4]


def test_the_figure_of_single_rows_is_the_median_of_each_part(monkeypatch):
    clock = iter([0, 0.001, 0, 0.002, 0, 0.009, 0, 0.004, 0, 0.005, 0, 0.006])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    measured = timing.milliseconds_each(lambda _: None, range(6), 2)

    assert measured.rounds == pytest.approx([2, 5])
    assert measured.facts["largest"] == pytest.approx(9)


def test_work_alone_is_timed_after_a_first_time():
    done = []
    measured = timing.seconds_alone(lambda: done.append(1), 2, n=5)
    assert len(done) == 3 and len(measured.rounds) == 2 and measured.facts == {"n": 5}


@pytest.mark.parametrize(
    ("limits", "figure", "verdict"),
    [
        ({"at_most": 1.15}, 1.15, "met"),
        ({"at_most": 1.15}, 1.16, "missed"),
        ({"at_least": 4.0}, 4.0, "met"),
        ({"at_least": 4.0}, 3.99, "missed"),
        ({}, 99.0, ""),
    ],
)
def test_a_figure_at_the_limit_meets_it(limits, figure, verdict):
    assert fake(**limits)[0].verdict(figure) == verdict


def test_a_row_holds_the_median_its_rounds_and_where_it_comes_from(tmp_path):
    race, _ = fake(figures=(5.0, 1.0, 2.0))
    raced = speed.run([race], tmp_path)
    (row,) = read_rows(tmp_path / "speed.jsonl.xz")

    assert raced == (tmp_path / "speed.jsonl.xz", 1, 0, 1, {}, [])
    assert row["figure"] == statistics.median(row["rounds"]) == 2.0
    assert row["rounds"] == [5.0, 1.0, 2.0] and row["facts"] == {"rows_seen": 100}
    assert row["shape"] == {"rows": 100} and row["threads"] == 1
    assert {"commit", "when", "machine", "versions", "seconds", "definition"} <= row.keys()


def test_both_sides_of_a_threaded_race_get_all_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(speed_runner.os, "cpu_count", lambda: 7)
    seen = []

    def measure(setting):
        seen.append(setting.n_threads)
        return Measured([1.0], {})

    race, _ = fake(is_threaded=True)
    speed.run([replace(race, measure=measure)], tmp_path)
    assert seen == [7] and read_rows(tmp_path / "speed.jsonl.xz")[0]["threads"] == 7


def test_recorded_races_are_refused_and_resume_runs_the_others_only(tmp_path):
    first, n_first = fake("first")
    second, n_second = fake("second")
    speed.run([first], tmp_path)
    with pytest.raises(ValueError, match=r"holds 1 of 2 races already; resume with --res"):
        speed.run([first, second], tmp_path)
    raced = speed.run([first, second], tmp_path, resume=True)

    assert (n_first(), n_second()) == (1, 1)
    assert (raced.n_before, raced.n_new) == (1, 1)


def test_races_run_again_count_and_the_page_shows_earlier_figures(tmp_path):
    for figure in (3.0, 2.5, 2.0):
        speed.run([fake("first", [figure])[0]], tmp_path, again=True)
    speed.run([fake("second")[0]], tmp_path)
    races = [fake("first")[0], fake("second")[0]]
    summary = speed.race_summary_of(races, read_rows(tmp_path / "speed.jsonl.xz"))

    assert summary.rows["first"]["figure"] == 2.0
    assert summary.earlier == {"first": [3.0, 2.5]}
    assert "counts; earlier: first 3, 2.5.\n" in speed.text_of(summary) + "\n"


def test_a_race_that_was_not_recorded_is_added_without_resume(tmp_path):
    speed.run([fake("first")[0]], tmp_path)
    assert speed.run([fake("second")[0]], tmp_path).n_new == 1


def test_a_race_of_another_shape_is_run_again_and_its_old_row_not_shown(tmp_path):
    race, _ = fake()
    speed.run([race], tmp_path)
    other, n_runs = fake(shape={"rows": 200})
    speed.run([other], tmp_path, resume=True)
    summary = speed.race_summary_of([other], read_rows(tmp_path / "speed.jsonl.xz"))

    assert n_runs() == 1
    assert summary.rows["fake"]["shape"] == {"rows": 200}
    assert "- 1 rows of earlier forms of these races are not shown." in speed.text_of(summary)


def test_quick_races_are_smaller_and_have_a_file_of_their_own(tmp_path):
    race, _ = fake()
    speed.run([race], tmp_path, quick=True)
    (row,) = read_rows(tmp_path / "speed-quick.jsonl.xz")
    summary = speed.race_summary_of([race], [row], quick=True)

    assert row["facts"] == {"rows_seen": 10}
    assert speed.text_of(summary).startswith("Speed, quick and therefore rough: 0 of 0 limits")
    with pytest.raises(ValueError, match="no race is recorded in this folder"):
        speed.race_summary_of([race], [row], quick=False)


def test_a_race_that_fails_is_reported_and_tried_again_and_the_others_run(tmp_path):
    good, _ = fake("good")
    bad = replace(good, name="bad", measure=failing)
    not_a_number = replace(good, name="odd", measure=lambda _: Measured([float("nan")], {}))
    raced = speed.run([bad, not_a_number, good], tmp_path)

    assert raced.failed.keys() == {"bad", "odd"} and raced.n_new == 1
    assert raced.failed["bad"] == "the rival broke."
    again = speed.run([replace(good, name="bad"), good], tmp_path, resume=True)
    assert (again.n_before, again.n_new, again.failed) == (1, 1, {})


def test_a_race_whose_rival_is_not_installed_is_left_out_with_the_way_to_get_it(tmp_path):
    reported = []
    race, n_runs = fake(needs="no_such_package")
    raced = speed.run([race, fake("other")[0]], tmp_path, report=reported.append)

    assert n_runs() == 0 and raced.n_new == 1
    assert raced.left_out == [
        "race fake needs no_such_package, which is not installed; install it with: "
        "pip install no_such_package"
    ]
    assert reported[0] == f"note: {raced.left_out[0]}"


def test_every_race_is_reported_with_its_verdict_and_the_time_left(tmp_path):
    reported = []
    races = [fake("first", at_most=1.5)[0], fake("second", at_least=2)[0]]
    speed.run(races, tmp_path, report=reported.append)

    assert reported[0] == "0 of 2 done, about 4 min left"
    assert reported[1].startswith(
        "first: 2 times as long as theirs (at most 1.5: missed); 1 of 2 done, about "
    )
    assert reported[2] == "second: 2 times as long as theirs (at least 2: met); 2 of 2 done"


def test_the_slowest_of_single_rows_are_printed_with_their_median(tmp_path):
    reported = []
    race = fake("rows", at_most=3.0, against="", unit="ms (median)")[0]
    race = replace(race, measure=lambda _: Measured([2.0], {"p99": 2.5}))
    speed.run([race], tmp_path, report=reported.append)
    summary = speed.race_summary_of([race], read_rows(tmp_path / "speed.jsonl.xz"))

    assert reported[1] == "rows: 2 ms (median), p99 2.5 (at most 3: met); 1 of 1 done"
    assert "- p99 of single rows, in ms: rows 2.5." in speed.text_of(summary)


def test_the_table_says_met_and_missed_and_what_was_not_run(tmp_path):
    races = [fake("a", at_most=1.5)[0], fake("b", at_most=2.0)[0], fake("c")[0]]
    speed.run(races, tmp_path)
    not_run = fake("d", at_most=1.0)[0]
    summary = speed.race_summary_of([*races, not_run], read_rows(tmp_path / "speed.jsonl.xz"))
    text = speed.text_of(summary)
    lines = table_lines(text)

    assert text.startswith("Speed: 1 of 3 limits met, 1 missed")
    assert "at most 1.5  missed" in lines["a"] and "1 to 3" in lines["a"]
    assert "at most 2    met" in lines["b"]
    assert "met" not in lines["c"] and "missed" not in lines["c"]
    assert "not run" in lines["d"]
    facts = speed.facts_of(summary)
    assert [each["verdict"] for each in facts] == ["missed", "met", None]
    assert facts[0]["rounds"] == [1.0, 3.0, 2.0]


def test_the_markdown_has_a_line_a_race_or_those_with_a_limit_alone(tmp_path):
    races = [fake("a", at_most=1.5)[0], fake("b")[0]]
    speed.run(races, tmp_path)
    summary = speed.race_summary_of(races, read_rows(tmp_path / "speed.jsonl.xz"))
    whole = speed.markdown_of_races(summary)
    limits = speed.markdown_of_races(summary, with_limits_only=True).splitlines()

    assert whole.startswith("Speed: 0 of 1 limits met, 1 missed.\n\n| race | what |")
    assert "| b | ours | 2 | 1 to 3 | times as long as theirs |  |  | 1 |" in whole
    assert "- Figures are medians over rounds" in whole
    assert len(limits) == 3 and limits[2].startswith("| a | ") and "| missed |" in limits[2]


def test_races_next_to_other_work_are_named_below_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(speed_runner.os, "cpu_count", lambda: 2)
    for name, load in (("quiet", 2.0), ("busy", 3.4)):
        monkeypatch.setattr(speed_runner.os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        speed.run([fake(name)[0]], tmp_path)
    races = [fake("quiet")[0], fake("busy")[0]]
    text = speed.text_of(speed.race_summary_of(races, read_rows(tmp_path / "speed.jsonl.xz")))

    assert "- The machine was busy with other work during: busy." in text


def test_the_picture_has_a_panel_for_each_race_that_doubles_the_rows(tmp_path):
    facts = {"rows": [1000, 2000, 4000], "our_seconds": [1, 2, 4], "their_seconds": [1, 4]}
    alone = facts | {"their_seconds": []}
    races = [
        replace(fake(name)[0], measure=lambda _, found=found: Measured([1.0], found))
        for name, found in (("both", facts), ("alone", alone), ("other", {}))
    ]
    speed.run(races, tmp_path)
    summary = speed.race_summary_of(races, read_rows(tmp_path / "speed.jsonl.xz"))
    both, one = speed.picture_of(summary).axes

    assert [len(line.get_xdata()) for line in both.lines] == [3, 2]
    assert len(one.lines) == 1
    with pytest.raises(ValueError, match="no race that doubles the rows is recorded"):
        speed.picture_of(replace(summary, races=(races[2],)))


def test_rows_of_a_public_set_are_taken_where_they_are_and_made_up_elsewhere(tmp_path):
    table = pa.table({"x": np.arange(100.0), "z": np.ones(100), "y": np.arange(100) % 4 == 0})
    pq.write_table(table, tmp_path / "mine.parquet")
    taken = speed_rows.rows_like("mine", 25, 2, tmp_path)
    made_up = speed_rows.rows_like("metaap_satimage", 500, 7, tmp_path)

    assert taken.features[:, 0].tolist() == list(range(0, 100, 4)) and taken.source == "mine"
    assert taken.is_positive.all()
    assert made_up.features.shape == (500, 7) and made_up.source == "made up"
    assert made_up.features.dtype == np.float32 and made_up.is_positive.any()
