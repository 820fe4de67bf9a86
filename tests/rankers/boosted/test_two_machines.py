"""The gradients of a training on two machines: in threads, and through XGBoost's collective."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from pytest import approx

from fork_server import fork_server
from losses.machines import machines
from toprank.losses import ApExp, Gather, Log
from toprank.rankers.boosted.objective import Objective
from toprank.rankers.boosted.xgboost_engine import across_machines

N_ROWS, BORDER = 60, 56  # the second machine has four rows and, in some batches, none


def whole_list():
    generator = np.random.default_rng(0)
    raw = generator.normal(size=N_ROWS).astype(np.float32)
    return np.arange(N_ROWS) % 7 == 0, raw


def gradients_of(machine, gather):
    """Return the gradients of one machine's rows in every round."""
    rows = slice(0, BORDER) if machine == 0 else slice(BORDER, N_ROWS)
    is_positive, raw = whole_list()
    gradients = []
    for loss, fraction in ((Log(), 1.0), (ApExp(), 1.0), (ApExp(), 0.2)):
        objective = Objective(loss, is_positive[rows], None, fraction, machine, gather)
        for round_ in range(5):
            gradient, _ = objective.gradient_curvature(raw[rows], round_)
            gradients.append(gradient.copy())
    return gradients


def on_machine(machine, tracker, results):
    """Run in a process of its own: send back the gradients of this machine's rows."""
    from xgboost import collective

    with collective.CommunicatorContext(**tracker, dmlc_task_id=str(machine)):
        results.put((machine, gradients_of(machine, Gather(across_machines))))


def in_threads():
    with ThreadPoolExecutor(2) as pool:
        return dict(enumerate(pool.map(gradients_of, range(2), machines(2))))


def in_processes():
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()
    context = fork_server()
    results = context.Queue()
    processes = [
        context.Process(target=on_machine, args=(machine, tracker.worker_args(), results))
        for machine in range(2)
    ]
    for process in processes:
        process.start()
    try:
        return dict(results.get(timeout=60) for _ in processes)
    finally:
        for process in processes:
            process.join(10)
            process.kill()


@pytest.fixture(
    scope="module",
    params=[in_threads, pytest.param(in_processes, marks=pytest.mark.slow)],
    ids=["threads", "processes"],
)
def gradients(request):
    found = request.param()
    return [np.concatenate(pair) for pair in zip(found[0], found[1], strict=True)]


@pytest.mark.parametrize(("place", "loss"), [(0, Log()), (5, ApExp())], ids=str)
def test_two_machines_find_the_gradient_of_one(gradients, place, loss):
    is_positive, raw = whole_list()
    alone, _ = Objective(loss, is_positive, None, 1.0, 0).gradient_curvature(raw, 0)
    assert gradients[place] == approx(alone, rel=1e-4, abs=1e-7)


def test_a_machine_without_rows_in_the_batch_takes_part_in_every_round(gradients):
    assert all(np.isfinite(gradient).all() for gradient in gradients[10:])
    assert any(not gradient[BORDER:].any() for gradient in gradients[10:])
