"""Running: what is recorded is kept, what failed is tried again, and kills change nothing."""

import lzma
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cli.running import start
from small_experiment import TEXT, experiment
from toprank_bench import run
from toprank_bench.protocols import PROTOCOLS, Cell, TrialOutcome
from toprank_bench.row_file import read_rows, rows_file, writing
from toprank_bench.runner import cells_of, recorded

SAME_ALWAYS = ("experiment", "data", "seed", "method", "definition", "figures", "parameters")


class Fake:
    """A protocol whose cells take no time: its figure is the seed."""

    learners = ("any",)
    broken: set = set()  # noqa: RUF012  (the fixture empties it)
    runs: list = []  # noqa: RUF012

    def __init__(self, declared):
        self.declared = declared

    def cells(self):
        declared = self.declared
        return [
            Cell(data, seed, method.name)
            for seed in declared.seeds
            for data in declared.data
            for method in declared.methods
        ]

    def why_not_data(self, data, folder):
        return f"{data} is not here." if data in self.broken else None

    def why_not_method(self, method):
        return f"{method} is not here." if method in self.broken else None

    def run(self, cell, folder):
        self.runs.append(cell)
        if cell in self.broken:
            raise KeyError("oh")
        value = float("nan") if "nan" in self.broken else cell.seed
        return TrialOutcome({"error": value}, {}, {"fit": 0.5}, {})


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "fake", Fake)
    monkeypatch.setattr(Fake, "broken", set())
    monkeypatch.setattr(Fake, "runs", [])
    return Fake


def faked():
    return experiment(
        ('"stratified"', '"fake"'),
        ('"boosted"', '"any"'),
        ('"sklearn-random-forest"', '"any"'),
        ('"average_precision", "roc_auc", "precision_at_k(100%)"', '"error"'),
        ("average_precision", "error"),
    )


def facts(rows):
    """What must not depend on when, where and how a row was made."""
    kept = [{key: row[key] for key in SAME_ALWAYS} for row in rows]
    return sorted(kept, key=lambda row: (row["data"], row["seed"], row["method"]))


def rows_in(folder, name="small"):
    return read_rows(rows_file(folder, name))


@pytest.fixture(scope="module")
def whole_run(data, tmp_path_factory):
    """The rows of one run without a stop, in one process."""
    folder = tmp_path_factory.mktemp("whole")
    run(experiment(), folder, folder=data)
    return rows_in(folder)


def test_a_row_says_what_was_measured_and_how(whole_run):
    assert len(whole_run) == 8
    for row in whole_run:
        assert set(row["figures"]) == {"average_precision", "roc_auc", "precision_at_k(100%)"}
        assert set(row["seconds"]) == {"tune", "fit", "score"}
        assert row["facts"]["rows"] == 90
        assert row["commit"] and row["machine"] and row["when"] and row["versions"]["numpy"]


def test_rows_do_not_depend_on_the_number_of_processes(whole_run, data, tmp_path):
    ran = run(experiment(), tmp_path, folder=data, n_jobs=2)
    assert (ran.n_cells, ran.n_before, ran.n_new, ran.failed) == (8, 0, 8, {})
    assert facts(rows_in(tmp_path)) == facts(whole_run)


def test_rows_do_not_depend_on_the_order(whole_run, data):
    protocol = PROTOCOLS["stratified"](experiment())
    known = recorded(experiment(), whole_run)
    for cell in reversed(cells_of(experiment())):
        assert protocol.run(cell, data).figures == known[cell]["figures"]


def test_rows_that_are_there_are_refused_without_resume_and_kept_with_it(fake, tmp_path):
    run(faked(), tmp_path)
    before = rows_file(tmp_path, "small").read_bytes()
    with pytest.raises(ValueError, match="holds 8 of 8 rows already; resume with --resume"):
        run(faked(), tmp_path)
    ran = run(faked(), tmp_path, resume=True)
    assert (ran.n_before, ran.n_new, len(fake.runs)) == (8, 0, 8)
    assert rows_file(tmp_path, "small").read_bytes() == before


def test_half_a_last_line_is_made_again_and_nothing_else(fake, tmp_path):
    run(faked(), tmp_path)
    path = rows_file(tmp_path, "small")
    whole = facts(rows_in(tmp_path))
    path.with_suffix("").write_bytes(lzma.decompress(path.read_bytes())[:-30])
    path.unlink()  # as a killed process leaves it
    fake.runs.clear()
    run(faked(), tmp_path, resume=True)
    assert len(fake.runs) == 1
    assert facts(rows_in(tmp_path)) == whole


