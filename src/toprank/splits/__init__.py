"""Rows split into train, validation and test, by time or at random.

A ranker is judged on payments that came after those it learned from. Between what it learns from
and what it is judged on there is a gap: rows whose labels would not be known yet on the day the
test begins.

    time ->   [ train | validation | gap | test ]          chronological
    time ->   [ train | gap | test ]
                      [ train | gap | test ]               prequential
    time ->   [ train | gap | test ]
              [ train       | gap | test ]                 rolling_origins
"""

from toprank.data.tables.spans import DAY
from toprank.splits.by_chance import folds, held_out, stratified
from toprank.splits.by_time import checked_gap, chronological, latest
from toprank.splits.equal_rows import copied_share, copies, with_copies_together
from toprank.splits.moments import days
from toprank.splits.origins import rolling_origins
from toprank.splits.parts import Split, check_positives
from toprank.splits.splitter import PrequentialSplit
from toprank.splits.time_folds import Fold, prequential

__all__ = [
    "DAY",
    "Fold",
    "PrequentialSplit",
    "Split",
    "check_positives",
    "checked_gap",
    "chronological",
    "copied_share",
    "copies",
    "days",
    "folds",
    "held_out",
    "latest",
    "prequential",
    "rolling_origins",
    "stratified",
    "with_copies_together",
]
