"""Average precision of a list of cards, each as suspicious as its most suspicious payment.

Investigators check cards, not payments. The rows of a group are one card's payments of one day: an
entry of the list, positive if one of its rows is. With a temperature T, the entry's score is a
smooth maximum of its rows' scores,

    s_c = T log sum_{i in c} exp(f_i / T)        p_i = exp((f_i - s_c) / T), which add up to 1

The loss is an AP loss of the entries. Its gradient and curvature by s_c, g_c and h_c, are divided
among the entry's rows:

    gradient  p_i g_c        curvature  p_i h_c

By Jensen's inequality (sum p_i d_i)^2 <= sum p_i d_i^2, so these curvatures are no less than what
h_c implies for a step d, and a Newton leaf stays within the bounds of the AP loss itself. A card
of one row is that row: without groups, this is the AP loss of the rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.losses.ap_exp import ApExp
from toprank.losses.ap_lambda import ApLambda
from toprank.losses.ap_sigmoid import ApSigmoid
from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.gather import HERE, Gather
from toprank.losses.listwise import CheckedLoss, ListRows
from toprank.losses.rows_by_group import RowsByGroup

SURROGATES: dict[str, Any] = {"ap-exp": ApExp, "ap-sigmoid": ApSigmoid, "ap-lambda": ApLambda}

NOT_LISTED = -1
"""The group of a row that is on no list, such as one of a card known as fraud already."""


@dataclass(frozen=True)
class ApCard(CheckedLoss):
    """An AP loss of cards; `for_groups` says which rows are one card's day.

    A low `temperature` is nearer to the maximum, a high one also adds up the rows of a card. Ties
    are settled as by the `surrogate`, which is the AP loss of the cards: "ap-exp", "ap-sigmoid" or
    "ap-lambda". Tied rows of a card share its gradient equally. A list without positive cards, or
    with no others, has value 0 and gradient 0.

    A card weighs as much as its heaviest row; rows of weight 0 are not among its rows.

    >>> from toprank.losses.ap_card import ApCard
    >>> of_cards = ApCard(0.5, "ap-exp").for_groups([0, 0, 1])
    >>> gradient, _ = of_cards.gradient_curvature([True, False, False], [1.0, 1.0, 0.0])
    >>> gradient.round(4)  # the first card's two rows are equally suspicious
    array([-0.1032, -0.1032,  0.2064])
    """

    temperature: float = 2.0
    surrogate: str = "ap-lambda"

    is_listwise = True

    def __post_init__(self) -> None:
        checks.number_above(self.temperature, "temperature of ap-card", 0, 1e6)
        checks.one_of(self.surrogate, "surrogate of ap-card", tuple(SURROGATES))

    @property
    def descends_value(self) -> bool:  # type: ignore[override]
        """Whether the gradient is that of the value: as for the surrogate."""
        return self.of_cards.descends_value

    @property
    def of_cards(self) -> Any:
        """The AP loss of the cards."""
        return SURROGATES[self.surrogate]()

    def for_groups(self, groups: ArrayLike) -> "GroupedApCard":
        """Return the loss of rows whose cards are known: one number per row, -1 for no card."""
        return GroupedApCard(self, _group_numbers(groups))

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return 0: a constant added to every score changes nothing."""
        return 0.0

    def _value(self, rows: ListRows) -> float:
        return self.of_cards._value(rows)

    def _fill(self, rows: ListRows, gradient: Floats, curvature: Floats) -> None:
        self.of_cards._fill(rows, gradient, curvature)


@dataclass(frozen=True, eq=False)
class GroupedApCard(CheckedLoss):
    """An `ApCard` that knows the card and day of every row, by number."""

    loss: ApCard
    groups: NDArray[np.int64]

    is_listwise = True

    @property
    def descends_value(self) -> bool:  # type: ignore[override]
        """Whether the gradient is that of the value: as for the surrogate."""
        return self.loss.descends_value

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return 0: a constant added to every score changes nothing."""
        return 0.0

    def _value(self, rows: ListRows) -> float:
        return self.loss.of_cards._value(self._cards(rows)[0])

    def _fill(self, rows: ListRows, gradient: Floats, curvature: Floats) -> None:
        cards, share = self._cards(rows)
        of_cards = np.empty(cards.size), np.empty(cards.size)
        self.loss.of_cards._fill(cards, *of_cards)
        # rows that are on no list, or of weight 0, are not in the order
        gradient.fill(0.0)
        curvature.fill(0.0)
        listed = self._listed(rows.weights)
        gradient[listed.order] = share * np.repeat(of_cards[0], listed.lengths)
        curvature[listed.order] = share * np.repeat(of_cards[1], listed.lengths) + floor_of(
            curvature
        )

    @cached_property
    def _of_lists(self) -> RowsByGroup:
        return RowsByGroup.of(self.groups, np.flatnonzero(self.groups != NOT_LISTED))

    def _listed(self, weights: Vector | None) -> RowsByGroup:
        """Return the rows that count, by card."""
        if weights is None or weights.all():
            return self._of_lists
        return self._of_lists.those(self.groups, weights > 0)

    def _cards(self, rows: ListRows) -> tuple[ListRows, Vector]:
        """Return the cards as the rows of a list, and each row's share of its card, in order."""
        self._check(rows)
        listed = self._listed(rows.weights)
        if not listed.order.size:
            return ListRows(np.empty(0, bool), np.empty(0), None, rows.gather), np.empty(0)
        temperature = self.loss.temperature
        # above its card's highest score, which is as it is if the card has one row
        highest = listed.highest(rows.scores).astype(np.float64)
        above = rows.scores[listed.order] - np.repeat(highest, listed.lengths)
        share = np.exp(above / temperature)
        total = np.add.reduceat(share, listed.begins)
        share /= np.repeat(total, listed.lengths)
        scores = highest + temperature * np.log(total)
        weights = None if rows.weights is None else listed.highest(rows.weights)
        return ListRows(listed.highest(rows.labels), scores, weights, rows.gather), share

    def _check(self, rows: ListRows) -> None:
        if rows.size != self.groups.size:
            raise ValueError(
                f"groups must have {rows.size} values, one per row; got {self.groups.size}."
            )
        if rows.gather.n_machines > 1:
            raise ValueError(
                "ap-card must learn on one machine, where all rows of a card are; got "
                f"{rows.gather.n_machines}."
            )


def _group_numbers(groups: ArrayLike) -> NDArray[np.int64]:
    numbers = np.asarray(groups)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError(
            "groups must be a vector of whole numbers, one per row; got "
            f"{numbers.dtype} of shape {numbers.shape}."
        )
    if numbers.min(initial=0) < NOT_LISTED:
        raise ValueError(f"groups must be {NOT_LISTED} or more; got {numbers.min()}.")
    return numbers.astype(np.int64)
