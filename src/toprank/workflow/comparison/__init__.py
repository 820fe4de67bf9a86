"""Models side by side on the user's rows: every learner, or every remedy for imbalance."""

from toprank.workflow.comparison.differences import PairedDifference
from toprank.workflow.comparison.learner_comparison import (
    BASELINE,
    Compared,
    JudgedLearner,
    check_learners,
    comparable_learners,
    compare_learners,
    differences_of,
)

__all__ = [
    "BASELINE",
    "Compared",
    "JudgedLearner",
    "PairedDifference",
    "check_learners",
    "comparable_learners",
    "compare_learners",
    "differences_of",
]
