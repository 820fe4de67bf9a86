"""Choosing parameters on training rows alone, by the mean AP over folds of them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.metrics import average_precision
from toprank_bench.experiment import Method, Parameters
from toprank_bench.learners.rankers import LEARNERS, make_learner, staged_suspicion

Folds = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

_TREES = "n_estimators"


def tuned(
    method: Method, features: pa.Table, is_positive: NDArray[np.bool_], folds: Folds, seed: int
) -> Parameters:
    """Return the candidate with the best mean AP on the held-out folds; on a tie, the first.

    All rows are training rows: `folds` say which of them learn and which are held out.
    """
    candidates = method.candidates
    if len(candidates) == 1:
        return candidates[0]
    found: dict[int, list[float]] = defaultdict(list)
    for kept, held_out in folds:
        learning, is_learning = features.take(kept), is_positive[kept]
        asked = features.take(held_out)
        for group in _groups(method, candidates):
            members = [candidates[number] for number in group]
            for number, suspicion in zip(
                group,
                _suspicions(method.learner, members, learning, is_learning, asked, seed),
                strict=True,
            ):
                found[number].append(average_precision(is_positive[held_out], suspicion))
    best = max(range(len(candidates)), key=lambda number: fmean(found[number]))
    return candidates[best]


def _groups(method: Method, candidates: list[Parameters]) -> list[list[int]]:
    """Return the numbers of the candidates that one fit serves: alike but for their trees."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, candidate in enumerate(candidates):
        is_staged = LEARNERS[method.learner].is_staged(candidate) and _TREES in method.grid
        alike = {name: value for name, value in candidate.items() if name != _TREES}
        groups[repr(alike) if is_staged else f"candidate {number}"].append(number)
    return list(groups.values())


def _suspicions(
    learner: str,
    members: list[Parameters],
    learning: pa.Table,
    is_positive: NDArray[np.bool_],
    asked: pa.Table,
    seed: int,
) -> Iterator[NDArray[np.float64]]:
    most = members if len(members) == 1 else [max(members, key=_n_trees)]
    ranker: Any = make_learner(learner, seed, most[0])
    ranker.fit(learning, is_positive)
    if len(members) == 1:
        yield ranker.suspicion(asked)
    else:
        yield from staged_suspicion(ranker, asked, map(_n_trees, members))


def _n_trees(parameters: Parameters) -> int:
    return parameters[_TREES]
