"""What does not change over time: cards, terminals, and which terminals a card can reach."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

MERCHANT_TYPES = ("bank", "clothing", "electronics", "fuel", "groceries", "restaurant", "travel")
_CARDS_AT_ONCE = 10_000  # lists of reachable terminals are large before they are arrays


class World(NamedTuple):
    """One value per card or terminal."""

    card_place: NDArray  # (n_cards, 2)
    terminal_place: NDArray  # (n_terminals, 2)
    mean_cents: NDArray
    payments_per_day: NDArray
    merchant_type: NDArray  # code in MERCHANT_TYPES, one per terminal
    reachable: NDArray  # terminals of card 0, then of card 1, ...
    n_reachable: NDArray
    first_reachable: NDArray  # where the terminals of a card begin

    @property
    def n_cards(self) -> int:
        """The number of cards."""
        return len(self.card_place)

    @property
    def n_terminals(self) -> int:
        """The number of terminals."""
        return len(self.terminal_place)


def draw_world(n_cards: int, n_terminals: int, generator: np.random.Generator) -> World:
    """Return cards and terminals at random places of a square of 100 by 100."""
    card_place = generator.uniform(0, 100, (n_cards, 2))
    terminal_place = generator.uniform(0, 100, (n_terminals, 2))
    reachable, n_reachable = _reachable(card_place, terminal_place)
    return World(
        card_place=card_place,
        terminal_place=terminal_place,
        mean_cents=generator.uniform(5_00, 100_00, n_cards),
        payments_per_day=generator.uniform(0, 4, n_cards),
        merchant_type=generator.integers(len(MERCHANT_TYPES), size=n_terminals),
        reachable=reachable,
        n_reachable=n_reachable,
        first_reachable=np.cumsum(n_reachable) - n_reachable,
    )


def _reachable(card_place: NDArray, terminal_place: NDArray) -> tuple[NDArray, NDArray]:
    """Return the terminals around each card, at least the nearest one, and their numbers."""
    # The radius keeps the number of terminals around a card as it is at full size.
    radius = 5 * np.sqrt(10_000 / len(terminal_place))
    tree = KDTree(terminal_place)
    terminals, counts = [], []
    for begin in range(0, len(card_place), _CARDS_AT_ONCE):
        places = card_place[begin : begin + _CARDS_AT_ONCE]
        _, nearest = tree.query(places)
        around = tree.query_ball_point(places, radius, return_sorted=True)
        near = [found or [closest] for found, closest in zip(around, nearest, strict=True)]
        terminals.append(np.concatenate(near).astype(np.int32))
        counts.append([len(found) for found in near])
    return np.concatenate(terminals), np.concatenate(counts)
