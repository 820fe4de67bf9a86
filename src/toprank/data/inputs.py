"""What comes into an estimator: tables or arrays as float32 features, labels as positives."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from toprank.data.accepted_rows import accepted, sparse_rows
from toprank.data.tables import Column, Schema
from toprank.data.tables.columns import TableWarning, as_frame
from toprank.data.tables.key_codes import codes_of
from toprank.data.tables.positive_class import named_by_itself, positive_of_classes
from toprank.data.tables.row_numbers import as_slice


class LearnedColumns(NamedTuple):
    """The columns that an estimator learned, and whether it knows them by name."""

    schema: Schema
    are_named: bool


@dataclass(frozen=True)
class Encoded:
    """Rows that `read_features` has read; given again, they come back as they are.

    To be learned from, they come with their columns: codes of categories then mean the same to
    the learner as to the estimator that read the rows.
    """

    features: NDArray[np.float32]
    columns: LearnedColumns | None = None

    def __len__(self) -> int:
        return len(self.features)

    def take(self, chosen: ArrayLike) -> "Encoded":
        """Return some of the rows, by number or by a mask."""
        return Encoded(self.features[np.asarray(chosen)], self.columns)


class ReadLabels(NamedTuple):
    """Which rows are positive, and what the two classes are called."""

    is_positive: NDArray[np.bool_]
    classes: NDArray
    positive: Any


class TrainingRows(NamedTuple):
    """Encoded features and their labels, ready to learn from.

    Where several boosters grow on the same rows, `bins` keeps what the engine makes of them.
    Rows of the same number in `groups` are one entry of the list that a loss of groups ranks.
    """

    features: NDArray[np.float32]
    is_positive: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    bins: dict[Any, Any] | None = None
    groups: NDArray[np.int64] | None = None

    def take(self, chosen: NDArray) -> "TrainingRows":
        """Return some of the rows, by number or by a mask.

        Features of neighbouring rows are not copied: no learner writes to them. Trees do sort
        labels and weights in place, so that these are always copies.
        """
        weight = None if self.weight is None else self.weight[chosen]
        groups = None if self.groups is None else self.groups[chosen]
        features = self.features[as_slice(chosen)]
        return TrainingRows(features, self.is_positive[chosen], weight, groups=groups)

    def followed_by(self, more: "TrainingRows") -> "TrainingRows":
        """Return these rows and more below them; groups are not kept."""
        weight = None
        if self.weight is not None or more.weight is not None:
            weights = (
                np.ones(each.is_positive.size) if each.weight is None else each.weight
                for each in (self, more)
            )
            weight = np.concatenate(list(weights))
        return TrainingRows(
            _stacked(self.features, more.features),
            np.concatenate([self.is_positive, more.is_positive]),
            weight,
        )

    def in_units_of_rows(self) -> "TrainingRows":
        """Return the rows with weights that count rows: whole numbers are taken as they are.

        Others, in whatever unit they are, are scaled to 1 on average.
        """
        if self.weight is None or np.array_equal(self.weight, np.rint(self.weight)):
            return self
        return self._replace(weight=self.weight / self.weight.mean())

    def thinned(self, most: int) -> "TrainingRows":
        """Return at most so many rows of either class: every k-th, with the weight of k rows."""
        if self.is_positive.size <= most:
            return self
        classes = [np.flatnonzero(self.is_positive), np.flatnonzero(~self.is_positive)]
        steps = [max(-(-each.size // most), 1) for each in classes]
        chosen = np.concatenate([each[::k] for each, k in zip(classes, steps, strict=True)])
        thin = self.take(np.sort(chosen))
        if max(steps) == 1:
            return thin
        n_each = np.where(thin.is_positive, *map(float, steps))
        return thin._replace(weight=n_each if thin.weight is None else n_each * thin.weight)


def read_training(
    estimator: Any, X: Any, y: ArrayLike | None
) -> tuple[NDArray[np.float32], NDArray]:
    """Return encoded features and checked labels; `estimator` learns its columns from `X`.

    The features are CSR where `X` is sparse and the estimator takes it.
    """
    if isinstance(X, Encoded) and X.columns is not None:
        _set_columns(estimator, X.columns)
        return X.features, column_or_1d(y)
    X = accepted(X, estimator, sparse=_takes_sparse(estimator))
    if issparse(X):
        return _sparse_training(estimator, X, y)
    if as_frame(X) is not None:
        _learn_columns(estimator, Schema.of(X))
        if y is None:
            raise ValueError(
                f"{type(estimator).__name__} requires y to be passed, but it is None."
            )
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
    else:
        X, labels = validate_data(
            estimator, X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        estimator.schema_ = Schema.of(X)
    features = estimator.schema_.encode(X)
    check_consistent_length(features, labels)
    return features, labels


def read_groups(groups: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Return a number for each row, the same for rows of a group; a missing one shares with none.

    >>> read_groups(["a 1", "b 1", "a 1", None], n_rows=4).tolist()
    [0, 1, 0, 4]
    """
    if np.shape(groups) != (n_rows,):
        raise ValueError(f"groups must have {n_rows} values, one per row; got {np.shape(groups)}.")
    return codes_of(groups, "groups")


