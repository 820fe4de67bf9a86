"""Made-up card payments with a few frauds among them, to learn on and to try things out.

Cards and terminals lie on a square; a card pays at the terminals near its home. Three patterns of
fraud run through the payments: amounts above a limit, terminals compromised for four weeks, and
cards compromised for two weeks. The frauds of a compromised terminal have ordinary amounts, so
only weak traces give them away. The figures are those published for the simulator of the Fraud
Detection Handbook (5,000 cards, 10,000 terminals), scaled to the size asked for; countries,
channels and merchant types are ours.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.spatial import KDTree

from toprank import checks

COUNTRIES = ("FR", "BE", "DE", "ES", "GB", "IT", "US")  # the first is home
CHANNELS = ("cash machine", "online", "shop")
MERCHANT_TYPES = ("bank", "clothing", "electronics", "fuel", "groceries", "restaurant", "travel")

DAY = 86_400  # seconds
AMOUNT_LIMIT = 220_00  # cents
TERMINAL_DAYS, TERMINALS_A_DAY = 28, 2 / 10_000  # the second is a share of all terminals
CARD_DAYS, CARDS_A_DAY = 14, 3 / 5_000
ABROAD_IF_HONEST, ABROAD_IF_FRAUD = 0.02, 0.35
ONLINE_IF_HONEST, ONLINE_IF_FRAUD = 0.35, 0.60


def simulate(
    n_cards: int = 800,
    n_terminals: int = 1_600,
    n_days: int = 100,
    start: str = "2025-01-01",
    random_state: int = 0,
    keep_pattern: bool = False,
) -> pa.Table:
    """Return a table of payments in order of time, with features of what came before each.

    Features look only at payments of an earlier second, and a run of more days begins with the
    payments of a shorter one. Missing are `amount_to_usual` and `hours_since_last` at a card's
    first payment, and `terminal_foreign_share_last_week` at a terminal without payments in that
    week. Times are UTC and `night` is from 22 to 6 h. For study, `keep_pattern` adds the pattern
    behind each fraud: 1 amount, 2 terminal, 3 card, 0 for none. A small world may hold no fraud.

    >>> payments = simulate(n_cards=50, n_terminals=100, n_days=10)
    >>> payments.column_names[:4]
    ['paid_at', 'card', 'terminal', 'amount']
    """
    n_cards = checks.whole_number(n_cards, "n_cards", 1)
    n_terminals = checks.whole_number(n_terminals, "n_terminals", 1)
    n_days = checks.whole_number(n_days, "n_days", 1)
    random_state = checks.whole_number(random_state, "random_state", 0)
    first_day = _first_day(start)
    # Each stream is used up day by day, so a longer run begins like a shorter one.
    streams = np.random.default_rng(random_state).spawn(8)
    world = _draw_world(n_cards, n_terminals, streams[0])
    honest = _draw_payments(world, n_days, *streams[1:4])
    payments = _with_frauds(honest, world, n_days, *streams[4:7])
    table = _table(world, payments, _draw_traces(world, payments, streams[7]), first_day)
    return table.append_column("pattern", [payments.pattern]) if keep_pattern else table


class _World(NamedTuple):
    """What stays as it is: cards, terminals, and which terminals a card can reach."""

    card_place: NDArray  # (n_cards, 2)
    terminal_place: NDArray  # (n_terminals, 2)
    mean_cents: NDArray
    payments_a_day: NDArray
    merchant_type: NDArray  # code in MERCHANT_TYPES, one per terminal
    reachable: NDArray  # terminals of card 0, then of card 1, ...
    n_reachable: NDArray


class _Payments(NamedTuple):
    """One value per payment, in order of time."""

    seconds: NDArray  # since the first midnight
    card: NDArray
    terminal: NDArray
    cents: NDArray
    pattern: NDArray  # of fraud; 0 is none


class _Traces(NamedTuple):
    """What a payment shows beside its amount: codes in COUNTRIES and CHANNELS."""

    country: NDArray
    channel: NDArray


def _first_day(start: str) -> np.datetime64:
    try:
        return np.datetime64(date.fromisoformat(start), "D")
    except (TypeError, ValueError):
        raise ValueError(f"start must be a date such as '2025-01-01'; got {start!r}.") from None


def _draw_world(n_cards: int, n_terminals: int, generator: np.random.Generator) -> _World:
    card_place = generator.uniform(0, 100, (n_cards, 2))
    terminal_place = generator.uniform(0, 100, (n_terminals, 2))
    reachable = _reachable(card_place, terminal_place)
    return _World(
        card_place=card_place,
        terminal_place=terminal_place,
        mean_cents=generator.uniform(5_00, 100_00, n_cards),
        payments_a_day=generator.uniform(0, 4, n_cards),
        merchant_type=generator.integers(len(MERCHANT_TYPES), size=n_terminals),
        reachable=np.concatenate(reachable),
        n_reachable=np.array([len(terminals) for terminals in reachable]),
    )


def _reachable(card_place: NDArray, terminal_place: NDArray) -> list[list[int]]:
    """Return the terminals around each card, at least its nearest one."""
    # The radius keeps the number of terminals around a card as it is at full size.
    radius = 5 * np.sqrt(10_000 / len(terminal_place))
    tree = KDTree(terminal_place)
    _, nearest = tree.query(card_place)
    around = tree.query_ball_point(card_place, radius, return_sorted=True)
    return [near or [closest] for near, closest in zip(around, nearest, strict=True)]


def _draw_payments(
    world: _World,
    n_days: int,
    counts: np.random.Generator,
    normals: np.random.Generator,
    uniforms: np.random.Generator,
) -> _Payments:
    """Return the payments of honest cards, none of them a fraud yet."""
    n_payments = counts.poisson(world.payments_a_day, (n_days, world.payments_a_day.size))
    day, card = (np.repeat(axis, n_payments.ravel()) for axis in _grid(n_payments.shape))
    time_of_day, deviation = normals.standard_normal((day.size, 2)).T
    redrawn, place = uniforms.random((day.size, 2)).T

    second = np.floor(DAY / 2 + 20_000 * time_of_day).astype(np.int64)
    # The deviation is half the mean, so -2 of them is where an amount turns negative.
    relative = np.where(deviation > -2, 1 + deviation / 2, 2 * redrawn)
    cents = np.rint(world.mean_cents[card] * relative).astype(np.int64)
    first_reachable = np.cumsum(world.n_reachable) - world.n_reachable
    chosen = first_reachable[card] + (place * world.n_reachable[card]).astype(np.int64)

    inside = np.flatnonzero((second >= 0) & (second < DAY))
    seconds = day * DAY + second
    in_order = inside[np.argsort(seconds[inside], kind="stable")]
    return _Payments(
        seconds=seconds[in_order],
        card=card[in_order],
        terminal=world.reachable[chosen][in_order],
        cents=np.maximum(cents, 1)[in_order],
        pattern=np.zeros(in_order.size, dtype=np.int8),
    )


def _grid(shape: tuple[int, ...]) -> NDArray:
    """Return the row number and the column number of each cell, one line each."""
    return np.indices(shape).reshape(2, -1)


def _with_frauds(
    payments: _Payments,
    world: _World,
    n_days: int,
    terminals: np.random.Generator,
    cards: np.random.Generator,
    uniforms: np.random.Generator,
) -> _Payments:
    """Return the payments after the three patterns of fraud; a later pattern covers an earlier."""
    n_cards, n_terminals = len(world.card_place), len(world.terminal_place)
    terminal_taken = _taken(n_days, n_terminals, TERMINALS_A_DAY, TERMINAL_DAYS, terminals)
    card_taken = _taken(n_days, n_cards, CARDS_A_DAY, CARD_DAYS, cards)
    day = payments.seconds // DAY
    inflated = card_taken[day, payments.card] & (uniforms.random(day.size) < 1 / 3)

    pattern = payments.pattern.copy()
    pattern[payments.cents > AMOUNT_LIMIT] = 1
    pattern[terminal_taken[day, payments.terminal]] = 2
    pattern[inflated] = 3
    cents = np.where(inflated, 5 * payments.cents, payments.cents)
    return payments._replace(cents=cents, pattern=pattern)


def _taken(
    n_days: int, n_members: int, share_a_day: float, lasting: int, generator: np.random.Generator
) -> NDArray:
    """Return for each day and member whether fraudsters hold it that day."""
    # A small world has less than one new case a day: one begins when the shares add up to it.
    begun = np.floor(np.arange(n_days + 1) * share_a_day * n_members + 1e-9).astype(np.int64)
    days = np.repeat(np.arange(n_days), np.diff(begun))
    members = generator.integers(n_members, size=days.size)
    taken = np.zeros((n_days, n_members), dtype=bool)
    for day, member in zip(days, members, strict=True):
        taken[day : day + lasting, member] = True
    return taken


def _draw_traces(world: _World, payments: _Payments, generator: np.random.Generator) -> _Traces:
    """Return the country and channel of each payment; frauds come from abroad and online more."""
    abroad, country, online = generator.random((payments.card.size, 3)).T
    is_fraud = payments.pattern > 0
    is_abroad = abroad < np.where(is_fraud, ABROAD_IF_FRAUD, ABROAD_IF_HONEST)
    is_online = online < np.where(is_fraud, ONLINE_IF_FRAUD, ONLINE_IF_HONEST)
    at_bank = world.merchant_type[payments.terminal] == MERCHANT_TYPES.index("bank")
    return _Traces(
        country=np.where(is_abroad, 1 + (country * (len(COUNTRIES) - 1)).astype(np.int64), 0),
        channel=np.where(at_bank, 0, np.where(is_online, 1, 2)),
    )


def _table(
    world: _World, payments: _Payments, traces: _Traces, first_day: np.datetime64
) -> pa.Table:
    seconds, card, terminal = payments.seconds, payments.card, payments.terminal
    moment = first_day.astype("datetime64[us]") + seconds.astype("timedelta64[s]")
    hour = seconds % DAY // 3600
    return pa.table(
        {
            "paid_at": pa.array(moment),
            "card": _names("card", card, len(world.card_place)),
            "terminal": _names("terminal", terminal, len(world.terminal_place)),
            "amount": pa.array(payments.cents / 100),
            "country": _categories(traces.country, COUNTRIES),
            "channel": _categories(traces.channel, CHANNELS),
            "merchant_type": _categories(world.merchant_type[terminal], MERCHANT_TYPES),
            "night": pa.array((hour < 6) | (hour >= 22)),
            "distance_from_home": pa.array(
                np.hypot(*(world.card_place[card] - world.terminal_place[terminal]).T).round(2)
            ),
            **_card_history(payments),
            **_terminal_history(payments, traces.country > 0),
            "is_fraud": pa.array(payments.pattern > 0),
        }
    )


def _names(kind: str, codes: NDArray, n_names: int) -> pa.Array:
    width = len(str(n_names))
    names = [f"{kind}-{number:0{width}d}" for number in range(1, n_names + 1)]
    return _categories(codes, names).dictionary_decode()


def _categories(codes: NDArray, names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))


def _card_history(payments: _Payments) -> dict[str, pa.Array]:
    """Return what a card's earlier payments say about each payment."""
    earlier = _earlier(payments.card, payments.seconds)
    last_day = _earlier(payments.card, payments.seconds, within=DAY)
    last = earlier.order[earlier.end - 1]
    is_first = earlier.n_payments() == 0
    usual = _divided(earlier.total(payments.cents), earlier.n_payments())
    hours = (payments.seconds - payments.seconds[last]) / 3600
    return {
        "amount_to_usual": pa.array(_divided(payments.cents, usual), mask=is_first),
        "hours_since_last": pa.array(hours, mask=is_first),
        "payments_last_day": pa.array(last_day.n_payments()),
    }


