"""Which stage computes which features: each counts the rows of one key.

A feature of the terminal needs all payments of this terminal, one of the card all of this card;
one of both together is complete in either. Features of the payment itself are the card stage's.
"""

from typing import NamedTuple

from toprank.payments.features.kinds import Feature, columns_of
from toprank.payments.payment_model import PaymentModel

STAGES = ("terminal", "card")


class StageFeatures(NamedTuple):
    """The names of the features of each stage, in the order of the model."""

    terminal: list[str]
    card: list[str]


def stage_features(model: PaymentModel) -> StageFeatures:
    """Return the features of the stages of a model; ValueError if one belongs to neither."""
    assert model.state_ is not None
    found = StageFeatures([], [])
    for each in model.state_.history.features:
        getattr(found, _stage_of(each, str(model.card), model.terminal)).append(each.name)
    return found


def _stage_of(feature: Feature, card: str, terminal: str | None) -> str:
    key = getattr(feature, "key", None)
    if key is None or card in columns_of(key):
        return "card"
    if terminal is not None and terminal in columns_of(key):
        return "terminal"
    raise ValueError(
        f"feature {feature.name!r} must be of the card or of the terminal for workers; it counts "
        f"{' and '.join(columns_of(key))}, whose payments come to many of them."
    )
