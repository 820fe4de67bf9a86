"""`n_jobs` means in every learner what it means in scikit-learn."""

import pytest
from joblib import cpu_count, parallel_config

from toprank import registry
from toprank.rankers.jobs import n_threads

WITH_JOBS = [
    row.load()() for row in registry.LEARNERS if "n_jobs" in row.load()().get_params(deep=False)
]


def test_none_is_one_and_negative_numbers_count_back_from_all_cores():
    assert n_threads(None) == 1
    assert n_threads(1) == 1
    assert n_threads(7) == 7
    assert n_threads(-1) == cpu_count()
    assert n_threads(-2) == max(1, cpu_count() - 1)
    assert n_threads(-1000) == 1


@pytest.mark.skipif(cpu_count() < 2, reason="with one core, all settings are the same")
def test_none_follows_the_context_of_joblib_and_a_number_does_not():
    with parallel_config(n_jobs=2, backend="threading"):
        assert n_threads(None) == 2
        assert n_threads(1) == 1
    with parallel_config(n_jobs=1000, backend="threading"):
        assert n_threads(None) == cpu_count()


@pytest.mark.parametrize(
    ("n_jobs", "error", "words"),
    [
        (0, ValueError, r"n_jobs must be None, 1 or more, -1 for all cores .*; got 0\."),
        (1.5, TypeError, r"n_jobs must be a whole number; got 1\.5"),
        ("all", TypeError, "n_jobs must be a whole number; got 'all'"),
        (True, TypeError, "n_jobs must be a whole number; got True"),
    ],
)
def test_an_invalid_number_of_jobs_is_refused(n_jobs, error, words):
    with pytest.raises(error, match=words):
        n_threads(n_jobs)


@pytest.mark.parametrize("learner", WITH_JOBS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_every_learner_refuses_an_invalid_number_of_jobs_in_fit(learner, n_jobs):
    X = [[float(i)] for i in range(40)]
    with pytest.raises((TypeError, ValueError), match="n_jobs must be"):
        learner.set_params(n_jobs=n_jobs).fit(X, [i > 30 for i in range(40)])
    learner.set_params(n_jobs=None)


def test_boosters_pass_the_threads_to_xgboost():
    from toprank import BoostedRanker, CostBoost, NonLinearBoost, RankBoost

    for booster in (BoostedRanker, RankBoost, NonLinearBoost, CostBoost):
        for n_jobs, threads in ((None, 1), (3, 3), (-1, cpu_count())):
            assert booster(n_jobs=n_jobs)._settings()["nthread"] == threads
