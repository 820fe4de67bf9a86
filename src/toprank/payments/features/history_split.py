"""A history of some features out of one of more, with what it remembers of their keys."""

from collections.abc import Collection, Mapping, Sequence

from numpy.typing import NDArray

from toprank.payments.features.history import History
from toprank.payments.features.kinds import Feature, as_json
from toprank.payments.features.questions import Questions, questions_of


def split_history(history: History, names: Collection[str]) -> History:
    """Return a history with the features of these names alone, and the past that they need.

    The features of a key stay together: ValueError if `names` contains only some of them.

    It gives the same values for them, bit for bit, from whatever rows come next: what a key's
    features see depends on the rows of this key alone. The history that it is made of does not
    change, and shares nothing with it.

    >>> from toprank.payments.features import Recent, SinceLast
    >>> history = History([Recent("count", "card", "1d"), SinceLast("shop")], time="at")
    >>> rows = [{"at": at, "card": "A", "shop": "S"} for at in (0, 60)]
    >>> _ = history.one(rows[0])
    >>> split_history(history, ["card_count_1d"]).one(rows[1])
    {'card_count_1d': 2.0}
    """
    kept = [each for each in history.features if each.name in names]
    _check_whole_keys(kept, [each for each in history.features if each not in kept])
    saved = history._to_saved()
    assert saved.parameters is not None
    arrays = _arrays(saved.arrays, questions_of(history.features), questions_of(kept))
    parameters = saved.parameters | {"features": as_json(kept)}
    return History._from_saved(parameters, saved._replace(arrays=arrays))


def _arrays(
    arrays: Mapping[str, NDArray], whole: Questions, part: Questions
) -> dict[str, NDArray]:
    """Return what some of the keys keep of the arrays of all of them."""
    keys = [whole.keys.index(each) for each in part.keys]
    homes = {f"keys{old}": f"keys{new}" for new, old in enumerate(keys)}
    homes |= {
        f"values{whole.coded.index(name)}": f"values{new}" for new, name in enumerate(part.coded)
    }
    homes |= {
        f"rows{whole.keys.index(key)}": f"rows{part.keys.index(key)}" for key in part.of_rows
    }
    labels = [list(whole.of_labels).index(each) for each in part.of_labels]
    homes |= {f"labels{old}": f"labels{new}" for new, old in enumerate(labels)}
    found = {}
    for name, array in arrays.items():
        home, _, rest = name.partition("-")
        if home == "ids":
            found[name] = array[keys] if rest in ("keys", "n_before") else array
        elif home in homes:
            found[f"{homes[home]}-{rest}"] = array
    return found


def _check_whole_keys(kept: Sequence[Feature], others: Sequence[Feature]) -> None:
    """Raise if only some of the features of a key are kept: they share what is remembered."""
    keys = {each.key for each in kept if hasattr(each, "key")}
    for each in others:
        if getattr(each, "key", None) in keys:
            raise ValueError(
                f"names must contain all features of a key or none; {each.name!r} is left out."
            )
