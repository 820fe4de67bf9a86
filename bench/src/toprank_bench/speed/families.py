"""All races, by what they are about, and the choice among them by name."""

from collections.abc import Iterable, Mapping

from toprank.data import checks
from toprank_bench.speed import (
    anomaly_speed,
    boosting,
    busy_machine,
    features,
    first_fit,
    label_ledger,
    memory,
    one_row,
    online_speed,
    payment_scores,
    row_scaling,
    stream_speed,
    trees,
)
from toprank_bench.speed.race import Race

FAMILIES: Mapping[str, tuple[Race, ...]] = {
    "boosting": boosting.RACES,
    "trees": trees.RACES,
    "anomaly": anomaly_speed.RACES,
    "online": online_speed.RACES,
    "stream": stream_speed.RACES,
    "one-row": one_row.RACES,
    "payment-scores": payment_scores.RACES,
    "first-fit": first_fit.RACES,
    "threads": busy_machine.RACES,
    "features": features.RACES,
    "ledger": label_ledger.RACES,
    "memory": memory.RACES,
    "scaling": row_scaling.RACES,
}


def chosen_races(names: Iterable[str] = ()) -> list[Race]:
    """Return the races of these names or families, in order; all where none is named.

    >>> [race.name for race in chosen_races(["trees"])]
    ['local-tree', 'metaap', 'metaap-few-rows', 'rank-forest']
    """
    races = [race for family in FAMILIES.values() for race in family]
    by_name = {**FAMILIES, **{race.name: (race,) for race in races}}
    chosen = set()
    for name in names:
        if name not in by_name:
            hint = checks.nearest_name(name, list(by_name))
            known = hint or f"; families are {', '.join(FAMILIES)}."
            raise ValueError(f"{name!r} is no race and no family of races{known}")
        chosen |= {race.name for race in by_name[name]}
    return [race for race in races if not chosen or race.name in chosen]
