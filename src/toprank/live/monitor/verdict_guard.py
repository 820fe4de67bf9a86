"""Verdicts of one person that differ from those of others more than chance explains.

Two counts per person: verdicts that were contradicted, since the label that holds by now says the
opposite (a claim, or a correction), and verdicts that the model finds unlikely (fraud below a
chance of one half, genuine above it). Everybody checks cards of the same queue, so without a
reason, contradictions are spread over people by chance. Given how many there are in all, those of
one person follow the hypergeometric distribution: Fisher's exact test, which needs no rate to
compare with. The limit is divided by the number of tests of a look.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from scipy.stats import hypergeom

from toprank.live.monitor.alarm_readings import AlarmReading
from toprank.live.store.verdict_outcomes import VerdictOutcome
from toprank.wording import percent

N_DAYS = 90
"""Days of verdicts that are looked at."""

RARE = 0.001
"""Chance of an alarm at one look if nobody differs from the others."""

_CALM = 0.05
_LEAST_VERDICTS = 20
_KINDS = ("contradicted", "unlikely")
_NAME = "verdicts:"  # of an alarm, followed by whom it is about


class VerdictCounts(NamedTuple):
    """The verdicts of a person: how many, contradicted ones, unlikely ones."""

    n: int
    n_contradicted: int
    n_unlikely: int


class OddVerdicts(NamedTuple):
    """How a person's verdicts of a kind compare with those of the others.

    `chance` is that of so many or more by chance, times the number of tests.
    """

    who: str
    kind: str
    n: int
    n_odd: int
    share: float
    share_of_others: float
    chance: float


def accused_in(alarm: str) -> str | None:
    """Return whose verdicts an alarm of this name is about; None if it is about something else.

    >>> accused_in("verdicts:person:mallory"), accused_in("recall")
    ('person:mallory', None)
    """
    return alarm.removeprefix(_NAME) if alarm.startswith(_NAME) else None


def counted(verdicts: Iterable[VerdictOutcome]) -> dict[str, VerdictCounts]:
    """Return the counts of each person."""
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for each in verdicts:
        counts = found[each.who]
        counts[0] += 1
        counts[1] += each.is_contradicted
        counts[2] += each.is_unlikely
    return {who: VerdictCounts(*counts) for who, counts in found.items()}


def compared(counts: Mapping[str, VerdictCounts]) -> list[OddVerdicts]:
    """Return how each person compares with all others; nobody does in a team of one.

    >>> team = {name: VerdictCounts(100, 2, 25) for name in "abc"}
    >>> odd = compared({**team, "d": VerdictCounts(100, 20, 25)})
    >>> [(each.who, each.kind) for each in odd if each.chance < RARE]
    [('d', 'contradicted')]
    """
    n_tests = len(_KINDS) * len(counts)
    n_all = sum(each.n for each in counts.values())
    found = []
    for place, kind in enumerate(_KINDS, start=1):
        n_odd = sum(each[place] for each in counts.values())
        for who, each in counts.items():
            others = n_all - each.n
            if each.n < _LEAST_VERDICTS or others < _LEAST_VERDICTS:
                continue
            by_chance = float(hypergeom.sf(each[place] - 1, n_all, n_odd, each.n))
            found.append(
                OddVerdicts(
                    who, kind, each.n, each[place], each[place] / each.n,
                    (n_odd - each[place]) / others, min(by_chance * n_tests, 1.0),
                )
            )  # fmt: skip
    return found


def of_verdicts(verdicts: Iterable[VerdictOutcome]) -> Iterator[AlarmReading]:
    """Yield a reading per person: of the kind of verdict in which they differ most."""
    worst: dict[str, OddVerdicts] = {}
    for each in compared(counted(verdicts)):
        if each.who not in worst or each.chance < worst[each.who].chance:
            worst[each.who] = each
    for who, each in worst.items():
        said = "were contradicted later" if each.kind == "contradicted" else "surprise the model"
        text = (
            f"{percent(each.share)} of the {each.n:,} verdicts of {who.partition(':')[2] or who} "
            f"{said}, and {percent(each.share_of_others)} of those of others: look at them "
            "together with a second person."
        )
        is_beyond, is_calm = each.chance < RARE, each.chance > _CALM
        yield AlarmReading(_NAME + who, each.share, each.share_of_others, is_beyond, is_calm, text)
