"""Workers that grow trees together: which take part, which are lost, what is released."""

import os
import signal
import threading
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.ranked_rows import LOCALLY, N_TREES, check_same, in_parts, table, trained
from toprank import BoostedRanker
from toprank.cluster import LostWorkerError, cluster_fit, tracker


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 100)), min_size=1, max_size=12))
def test_no_worker_gets_more_than_its_fair_share_and_one_partition(parts):
    held_by, n_rows = (list(column) for column in zip(*parts, strict=True))
    chosen = tracker._balanced(held_by, n_rows, workers=["a", "b", "c"])
    rows_of = Counter()
    for worker, rows in zip(chosen, n_rows, strict=True):
        rows_of[worker] += rows
    assert max(rows_of.values()) <= sum(n_rows) / 3 + max(n_rows)
    if max(Counter(held_by).values()) == 1:
        assert chosen == held_by


@pytest.mark.slow
def test_a_worker_without_rows_takes_no_part(two_workers, placements):
    X, y = table()
    training = trained(two_workers, *in_parts(X, y, borders=()))
    assert len(placements[0]) == 1
    check_same(training, BoostedRanker("ap-exp", **LOCALLY).fit(X, y), X)


def test_progress_is_reported_up_to_the_last_tree(one_worker):
    X, y = table(400)
    reported = []
    trained(one_worker, *in_parts(X, y), progress=lambda *each: reported.append(each))
    assert reported[-1] == ("growing trees", N_TREES, N_TREES)
    assert reported == sorted(set(reported))


@pytest.mark.slow
def test_a_killed_worker_is_named_and_the_next_training_works(two_workers_to_kill, placements):
    X, y = table(400)
    lost, process = oldest_worker(two_workers_to_kill)

    def kill(_what, n_grown, _n_trees):
        if n_grown == 3:
            os.kill(process, signal.SIGKILL)

    with pytest.raises(LostWorkerError, match=f"worker {lost} was lost while the trees"):
        trained(two_workers_to_kill, *in_parts(X, y), n_trees=3000, progress=kill)
    wait_for_another(two_workers_to_kill, process)
    trained(two_workers_to_kill, *in_parts(X, y))
    assert len(placements[-1]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "step"), [(cluster_fit, "_schema_and_labels"), (tracker, "grow")]
)
def test_a_worker_lost_before_or_after_the_trees_grow_is_replaced(
    two_workers_to_kill, monkeypatch, module, step
):
    X, y = table()
    _, process = oldest_worker(two_workers_to_kill)
    do = getattr(module, step)

    def do_and_kill(*arguments):
        done = do(*arguments)
        os.kill(process, signal.SIGKILL)
        return done

    monkeypatch.setattr(module, step, do_and_kill)
    training = trained(two_workers_to_kill, *in_parts(X, y))
    check_same(training, BoostedRanker("ap-exp", **LOCALLY).fit(X, y), X)


def oldest_worker(client):
    """Return address and process; one killed while it starts would not be started again."""
    processes = client.run(os.getpid)
    return min(processes.items(), key=lambda item: item[1])


def wait_for_another(client, lost):
    """Wait until Dask has noticed a killed process and started another in its place."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        processes = client.run(os.getpid, on_error="ignore").values()
        if len(processes) == 2 and lost not in processes:
            return
        time.sleep(0.2)
    raise TimeoutError("no worker was started in place of the one that was killed")


@pytest.mark.slow
def test_an_interrupted_training_leaves_nothing_on_the_workers(two_workers, monkeypatch):
    X, y = table(400)
    is_growing = threading.Event()

    def interrupt(*_):
        assert is_growing.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(tracker, "wait_for", interrupt)
    parts = in_parts(X, y)
    with pytest.raises(KeyboardInterrupt):  # so many trees would take minutes
        trained(two_workers, *parts, n_trees=100_000, progress=lambda *_: is_growing.set())
    end = time.monotonic() + 30
    while n_tasks(two_workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert n_tasks(two_workers) == 0
    assert not two_workers.who_has()


def n_tasks(client):
    """Return how many tasks and results the workers hold."""

    def of_one(dask_worker):
        return len(dask_worker.state.tasks)

    return sum(client.run(of_one).values())
