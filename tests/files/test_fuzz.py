"""More than a thousand broken files, none of which may crash `load` or load into nonsense.

They are loaded in a process of their own, since a crash would end this one:
`python -m files.test_fuzz FOLDER FIRST LAST`.
"""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from files.boosted import check_scores_and_reasons, real_rankers
from files.mutations import BREAKS, BREAKS_OF_REAL
from files.tiny_ranker import N_FEATURES, ROWS, TinyRanker, fitted
from toprank import BoostedRanker, registry
from toprank.files import ModelFileError, load, save
from toprank.registry import LearnerRow

N_BROKEN = 1_200
TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param(0, len(BREAKS), id="one of each kind"),
        pytest.param(len(BREAKS), N_BROKEN // 2, marks=pytest.mark.slow),
        pytest.param(N_BROKEN // 2, N_BROKEN, marks=pytest.mark.slow),
    ],
)
def test_no_broken_file_crashes_or_loads_into_nonsense(first, last, tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "files.test_fuzz", str(tmp_path), str(first), str(last)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=300,
    )

    seed_reached = (run.stdout.split() or ["none"])[-1]
    assert run.returncode == 0, f"seed {seed_reached}, exit {run.returncode}: {run.stderr[-2000:]}"
    assert seed_reached == str(last - 1)


def load_broken_files(folder, first, last):
    registry.LEARNERS += (LearnerRow(f"{TinyRanker.__module__}:TinyRanker"),)
    tiny = [fitted(n_estimators=n_estimators) for n_estimators in (1, 2, 6)]
    good = {False: written_files(tiny, folder), True: written_files(real_rankers(), folder)}
    path = folder / "broken.toprank"
    n_loaded = 0
    for seed in range(first, last):
        print(seed, flush=True)
        generator = np.random.default_rng(seed)
        breaks = BREAKS[seed % len(BREAKS)]
        files = good[breaks in BREAKS_OF_REAL]
        path.write_bytes(files[generator.integers(len(files))])
        breaks(path, generator)
        n_loaded += loads_soundly(path)
    print(f"{n_loaded} of {last - first} loaded", file=sys.stderr)


def written_files(rankers, folder):
    path = folder / "good.toprank"
    files = []
    for ranker in rankers:
        save(ranker, path, facts={"ap": 0.5, "none": math.nan})
        files.append(path.read_bytes())
    return files


def loads_soundly(path):
    """Return whether the file loads; what it loads into must score."""
    try:
        model = load(path)
    except (ModelFileError, OSError):
        return False
    if isinstance(model, BoostedRanker):
        check_scores_and_reasons(model)
        return True
    scores = model.suspicion(ROWS)
    assert scores.shape == (10,)
    assert np.isfinite(scores).all()
    assert model.contributions(ROWS).shape == (10, N_FEATURES + 1)
    return True


if __name__ == "__main__":
    load_broken_files(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
