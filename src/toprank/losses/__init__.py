"""Ranking losses: value, gradient and curvature of raw scores, one loss per file."""

from dataclasses import fields
from typing import Any

from toprank.data import checks
from toprank.losses.ap_card import ApCard
from toprank.losses.ap_exp import ApExp
from toprank.losses.ap_lambda import ApLambda
from toprank.losses.ap_sigmoid import ApSigmoid
from toprank.losses.auc_exp import AucExp
from toprank.losses.auc_hinge import AucHinge
from toprank.losses.contract import Loss, ValueLoss
from toprank.losses.gather import Gather
from toprank.losses.listwise import CheckedLoss, ListwiseLoss
from toprank.losses.log import Log

LOSSES: dict[str, type[Any]] = {
    "log": Log,
    "ap-exp": ApExp,
    "ap-sigmoid": ApSigmoid,
    "ap-lambda": ApLambda,
    "auc-exp": AucExp,
    "auc-hinge": AucHinge,
}
"""The losses of rows, by name."""

LOSSES_OF_GROUPS: dict[str, type[Any]] = {"ap-card": ApCard}
"""The losses that must know which rows belong together, by name: see their `for_groups`."""

__all__ = [
    "LOSSES",
    "LOSSES_OF_GROUPS",
    "ApCard",
    "ApExp",
    "ApLambda",
    "ApSigmoid",
    "AucExp",
    "AucHinge",
    "CheckedLoss",
    "Gather",
    "ListwiseLoss",
    "Log",
    "Loss",
    "ValueLoss",
    "make_loss",
]


def make_loss(name: str, options: dict[str, Any] | None = None) -> Loss:
    """Return the loss of that name with its options.

    >>> make_loss("ap-exp", {"form": "paper"})
    ApExp(form='paper')
    """
    losses = LOSSES | LOSSES_OF_GROUPS
    kind = losses[checks.one_of(name, "loss", tuple(losses))]
    known = [field.name for field in fields(kind)]
    given = options or {}
    if not set(given) <= set(known):
        raise ValueError(
            f"loss_options of {name!r} may be: {', '.join(known) or 'none'}; "
            f"got {', '.join(map(str, given))}."
        )
    return kind(**given)
