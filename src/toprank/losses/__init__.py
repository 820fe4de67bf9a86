"""Ranking losses: value, gradient and curvature of raw scores, one loss per file."""

from typing import Any

from toprank import checks
from toprank.losses.ap_exp import ApExp
from toprank.losses.contract import Loss
from toprank.losses.gather import Gather
from toprank.losses.log import Log

LOSSES: dict[str, type[Log] | type[ApExp]] = {"log": Log, "ap-exp": ApExp}

__all__ = ["LOSSES", "ApExp", "Gather", "Log", "Loss", "make_loss"]


def make_loss(name: str, options: dict[str, Any] | None = None) -> Loss:
    """Return the loss of that name with its options.

    >>> make_loss("ap-exp", {"form": "paper"})
    ApExp(form='paper')
    """
    kind = LOSSES[checks.one_of(name, "loss", tuple(LOSSES))]
    try:
        return kind(**(options or {}))
    except TypeError:
        known = ", ".join(kind.__dataclass_fields__) or "none"
        raise ValueError(
            f"loss_options of {name!r} may be: {known}; got {', '.join(map(str, options or {}))}."
        ) from None