def read_unlabelled(estimator: Any, X: Any) -> NDArray[np.float32]:
    """Return encoded features; `estimator` learns its columns from `X`."""
    X = accepted(X, estimator)
    if as_frame(X) is not None:
        _learn_columns(estimator, Schema.of(X))
    else:
        X = validate_data(
            estimator, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        estimator.schema_ = Schema.of(X)
    return estimator.schema_.encode(X)


def columns_of(estimator: Any) -> LearnedColumns:
    """Return the columns that an estimator learned."""
    return LearnedColumns(estimator.schema_, hasattr(estimator, "feature_names_in_"))


def columns_to_json(estimator: Any) -> dict[str, Any]:
    """Return what a model file keeps of the columns that an estimator learned."""
    columns = columns_of(estimator)
    return {"schema": columns.schema.to_json(), "named_columns": columns.are_named}


def restore_columns(estimator: Any, state: dict[str, Any]) -> None:
    """Take back what `columns_to_json` gave; ValueError where it does not fit."""
    schema = Schema.from_json(state["schema"])
    if not isinstance(state["named_columns"], bool):
        raise ValueError("named_columns must be true or false.")
    _set_columns(estimator, LearnedColumns(schema, state["named_columns"]))


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError if an estimator has not learned its columns.

    `check_is_fitted` inspects every attribute, which for a single row takes longer than its score.
    """
    if not hasattr(estimator, "schema_"):
        check_is_fitted(estimator)


def read_features(estimator: Any, X: Any) -> NDArray[np.float32]:
    """Return the features of `X` encoded as in training.

    Columns of a table are found by name, in any order; an array, or a table given to an
    estimator that was fitted on an array, is taken column by column.
    """
    if isinstance(X, Encoded):
        return X.features
    X = accepted(X, estimator, sparse=_takes_sparse(estimator))
    if issparse(X):
        X = read_sparse(estimator, X).toarray()
    if as_frame(X) is not None and hasattr(estimator, "feature_names_in_"):
        return estimator.schema_.encode(X)
    X = validate_data(
        estimator, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
    return estimator.schema_.encode(X)


def _takes_sparse(estimator: Any) -> bool:
    """Return whether an estimator learns from sparse rows as they are."""
    return bool(getattr(estimator, "_takes_sparse", False))


def read_sparse(estimator: Any, X: Any) -> Any:
    """Return sparse rows, with the columns of training, as CSR in float32."""
    X = validate_data(
        estimator, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )  # fmt: skip
    return sparse_rows(X)


def _sparse_training(estimator: Any, X: Any, y: ArrayLike | None) -> tuple[Any, NDArray]:
    """Return sparse rows and their labels; `estimator` learns that its columns are numbers."""
    X, labels = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )  # fmt: skip
    columns = (Column(f"x{j}", "number") for j in range(X.shape[1]))
    estimator.schema_ = Schema(tuple(columns))
    return sparse_rows(X), labels


def _stacked(above: NDArray[np.float32], below: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return both, one below the other; without a copy where they are so in one matrix already."""
    matrix = above.base
    are_whole_rows = all(
        isinstance(part, np.ndarray)
        and part.flags.c_contiguous
        and part.shape[1:] == above.shape[1:]
        and part.dtype == above.dtype
        for part in (matrix, above, below)
    )
    # memory: matrix = [... | above | below | ...]
    if matrix is None or not are_whole_rows or below.base is not matrix:
        return np.concatenate([above, below])
    if above.ctypes.data + above.nbytes != below.ctypes.data:
        return np.concatenate([above, below])
    first = (above.ctypes.data - matrix.ctypes.data) // matrix.strides[0]
    return matrix[first : first + len(above) + len(below)]


def _set_columns(estimator: Any, columns: LearnedColumns) -> None:
    if columns.are_named:
        _learn_columns(estimator, columns.schema)
    else:
        estimator.schema_ = columns.schema
        estimator.n_features_in_ = len(columns.schema.names)


def _learn_columns(estimator: Any, schema: Schema) -> None:
    """Let an estimator know its columns by name."""
    estimator.schema_ = schema
    estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    estimator.n_features_in_ = len(schema.names)


def one_eval_set(eval_set: Any, *, weights: bool = True) -> tuple[Any, ...]:
    """Return the features, the labels and any weights of an `eval_set`.

    It is `(X, y)` or `(X, y, weights)`, or a list of one of these, as in XGBoost and LightGBM.

    >>> one_eval_set([("X", "y")])
    ('X', 'y')
    """
    if _are_sets(eval_set):
        if len(eval_set) != 1:
            raise ValueError(
                f"eval_set must be one set of rows; got {len(eval_set)} sets: join their rows, or "
                "pass the one to judge by."
            )
        (eval_set,) = eval_set
    sizes = (2, 3) if weights else (2,)
    if not isinstance(eval_set, tuple | list) or len(eval_set) not in sizes:
        forms = "(X, y) or (X, y, weights)" if weights else "(X, y)"
        got = f"{len(eval_set)} parts" if isinstance(eval_set, tuple | list) else repr(eval_set)
        raise ValueError(f"eval_set must be {forms}, or a list of one of these; got {got}.")
    return tuple(eval_set)


def read_labels(y: NDArray, positive_label: Any = None) -> ReadLabels:
    """Return the two classes and which rows are positive, by the rule of `tables.positive_class`.

    Without a name, it does not depend on how many rows each class has: folds of the same rows
    have the same positive class.
    """
    kind = type_of_target(y, input_name="y")
    if kind != "binary":
        check_classification_targets(y)  # names what is no class at all
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )
    classes, members = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y must hold two classes; got one class, {classes[0]!r}, in every row.")
    if positive_label is None:
        both = classes.tolist()
        positive = classes[both.index(positive_of_classes(both))]
        if named_by_itself(both) is None:
            _warn_of_frequent(classes, np.bincount(members, minlength=2))
    else:
        named = classes == positive_label
        if not np.any(named):
            raise ValueError(
                f"positive_label must be one of {classes.tolist()}; got {positive_label!r}."
            )
        positive = classes[named][0]
    return ReadLabels(y == positive, classes, positive)


def _are_sets(eval_set: Any) -> bool:
    """Return whether each part is a set by itself: a tuple, which neither X nor y ever is."""
    return (
        isinstance(eval_set, tuple | list)
        and len(eval_set) > 0
        and all(isinstance(each, tuple) for each in eval_set)
    )


def _warn_of_frequent(classes: NDArray, counts: NDArray[np.int64]) -> None:
    if counts[1] > counts[0]:
        rare, later = classes.tolist()
        warnings.warn(
            f"y must say which class is positive; {later!r} is taken, the later in sorted order, "
            f"though {rare!r} is less frequent ({counts[0]:,} of {counts.sum():,} rows); pass "
            f"positive_label={rare!r} or positive_label={later!r}.",
            TableWarning,
            stacklevel=5,
        )
