"""A ranker's trees as a booster of XGBoost's own, for tools that know nothing of toprank."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from toprank.calibration import calibration_to_json
from toprank.data.tables import Schema
from toprank.rankers.boosted.xgboost_engine import load_booster

if TYPE_CHECKING:
    from xgboost import Booster

_REFUSED_IN_NAMES = re.compile(r"[\[\]<]")  # by XGBoost


def plain_booster(
    booster: Booster, schema: Schema, calibration: Any, *, zeros_are_missing: bool
) -> Booster:
    """Return a copy with names and kinds of its columns, and with attributes for the rest.

    >>> import numpy as np
    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> booster = BoostedRanker(n_estimators=5).fit(X, X[:, 0] > 1.5).to_xgboost()
    >>> booster.feature_names, booster.attr("toprank_zeros_are_missing")
    (['x0', 'x1'], 'false')
    """
    plain = load_booster(bytes(booster.save_raw("ubj")))
    plain.feature_names = _names(schema.names)
    plain.feature_types = schema.feature_types
    categories = {
        column.name: list(column.categories)
        for column in schema.columns
        if column.kind == "category"
    }
    facts = {
        "calibration": calibration_to_json(calibration),
        "categories": categories,
        "columns": schema.names,
        "zeros_are_missing": zeros_are_missing,
    }
    plain.set_attr(**{f"toprank_{name}": json.dumps(value) for name, value in facts.items()})
    return plain


def _names(names: list[str]) -> list[str]:
    """Return the names as XGBoost takes them; numbers where that makes two of them the same."""
    allowed = [_REFUSED_IN_NAMES.sub("_", name) for name in names]
    if len(set(allowed)) == len(names):
        return allowed
    return [f"x{number}" for number in range(len(names))]
