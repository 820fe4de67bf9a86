"""The loop of checking and learning, replayed on payments whose truth is known.

Checks give verdicts the same day, cardholders claim late, and after a long silence a payment
counts as genuine. `replay` runs learning strategies side by side, each with the labels that it
would have received.
"""

from toprank.simulator.feedback.feedback_summary import Lead, facts_of, leads, text_of
from toprank.simulator.feedback.replay import Replay, StrategyDays, replay
from toprank.simulator.feedback.strategies import STRATEGIES, checked_strategies

__all__ = [
    "STRATEGIES",
    "Lead",
    "Replay",
    "StrategyDays",
    "checked_strategies",
    "facts_of",
    "leads",
    "replay",
    "text_of",
]
