"""The result of a replay in words and figures, and which leads are significant.

Days are drawn with replacement and every strategy is measured on the same draw. They are drawn in
stretches of a week, since a wave of frauds makes neighbouring days alike; where days are few, in
shorter ones.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.metrics import Interval
from toprank.metrics.resampling import percentile_band
from toprank.simulator.feedback.replay import Replay
from toprank.wording import aligned, decimal, listed

_SURE = 0.95
_N_RESAMPLES = 2_000
_STRETCH, _FEWEST_STRETCHES = 7, 4


class Lead(NamedTuple):
    """How far the card precision of a strategy is ahead of another's, over the same days.

    All leads of a replay are within their intervals at once with 95 % confidence (Bonferroni).
    """

    strategy: str
    against: str
    lead: Interval

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.lead.low > 0


def mean_over_days(by_day: NDArray[np.float64], level: float = _SURE) -> Interval:
    """Return the mean of the days with its interval.

    >>> mean_over_days(np.full(10, 0.25))
    Interval(value=0.25, low=0.25, high=0.25)
    """
    low, high = percentile_band(by_day[drawn_days(by_day.size)].mean(axis=1), level)
    return Interval(float(by_day.mean()), float(low), float(high))


def ranked_strategies(replay: Replay) -> list[str]:
    """Return the strategies by the cards they found, most first; ties keep their order."""
    return sorted(
        replay.strategies, key=lambda strategy: -int(replay.strategies[strategy].found.sum())
    )


def leads(replay: Replay) -> list[Lead]:
    """Return how far the best strategy is ahead of each of the others, the closest first."""
    best, *others = ranked_strategies(replay)
    level = 1 - (1 - _SURE) / max(len(others), 1)
    return [
        Lead(
            best,
            other,
            mean_over_days(replay.card_precision(best) - replay.card_precision(other), level),
        )
        for other in others
    ]


def text_of(replay: Replay) -> str:
    """Return the replay as `toprank feedback` prints it: a table and what follows from it."""
    k = replay.budget
    head = ["", f"CP@{k:,}", "cards found", "money caught", "money saved", "training"]
    rows = [_row(replay, strategy) for strategy in ranked_strategies(replay)]
    precision, found = decimal(replay.ceiling.mean(), 2), _count(replay.ceiling.sum() * k)
    ceiling = ["ceiling", precision, found, "", "", ""]
    return "\n".join([aligned([head, *rows, ceiling], n_left=2), "", *sentences_of(replay)])


def sentences_of(replay: Replay) -> list[str]:
    """Return which strategy leads, and which of its leads are significant."""
    best = ranked_strategies(replay)[0]
    others = leads(replay)
    sure = [each for each in others if each.is_significant]
    unsure = [each for each in others if not each.is_significant]
    sentences = [f"{best} leads {_listed_leads(sure)}: significant."] if sure else []
    if unsure:
        sentences.append(f"{best} leads {_listed_leads(unsure)}: not significant.")
    return sentences + [line for name in replay.desks for line in desk_sentences(replay, name)]


def desk_sentences(replay: Replay, desk: str) -> list[str]:
    """Return how well a desk knew what it would find, and what it missed."""
    figures = replay.desks[desk]
    phases = figures.promise.held_by_phase(replay.new_on)
    n_held, n_days, n_expected = (sum(counts) for counts in zip(*phases.values(), strict=True))
    parts = [f"{held} of {days} {phase}" for phase, (held, days, _) in phases.items()]
    by_phase = f" ({', '.join(parts)} the change)" if replay.new_on is not None else ""
    sentences = [
        f"{desk}: the range of frauds to expect held on {n_held} of {n_days} days{by_phase}; "
        f"{n_expected:.0f} were to be expected."
    ]
    if figures.recall is not None:
        estimate, truth, _ = figures.recall
        sentences.append(
            f"{desk}: recall is {estimate} by its random checks, and {decimal(truth, 2)} in truth."
        )
    sentences += [
        f"{desk}: an alarm about the verdicts of {who} was raised on day {day + 1}."
        for who, day in figures.accused.items()
    ]
    return sentences


def facts_of(replay: Replay) -> dict[str, Any]:
    """Return every figure of a replay as plain values for JSON."""
    return {
        "budget": replay.budget,
        "days": [str(date) for date in replay.dates],
        "n_payments": replay.n_payments,
        "n_positive": replay.n_positive,
        "n_warm_up_days": replay.n_warm_up_days,
        "strategies": {
            strategy: _strategy_facts(replay, strategy) for strategy in ranked_strategies(replay)
        },
        "desks": {desk: _desk_facts(replay, desk) for desk in replay.desks},
        "ceiling": {"mean": float(replay.ceiling.mean()), "by_day": replay.ceiling.tolist()},
        "leads": [
            {
                "strategy": each.strategy,
                "against": each.against,
                **each.lead._asdict(),
                "is_significant": each.is_significant,
            }
            for each in leads(replay)
        ],
    }


def _strategy_facts(replay: Replay, strategy: str) -> dict[str, Any]:
    days = replay.strategies[strategy]
    return {
        "card_precision": mean_over_days(replay.card_precision(strategy))._asdict(),
        "found": int(days.found.sum()),
        "money": float(days.money.sum()),
        "saved": float(days.saved.sum()),
        "training_seconds": float(days.seconds.sum()),
        "maturity": days.maturity,
        "by_day": {
            "card_precision": replay.card_precision(strategy).tolist(),
            "checked": days.checked.tolist(),
            "found": days.found.tolist(),
            "positive": days.positive.tolist(),
            "money": days.money.tolist(),
            "saved": days.saved.tolist(),
            "training_seconds": days.seconds.tolist(),
        },
    }


def _desk_facts(replay: Replay, desk: str) -> dict[str, Any]:
    promise, recall, n_models, accused = replay.desks[desk]
    phases = promise.held_by_phase(replay.new_on)
    by_day = {
        name: getattr(promise, name).tolist()
        for name in ("expected", "low", "high", "found", "chance")
    }
    return {
        "held": {
            phase: {"held": each.n_held, "days": each.n_days, "expected": each.n_expected}
            for phase, each in phases.items()
        },
        "recall": None
        if recall is None
        else {**recall.estimate._asdict(), "truth": recall.truth, "days": recall.n_days},
        "n_models": n_models,
        "accused": accused,
        "by_day": by_day,
    }


def drawn_days(n_days: int) -> NDArray[np.int64]:
    """Return days drawn in stretches: (resample, day), the same ones for every strategy."""
    stretch = int(np.clip(n_days // _FEWEST_STRETCHES, 1, _STRETCH))
    n_stretches = -(-n_days // stretch)
    begin = np.random.default_rng(0).integers(0, n_days, (_N_RESAMPLES, n_stretches, 1))
    drawn = (begin + np.arange(stretch)) % n_days  # the day after the last is the first
    return drawn.reshape(_N_RESAMPLES, -1)[:, :n_days]


def _row(replay: Replay, strategy: str) -> list[str]:
    days = replay.strategies[strategy]
    return [
        strategy,
        str(mean_over_days(replay.card_precision(strategy))),
        _count(days.found.sum()),
        _count(days.money.sum()),
        _count(days.saved.sum()),
        f"{days.seconds.sum():,.1f} s",
    ]


def _listed_leads(ahead: list[Lead]) -> str:
    return listed([f"{each.against} by {_precisely(each.lead)}" for each in ahead])


def _precisely(lead: Interval) -> str:
    value, low, high = (decimal(number, 3) for number in lead)
    return f"{value} ({low} to {high})"


def _count(number: float) -> str:
    return f"{number:,.0f}"
