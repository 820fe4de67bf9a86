"""The genuine payments of one day."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.simulator.world import World

DAY = 86_400  # seconds


class SimulatedPayments(NamedTuple):
    """One value per payment, in order of time.

    All random numbers of a payment are drawn with it, whether an option needs them or not, so
    that no option changes the numbers of other payments.
    """

    seconds: NDArray  # since the first midnight
    card: NDArray
    terminal: NDArray
    cents: NDArray
    pattern: NDArray  # of fraud; 0 is none
    inflated: NDArray  # this and those below: uniform between 0 and 1
    abroad: NDArray
    country: NDArray
    online: NDArray
    kept: NDArray
    zero: NDArray
    claimed: NDArray
    claim_delay: NDArray


class Streams(NamedTuple):
    """Sources of random numbers, each used up payment by payment.

    That is why a longer run begins like a shorter one, and why a day cannot be drawn without the
    days before it.
    """

    counts: np.random.Generator
    normals: np.random.Generator
    uniforms: np.random.Generator
    inflated: np.random.Generator
    details: np.random.Generator
    options: np.random.Generator


def draw_day(world: World, day: int, volume: float, streams: Streams) -> SimulatedPayments:
    """Return the payments of a day, none of them a fraud yet; the usual volume is 1."""
    n_payments = streams.counts.poisson(volume * world.payments_per_day)
    card = np.repeat(np.arange(world.n_cards), n_payments)
    time_of_day, deviation = streams.normals.standard_normal((card.size, 2)).T
    redrawn, place = streams.uniforms.random((card.size, 2)).T

    second = np.floor(DAY / 2 + 20_000 * time_of_day).astype(np.int64)
    # The deviation is half the mean, so -2 of them is where an amount turns negative.
    relative = np.where(deviation > -2, 1 + deviation / 2, 2 * redrawn)
    cents = np.rint(world.mean_cents[card] * relative).astype(np.int64)
    chosen = world.first_reachable[card] + (place * world.n_reachable[card]).astype(np.int64)

    inside = np.flatnonzero((second >= 0) & (second < DAY))
    in_order = inside[np.argsort(second[inside], kind="stable")]
    n_inside = in_order.size
    return SimulatedPayments(
        day * DAY + second[in_order],
        card[in_order],
        world.reachable[chosen[in_order]].astype(np.int64),
        np.maximum(cents, 1)[in_order],
        np.zeros(n_inside, dtype=np.int8),
        streams.inflated.random(n_inside),
        *streams.details.random((n_inside, 3)).T,
        *streams.options.random((n_inside, 4)).T,
    )


def one_after_another(parts: Iterable[SimulatedPayments]) -> SimulatedPayments:
    """Return the payments of all parts."""
    return SimulatedPayments._make(map(np.concatenate, zip(*parts, strict=True)))


def merged(*parts: SimulatedPayments) -> SimulatedPayments:
    """Return the payments of all parts in order of time; those of earlier parts first in ties."""
    together = one_after_another(parts)
    order = np.argsort(together.seconds, kind="stable")
    return SimulatedPayments._make(column[order] for column in together)
