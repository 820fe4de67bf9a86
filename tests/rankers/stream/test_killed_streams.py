"""A stream that is killed twenty times is, bit for bit, one that nobody killed."""

import random
import time
from multiprocessing import get_context

import numpy as np
import pytest

from rankers.stream.killed_streams import run
from toprank import load
from toprank.files import read_manifest

N_KILLS, N_ROWS = 20, 5000


def saved_row(path):
    return read_manifest(path)["state"]["position"]["row"] if path.exists() else 0


@pytest.mark.slow
def test_twenty_kills_change_nothing(tmp_path):
    draw = random.Random(0)
    context = get_context("forkserver")
    context.set_forkserver_preload(["rankers.stream.killed_streams"])
    killed, whole = tmp_path / "killed.toprank", tmp_path / "whole.toprank"
    refitting = [row for row in run(whole, N_ROWS) if 100 < row < N_ROWS - 200]
    in_a_refit = set(draw.sample(refitting, min(len(refitting), N_KILLS // 2)))
    others = draw.sample(range(100, N_ROWS - 200), N_KILLS - len(in_a_refit))
    n_killed = n_refitting = 0
    for target in sorted([*in_a_refit, *others]):
        process = context.Process(target=run, args=(str(killed), N_ROWS))
        process.start()
        while process.is_alive() and saved_row(killed) < target:
            time.sleep(0.01)
        if target not in in_a_refit:
            time.sleep(0.05 * draw.random())  # so that some kills come while a file is being saved
        process.kill()
        process.join()
        n_killed += process.exitcode == -9
        n_refitting += load(killed).learner.model_.is_refitting
    process = context.Process(target=run, args=(str(killed), N_ROWS))
    process.start()
    process.join()
    assert process.exitcode == 0

    assert n_killed == N_KILLS and n_refitting > 0
    one, other = (load(path)._to_saved() for path in (killed, whole))
    assert one.state == other.state
    for name, array in other.arrays.items():
        np.testing.assert_array_equal(one.arrays[name], array, name)
    print(f"{n_killed} kills, {n_refitting} of them with a refit under way: nothing differs")
