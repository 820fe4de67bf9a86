"""Workers that grow trees together: who takes part, who is lost, what is left behind."""

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
    chosen = tracker._shared_out(held_by, n_rows, workers=["a", "b", "c"])
    rows_of = Counter()
    for worker, rows in zip(chosen, n_rows, strict=True):
        rows_of[worker] += rows
    assert max(rows_of.values()) <= sum(n_rows) / 3 + max(n_rows)
    if max(Counter(held_by).values()) == 1:
        assert chosen == held_by


def test_a_worker_without_rows_takes_no_part(client, places):
    X, y = table()
    training = trained(client, *in_parts(X, y, borders=()))
    assert len(places[0]) == 1
    check_same(training, BoostedRanker("ap-exp", **LOCALLY).fit(X, y), X)


def test_progress_hears_of_trees_and_of_the_last(client):
    X, y = table(400)
    told = []
    trained(client, *in_parts(X, y), progress=lambda *each: told.append(each))
    assert told[-1] == ("growing trees", N_TREES, N_TREES)
    assert told == sorted(set(told))


def test_a_killed_worker_is_named_and_the_next_training_works(client_to_hurt, places):
    X, y = table(400)
    lost, process = oldest_worker(client_to_hurt)

    def kill(_what, n_grown, _n_trees):
        if n_grown == 3:
            os.kill(process, signal.SIGKILL)

    with pytest.raises(LostWorkerError, match=f"worker {lost} was lost while the trees"):
        trained(client_to_hurt, *in_parts(X, y), n_trees=3000, progress=kill)
    wait_for_another(client_to_hurt, process)
    trained(client_to_hurt, *in_parts(X, y))
    assert len(places[-1]) == 2


@pytest.mark.parametrize(("module", "step"), [(cluster_fit, "_look_at_all"), (tracker, "grow")])
def test_a_worker_lost_before_or_after_the_trees_grow_is_made_up_for(
    client_to_hurt, monkeypatch, module, step
):
    X, y = table()
    _, process = oldest_worker(client_to_hurt)
    do = getattr(module, step)

    def do_and_kill(*arguments):
        done = do(*arguments)
        os.kill(process, signal.SIGKILL)
        return done

    monkeypatch.setattr(module, step, do_and_kill)
    training = trained(client_to_hurt, *in_parts(X, y))
    check_same(training, BoostedRanker("ap-exp", **LOCALLY).fit(X, y), X)


def oldest_worker(client):
    """Return address and process; one killed while it starts would not be started again."""
    processes = client.run(os.getpid)
    return min(processes.items(), key=lambda item: item[1])


def wait_for_another(client, lost):
    """Wait until Dask has missed a killed process and started another in its place."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        processes = client.run(os.getpid, on_error="ignore").values()
        if len(processes) == 2 and lost not in processes:
            return
        time.sleep(0.2)
    raise TimeoutError("no worker came for the one that was killed")


def test_an_interrupted_training_leaves_nothing_behind(client, monkeypatch):
    X, y = table(400)
    is_growing = threading.Event()

    def interrupt(*_):
        assert is_growing.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(tracker, "wait_for", interrupt)
    parts = in_parts(X, y)
    with pytest.raises(KeyboardInterrupt):  # so many trees would take minutes
        trained(client, *parts, n_trees=100_000, progress=lambda *_: is_growing.set())
    end = time.monotonic() + 30
    while n_tasks(client) and time.monotonic() < end:
        time.sleep(0.1)
    assert n_tasks(client) == 0
    assert not client.who_has()


def n_tasks(client):
    """Return how many tasks and results the workers hold."""

    def of_one(dask_worker):
        return len(dask_worker.state.tasks)

    return sum(client.run(of_one).values())
