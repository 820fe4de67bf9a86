"""The loop of checking and learning, replayed on payments whose truth is known.

Checks bring verdicts the same day, holders claim late, and silence comes to count as genuine.
`replay` lets ways of learning from this run side by side, each with the labels it would have had.
"""

from toprank.simulator.feedback.feedback_summary import Lead, facts_of, leads, text_of
from toprank.simulator.feedback.replay import Replay, WayDays, replay
from toprank.simulator.feedback.ways import WAYS, checked_ways

__all__ = [
    "WAYS",
    "Lead",
    "Replay",
    "WayDays",
    "checked_ways",
    "facts_of",
    "leads",
    "replay",
    "text_of",
]
