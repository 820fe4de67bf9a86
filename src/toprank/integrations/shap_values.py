"""What features add to each row, as shap's Explanation, which its plots take."""

from typing import Any

from toprank.data import inputs
from toprank.integrations.optional_library import imported
from toprank.rankers.reasons import value_text


def shap_values(model: Any, X: Any) -> Any:
    """Return a ranker's contributions to every row of `X` as a `shap.Explanation`.

    `values` are what each feature adds to a row's suspicion, `base_values` the common start,
    `data` the rows as numbers and `display_data` as the table showed them.

    They are Shapley values where the ranker's contributions are: of boosted trees (the same as
    `shap.TreeExplainer(model.to_xgboost())`) and of linear and quadratic models. Forests and
    single trees divide a score along each row's path.

    >>> import numpy as np
    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
    >>> shap_values(ranker, X[:3]).shape
    (3, 2)
    """
    if not hasattr(model, "contributions"):
        raise TypeError(
            f"shap_values takes a fitted ranker that says what each feature adds; got "
            f"{type(model).__name__}; for others, shap.Explainer(model.suspicion, X) estimates it."
        )
    shap = imported("shap", "shap", "shap_values")
    features = inputs.read_features(model, X)
    shares = model.contributions(inputs.Encoded(features))
    columns = model.schema_.columns
    shown = features.astype(object)
    for number, column in enumerate(columns):
        if column.kind != "number":
            shown[:, number] = [value_text(value, column) for value in features[:, number]]
    return shap.Explanation(
        values=shares[:, :-1],
        base_values=shares[:, -1],
        data=features.astype(float),
        display_data=shown,
        feature_names=[column.name for column in columns],
    )
