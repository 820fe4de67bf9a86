"""Learners fed one event at a time, and what they need around them in a stream."""

from toprank.online.ada_boost import AdaBoostOL, AdaBoostOLW
from toprank.online.boost_by_majority import OnlineBBM
from toprank.online.drift import DriftWatch
from toprank.online.event_stream import EventStream
from toprank.online.gradient_boost import OnlineGradientBoost, StreamBoost
from toprank.online.linear import OnlineLinearBoost
from toprank.online.non_linear import OnlineNonLinearBoost
from toprank.online.side_by_side import SideBySide, grid
from toprank.online.validation import Validation, progressive_validation
from toprank.online.windows import Window

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