def _terminal_history(payments: _Payments, is_abroad: NDArray) -> dict[str, pa.Array]:
    """Return what a terminal's earlier payments say about each payment."""
    last_day = _earlier(payments.terminal, payments.seconds, within=DAY)
    last_week = _earlier(payments.terminal, payments.seconds, within=7 * DAY)
    share = _divided(last_week.total(is_abroad), last_week.n_payments())
    return {
        "terminal_payments_last_day": pa.array(last_day.n_payments()),
        "terminal_foreign_share_last_week": pa.array(share, mask=last_week.n_payments() == 0),
    }


def _divided(above: NDArray, below: NDArray) -> NDArray:
    return above / np.where(below == 0, 1, below)  # where nothing is below, the result is masked


class _Earlier(NamedTuple):
    """The payments before payment i, of the same card or terminal: `order[begin[i]:end[i]]`."""

    order: NDArray
    begin: NDArray
    end: NDArray

    def n_payments(self) -> NDArray:
        return self.end - self.begin

    def total(self, values: NDArray) -> NDArray:
        # Whole numbers, so that differences of running sums are exact.
        running = np.concatenate([[0], np.cumsum(values[self.order], dtype=np.int64)])
        return running[self.end] - running[self.begin]


def _earlier(member: NDArray, seconds: NDArray, within: int | None = None) -> _Earlier:
    """Return the payments of the same member in [seconds - within, seconds)."""
    order = np.argsort(member, kind="stable")  # by member, then by time as before
    longest = int(seconds.max(initial=0)) + 1
    reach = longest if within is None else within
    # One axis for all: members lie further apart on it than any window reaches back.
    position = (member * (longest + reach) + seconds)[order]
    begin, end = np.empty_like(order), np.empty_like(order)
    # Searched in ascending order, neighbours share the cache: faster on large tables.
    begin[order] = np.searchsorted(position, position - reach)
    end[order] = np.searchsorted(position, position)
    return _Earlier(order, begin, end)
