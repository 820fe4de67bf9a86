"""Which of two labels is the positive one: the same rule wherever labels come in.

1. The one that `positive_label` names.
2. The one that names itself: 1 next to 0 or -1, true, yes, y next to n, t next to f, fraud,
   fraudulent, positive; in any case, as text or not. So 0 and 1 have 1 as positive, however many
   rows are 1. Next to 2, a 1 says nothing: it may be the first of two classes.
3. Where neither does, or both do:
   - of a table that is read once as a whole (the command line, `tables.split_label`), the less
     frequent one, and of equally frequent ones the later in sorted order;
   - for `fit`, the later in sorted order, `classes_[1]`, as scikit-learn has it. Which one is
     less frequent may differ from fold to fold, and with it the meaning of every score; a
     warning says so where the later one is the more frequent;
   - where labels come one at a time, none: `positive_label` must name it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

_YES = {"true", "yes", "fraud", "fraudulent", "positive"}
_YES_NEXT_TO = {"1": {"0", "-1"}, "t": {"f"}, "y": {"n"}}
_OPPOSITE = {
    "false": "true", "no": "yes", "genuine": "fraud", "negative": "positive", "n": "y", "f": "t",
}  # fmt: skip


def may_name_itself(value: Any) -> bool:
    """Return whether a label is positive by its name, for all that is known without the other.

    >>> may_name_itself("Fraud"), may_name_itself(1.0), may_name_itself("genuine")
    (True, True, False)
    """
    word = _word(value)
    return word in _YES or word in _YES_NEXT_TO


def same_label(value: Any, other: Any) -> bool:
    """Return whether two labels are the same but for case, space and text or number.

    >>> same_label("Yes", "yes "), same_label("1.0", 1), same_label("yes", "no")
    (True, True, False)
    """
    return _word(value) == _word(other)


def named_by_itself(values: Iterable[Any]) -> Any:
    """Return the one of two labels that names itself positive; None where that decides nothing.

    >>> named_by_itself(["genuine", "fraud"]), named_by_itself([1, 0]), named_by_itself([1, 2])
    ('fraud', 1, None)
    """
    first, second = values
    says_yes = _names_itself(first, second), _names_itself(second, first)
    if says_yes[0] == says_yes[1]:
        return None
    return first if says_yes[0] else second


def opposite_of(value: Any) -> Any:
    """Return the positive label that a first label lets one expect; None where it does not.

    >>> opposite_of("no"), opposite_of(0), opposite_of("x")
    ('yes', 1, None)
    """
    if not isinstance(value, str):
        return 1 if value in (0, -1) else None
    return _OPPOSITE.get(_word(value))


def positive_of_table(counts: Mapping[Any, int]) -> Any:
    """Return the positive one of two labels that so many rows of a whole table have.

    >>> positive_of_table({0: 40, 1: 60}), positive_of_table({"bad": 3, "good": 97})
    (1, 'bad')
    """
    named = named_by_itself(counts)
    if named is not None:
        return named
    return min(sorted(counts, reverse=True), key=counts.__getitem__)


def positive_of_classes(classes: Iterable[Any]) -> Any:
    """Return the positive one of two labels, which must not depend on how frequent they are.

    >>> positive_of_classes([0, 1]), positive_of_classes(["bad", "good"])
    (1, 'good')
    """
    both = sorted(classes)
    named = named_by_itself(both)
    return both[1] if named is None else named


def _names_itself(value: Any, other: Any) -> bool:
    word = _word(value)
    return word in _YES or _word(other) in _YES_NEXT_TO.get(word, ())


def _word(value: Any) -> str:
    """Return a label in lower case, numbers and texts of numbers in their shortest form."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    text = str(value).strip().lower()
    try:
        return f"{float(text):g}"
    except ValueError:
        return text
