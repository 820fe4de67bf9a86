"""Models side by side on the user's rows: every learner, or every remedy for imbalance."""

from toprank.comparison.differences import Difference
from toprank.comparison.learners import (
    MARK,
    Compared,
    Judged,
    check_learners,
    comparable_learners,
    compare_learners,
    differences_of,
    facts_of,
    picture_of,
    text_of,
)

__all__ = [
    "MARK",
    "Compared",
    "Difference",
    "Judged",
    "check_learners",
    "comparable_learners",
    "compare_learners",
    "differences_of",
    "facts_of",
    "picture_of",
    "text_of",
]
