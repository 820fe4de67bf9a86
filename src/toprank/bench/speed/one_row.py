"""One row at a time: scored, with the reasons of its score."""

from typing import Any

from toprank import BoostedRanker, reasons
from toprank.bench.speed.race import Measured, Race, Setting
from toprank.bench.speed.rows import SEED, rare_positives
from toprank.bench.speed.timing import milliseconds_each


def _scored_with_reasons(setting: Setting) -> Measured:
    shape = setting.shape
    features, is_positive, _ = rare_positives(shape["rows"], shape["columns"])
    ranker = BoostedRanker("ap-exp", n_estimators=shape["trees"], random_state=SEED, n_jobs=1)
    ranker.fit(features, is_positive)

    def score(row: Any) -> Any:
        return reasons.score_and_explain(ranker, row, shape["reasons"])

    rows = [features[i : i + 1] for i in range(shape["scored"])]
    score(rows[0])
    return milliseconds_each(score, rows, shape["rounds"])


RACES = (
    Race(
        name="reasons-of-one-row",
        what="BoostedRanker, one row scored with 5 reasons",
        against="",
        unit="ms (median), read once",
        measure=_scored_with_reasons,
        shape={
            "rows": 50_000, "columns": 30, "trees": 300, "reasons": 5, "scored": 2_000,
            "rounds": 5,
        },
        quick={"scored": 500},
        minutes=(0.3, 0.15),
        at_most=2.0,
        needs="xgboost",
    ),
)  # fmt: skip
