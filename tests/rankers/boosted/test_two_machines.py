"""The gradients of a training on two machines, through XGBoost's own collective."""

import multiprocessing

import numpy as np
import pytest
from pytest import approx

from toprank.losses import ApExp, Gather, Log
from toprank.rankers.boosted.objective import Objective
from toprank.rankers.boosted.xgboost_engine import across_machines

N_ROWS, BORDER = 60, 56  # the second machine has four rows and, in some batches, none


def whole_list():
    generator = np.random.default_rng(0)
    raw = generator.normal(size=N_ROWS).astype(np.float32)
    return np.arange(N_ROWS) % 7 == 0, raw


def on_machine(machine, tracker, results):
    """Run in a process of its own: send back the gradients of this machine's rows."""
    from xgboost import collective

    rows = slice(0, BORDER) if machine == 0 else slice(BORDER, N_ROWS)
    is_positive, raw = whole_list()
    with collective.CommunicatorContext(**tracker, dmlc_task_id=str(machine)):
        gradients = []
        for loss, fraction in ((Log(), 1.0), (ApExp(), 1.0), (ApExp(), 0.2)):
            objective = Objective(
                loss, is_positive[rows], None, fraction, machine, Gather(across_machines)
            )
            for round_ in range(5):
                gradient, _ = objective.gradient_curvature(raw[rows], round_)
                gradients.append(gradient.copy())
    results.put((machine, gradients))


@pytest.fixture(scope="module")
def gradients():
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [
        context.Process(target=on_machine, args=(machine, tracker.worker_args(), results))
        for machine in range(2)
    ]
    for process in processes:
        process.start()
    try:
        found = dict(results.get(timeout=60) for _ in processes)
    finally:
        for process in processes:
            process.join(10)
            process.kill()
    return [np.concatenate(pair) for pair in zip(found[0], found[1], strict=True)]


@pytest.mark.parametrize(("place", "loss"), [(0, Log()), (5, ApExp())], ids=str)
def test_two_machines_find_the_gradient_of_one(gradients, place, loss):
    is_positive, raw = whole_list()
    alone, _ = Objective(loss, is_positive, None, 1.0, 0).gradient_curvature(raw, 0)
    assert gradients[place] == approx(alone, rel=1e-4, abs=1e-7)


def test_a_machine_without_rows_in_the_batch_keeps_step(gradients):
    assert all(np.isfinite(gradient).all() for gradient in gradients[10:])
    assert any(not gradient[BORDER:].any() for gradient in gradients[10:])
