"""The scores of single payments, or of a few, without making a table of them.

A program that keeps the history itself, such as a server, takes these steps apart:

    scores = model.row_scores()
    row = scores.row(payment)                     as the history takes it
    made = history.one(row)                       its features, in the order of history.names
    scored = scores.scored(rows, features)        of many rows at once, features as a matrix
    scores.reasons(scored.encoded.take([3, 8]))   of the rows that somebody will look at
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.inputs import Encoded
from toprank.payments.far_times import check_one
from toprank.payments.features import cells
from toprank.payments.roles import row_of
from toprank.rankers.list_reasons import RowReasons, ScoredRow, reasons_for_list
from toprank.rankers.reasons import scores_of

FeaturesOfOne = Callable[[Mapping[str, Any]], Mapping[str, float]]


class ScoredRows(NamedTuple):
    """The suspicion and probability of rows, and the rows as the ranker sees them.

    The probability is None where a detector, which learns without labels, gave the suspicion.
    """

    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64] | None
    encoded: Encoded


class RowScores:
    """Scores rows by a fitted payment model.

    Making one takes longer than a score. All of its results are bit for bit those of a table with
    these rows, however many rows are scored together.
    """

    def __init__(self, model: Any) -> None:
        self._parts, self._card = _parts_of(model), model.card
        self._history = None if model.state_ is None else model.state_.history
        self._names = [] if self._history is None else self._history.names
        self._encoder = model.ranker_.schema_.row_encoder(self._names)
        self._describer = model.describer()

    def are_of(self, model: Any) -> bool:
        """Return whether the model is still as it was when this was made."""
        return self._parts == _parts_of(model)

    def row(self, payment: Mapping[str, Any]) -> dict[str, Any]:
        """Return a payment as the history takes it.

        Raises if it cannot be scored: it must not be remembered either.
        """
        row = self._stored(payment)
        self._encoder.read(row)
        return row

    def scored(self, rows: Sequence[Mapping[str, Any]], features: ArrayLike) -> ScoredRows:
        """Return the scores of rows as the history takes them.

        `features` has a row for each of them and a column for each of the history's names, NaN
        where missing; without a history, no columns.
        """
        made = np.asarray(features, dtype=np.float64)
        if made.shape != (len(rows), len(self._names)):
            raise ValueError(
                f"features must have {len(rows)} rows and {len(self._names)} columns, one per "
                f"name of the history; got shape {made.shape}."
            )
        numbers = np.empty((len(rows), self._encoder.n_read + len(self._names)))
        numbers[:, self._encoder.n_read :] = made
        for row, own in zip(rows, numbers, strict=True):
            own[: self._encoder.n_read] = self._encoder.read(row)
        return self._scored(numbers)

    def reasons(self, encoded: Encoded, n_reasons: int = 5) -> list[RowReasons]:
        """Return why each row should be checked, as on a list, without its card's past."""
        return reasons_for_list(self._parts.ranker, encoded, n_reasons, self._describer)

    def one(
        self,
        payment: Mapping[str, Any],
        n_reasons: int,
        features_of: FeaturesOfOne | None,
        *,
        is_kept: bool,
    ) -> ScoredRow:
        """Return the score of a payment, whose features are those that `features_of` returns.

        Where it is kept by that, its time is checked first.
        """
        checks.whole_number(n_reasons, "n_reasons", 0)
        row = self._stored(payment)
        numbers = self._encoder.read(row)  # before anything is remembered
        if self._history is not None and features_of is not None:
            if is_kept:
                _check_time(row, self._history)
            features = features_of(row)
            numbers += [features[name] for name in self._names]
        scored = self._scored(np.array([numbers], dtype=np.float64))
        chance = None if scored.probability is None else float(scored.probability[0])
        found = self.reasons(scored.encoded, n_reasons)[0]
        return ScoredRow(float(scored.suspicion[0]), chance, *found[:2])

    def values(
        self, payment: Mapping[str, Any], features_of: FeaturesOfOne | None
    ) -> dict[str, Any]:
        """Return what a learner of streams takes of a payment, which is remembered.

        These are the columns that the ranker takes and the features, by name.
        """
        row = self.row(payment)
        own = {name: row.get(name) for name in self._parts.schema.names}
        if self._history is None or features_of is None:
            return own
        _check_time(row, self._history)
        return {**own, **features_of(row)}

    def _stored(self, payment: Mapping[str, Any]) -> dict[str, Any]:
        if self._history is None:
            return dict(payment)
        parts = self._parts
        return parts.cards.in_row(row_of(self._history, payment, parts.classes), self._card)

    def _scored(self, numbers: NDArray[np.float64]) -> ScoredRows:
        encoded = self._encoder.encoded(numbers)
        return ScoredRows(*scores_of(self._parts.ranker, encoded), Encoded(encoded))


class _Parts(NamedTuple):
    """What of a model the scores of rows depend on."""

    ranker: Any
    schema: Any
    history: Any
    roles: tuple[str | None, ...]
    label: str
    names: dict[str, str]
    classes: Any
    cards: Any


def _parts_of(model: Any) -> _Parts:
    return _Parts(
        model.ranker_,
        model.ranker_.schema_,  # a ranker that is refitted gets another one
        None if model.state_ is None else model.state_.history,
        (model.time, model.card, model.terminal, model.amount, model.row_id),
        model.label_column,
        dict(model.names or {}),
        model.classes_,
        model.stored_cards_,
    )


def _check_time(row: Mapping[str, Any], history: Any) -> None:
    moment = np.datetime64(cells.instant(row.get(history.time), history.time), "us")
    check_one(moment, history.time, history.until)