def test_a_cell_that_fails_is_recorded_as_failed_and_tried_again(fake, tmp_path):
    cell = Cell("second", 1, "log")
    fake.broken.add(cell)
    ran = run(faked(), tmp_path)
    assert ran.failed == {cell: "KeyError: 'oh'"}
    assert ran.n_new == 7
    assert [row["failed"] for row in rows_in(tmp_path) if "failed" in row] == ["KeyError: 'oh'"]
    fake.broken.clear()
    fake.runs.clear()
    assert run(faked(), tmp_path, resume=True).failed == {}
    assert fake.runs == [cell]
    assert len(recorded(faked(), rows_in(tmp_path))) == 8


def test_a_figure_that_is_no_number_is_a_failure(fake, tmp_path):
    fake.broken.add("nan")
    assert set(run(faked(), tmp_path).failed.values()) == {
        "error must be a finite number; got nan."
    }


def test_what_is_not_available_is_reported_and_the_others_run(fake, tmp_path):
    fake.broken |= {"second", "forest"}
    reported = []
    ran = run(faked(), tmp_path, report=reported.append)
    assert reported == ran.left_out == ["forest is not here.", "second is not here."]
    assert {(row["data"], row["method"]) for row in rows_in(tmp_path)} == {("first", "log")}


def test_rows_of_another_definition_are_not_taken_for_these(fake, tmp_path):
    run(faked(), tmp_path)
    fake.runs.clear()
    path = rows_file(tmp_path, "small")
    rows = rows_in(tmp_path)
    rows[3]["definition"] = "another"
    path.unlink()
    with writing(path) as writer:
        for row in rows:
            writer.append(row)
    run(faked(), tmp_path, resume=True)
    assert fake.runs == [Cell(rows[3]["data"], rows[3]["seed"], rows[3]["method"])]


def test_progress_ends_at_all_cells_and_counts_those_recorded(fake, tmp_path):
    fake.broken.add(Cell("first", 1, "log"))
    run(faked(), tmp_path)
    reported = []
    run(faked(), tmp_path, resume=True, progress=lambda *each: reported.append(each))
    assert reported == [("small", 7, 8), ("small", 8, 8)]


def test_ctrl_c_leaves_a_sound_file(fake, tmp_path, monkeypatch):
    def stopped(self, cell, folder):
        if cell.seed == 2:
            raise KeyboardInterrupt
        return TrialOutcome({"error": 1.0}, {}, {}, {})

    monkeypatch.setattr(Fake, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(faked(), tmp_path)
    assert len(rows_in(tmp_path)) == 4


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no list of processes")
def test_killing_a_run_at_random_and_resuming_gives_the_same_rows(whole_run, data, tmp_path):
    (tmp_path / "small.toml").write_text(TEXT)
    path = rows_file(tmp_path, "small")
    chance = random.Random(0)
    command = ("bench", "run", tmp_path / "small.toml", "--resume", "--results", tmp_path)
    for n_rows, n_jobs in ((1, 1), (3, 2)):
        process = start(*command, "--data", data, "--jobs", n_jobs)
        wait_for_rows(path, n_rows, process)
        time.sleep(chance.random() / 20)
        workers = children_of(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert bool(workers) == (n_jobs > 1)
        wait_for_the_end_of(workers)
        process.communicate()
    assert len(read_rows(path)) >= 3
    last = start(*command, "--data", data)
    _, remarks = last.communicate(timeout=300)
    assert last.returncode == 0, remarks
    assert facts(read_rows(path)) == facts(whole_run)


def wait_for_the_end_of(workers):
    """Wait until the processes that worked for a killed one have left."""
    end = time.monotonic() + 60
    while any(Path("/proc", str(worker)).exists() for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.1)


def children_of(pid):
    """The processes that a process has started, but for those that have ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            number, rest = stat.parent.name, stat.read_text().rpartition(")")[2].split()
            if int(rest[1]) == pid and rest[0] != "Z":
                found.append(int(number))
    return found


def wait_for_rows(path, n_rows, process):
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        if len(read_rows(path)) >= n_rows:
            return
        time.sleep(0.005)
    assert process.poll() is not None, "no row came"
