"""The learners a model file may contain, and what is saved of each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from toprank import registry
from toprank.files.faults import shown


class Saved(NamedTuple):
    """What is saved of a fitted learner, in addition to its parameters."""

    state: dict[str, Any]
    """JSON: numbers, strings, booleans, None, lists and dicts of them."""
    arrays: Mapping[str, np.ndarray]
    boosters: Mapping[str, bytes]
    """XGBoost models in UBJSON: `booster.save_raw("ubj")`."""
    parameters: dict[str, Any] | None = None
    """The parameters, if those of `get_params` are not JSON; else None."""
    is_private: bool = False
    """Whether rows of the data are in it: then only its owner can read a new file."""


def learner_names() -> list[str]:
    """Return the names of everything that a model file may contain.

    >>> "BoostedRanker" in learner_names()
    True
    """
    return list(registry.saved_homes())


def learner_class(name: str) -> Any:
    """Return the class of the learner called `name`.

    >>> learner_class("BoostedRanker").__module__
    'toprank.rankers.boosted.boosted_ranker'
    """
    homes = registry.saved_homes()
    if name not in homes:
        known = ", ".join(homes)
        raise ValueError(f"its learner {shown(name)} is unknown; this toprank knows {known}.")
    return registry.named(homes[name])
