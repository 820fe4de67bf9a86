"""Learners that learn from one event at a time, and tools to run them on a stream."""

from toprank.rankers.online.ada_boost import AdaBoostOL, AdaBoostOLW
from toprank.rankers.online.boost_by_majority import OnlineBBM
from toprank.rankers.online.drift import DriftWatch
from toprank.rankers.online.event_stream import EventStream
from toprank.rankers.online.gradient_boost import OnlineGradientBoost, StreamBoost
from toprank.rankers.online.linear import OnlineLinearBoost
from toprank.rankers.online.online_non_linear import OnlineNonLinearBoost
from toprank.rankers.online.side_by_side import SideBySide, grid
from toprank.rankers.online.validation import Validation, progressive_validation
from toprank.rankers.online.windows import Window

__all__ = [
    "AdaBoostOL",
    "AdaBoostOLW",
    "DriftWatch",
    "EventStream",
    "OnlineBBM",
    "OnlineGradientBoost",
    "OnlineLinearBoost",
    "OnlineNonLinearBoost",
    "SideBySide",
    "StreamBoost",
    "Validation",
    "Window",
    "grid",
    "progressive_validation",
]
