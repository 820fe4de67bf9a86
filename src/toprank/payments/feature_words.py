"""What the features of payments say, in plain words: "9 payments in the last hour".

The words come from a feature's kind, not from its name, so that features of any columns have them.
"""

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from toprank.payments.features.kinds import (
    Feature,
    FirstTime,
    Key,
    KnownPositives,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
    columns_of,
    microseconds,
)
from toprank.payments.roles import Roles
from toprank.rankers.reasons import Usual, number_text, range_text
from toprank.wording import noun_of, percent, plural

_CARD_NOUNS = ("card", "account", "customer", "client", "cardholder", "user", "member", "payer")
_TERMINAL_NOUNS = ("terminal", "shop", "merchant", "payee", "store", "seller", "device", "site")
_ENDINGS = re.compile(r"[ _-]*(id|ids|no|nr|num|number|key|code|hash|name)$", re.IGNORECASE)
_FLAGS = (Night, Weekend, FirstTime)
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


class Nouns(NamedTuple):
    """What the columns of payments are called in a sentence, and what their positives are."""

    card: str
    terminal: str
    positives: str
    columns: dict[str, str]

    @classmethod
    def of(cls, roles: Roles, label: str, names: Mapping[str, str] | None = None) -> "Nouns":
        """Return the words of these columns; `names` has those that were given for some of them.

        >>> Nouns.of(Roles("at", "CUSTOMER_ID", "POS", "TX_AMOUNT"), "is_fraud").columns
        {'CUSTOMER_ID': 'customer', 'POS': 'terminal', 'TX_AMOUNT': 'amount'}
        """
        given = dict(names or {})
        card = given.get(roles.card) or _noun_in(roles.card, _CARD_NOUNS)
        terminal = given.get(roles.terminal) or _noun_in(roles.terminal, _TERMINAL_NOUNS)
        amount = given.get(roles.amount, "amount")
        columns = {roles.card: card, roles.terminal: terminal, roles.amount: amount}
        return cls(card, terminal, noun_of(label), given | columns)

    def column(self, name: str) -> str:
        """Return what a column is called."""
        return self.columns.get(name) or plain_name(name)


class FeatureWords:
    """Puts the values of features into words.

    >>> roles = Roles("paid_at", "card", "shop", "amount")
    >>> words = FeatureWords([Recent("count", "card", "1h")], Nouns.of(roles, "is_fraud"), roles)
    >>> words.said("card_count_1h", 9.0), words.others("card_count_1h", Usual(1.0, 2.0))
    ('9 payments in the last hour', '1-2')
    """

    def __init__(self, features: Iterable[Feature], nouns: Nouns, roles: Roles) -> None:
        self.nouns, self._roles = nouns, roles
        self._features = {each.name: each for each in features}
        # said of many rows, and made once
        self._about: dict[str, str] = {}
        self._others: dict[str, tuple[Usual, str]] = {}

    def knows(self, name: str) -> bool:
        """Return whether there is a feature of this name."""
        return name in self._features

    def is_flag(self, name: str) -> bool:
        """Return whether a feature is 1 or 0 for yes or no."""
        return isinstance(self._features.get(name), _FLAGS)

    def is_count(self, name: str) -> bool:
        """Return whether a feature counts."""
        feature = self._features.get(name)
        if isinstance(feature, KnownPositives):
            return True
        return isinstance(feature, Recent | LabelRisk) and feature.what in ("count", "distinct")

    def about(self, name: str) -> str:
        """Return what a feature is about: features that differ in their window say the same.

        So do an amount and the total of the last hour, which has it inside.
        """
        if name not in self._about:
            self._about[name] = _about(self._features[name])
        return self._about[name]

    def said(self, name: str, value: float) -> str:
        """Return what the value of a feature says of its row."""
        feature = self._features[name]
        if math.isnan(value) and not _can_be_missing(feature):
            return f"{self._subject(feature)} not known"
        if isinstance(feature, Recent):
            return self._recent(feature, value)
        if isinstance(feature, LabelRisk):
            return self._risk(feature, value)
        if isinstance(feature, KnownPositives):
            return self._known_positives(feature, value)
        if isinstance(feature, SinceLast):
            return self._since_last(feature, value)
        if isinstance(feature, ToUsual):
            return self._to_usual(feature, value)
        if isinstance(feature, FirstTime):
            first = "first payment" if value else "not the first payment"
            return f"{first} {self._whose(feature.key, is_card_named=True)}"
        if isinstance(feature, Night):
            hours = f"({feature.start}:00-{feature.stop}:00 UTC)"
            return f"{'at' if value else 'not at'} night {hours}"
        if isinstance(feature, Weekend):
            return "at the weekend" if value else "on a weekday"
        return f"{self.nouns.column(feature.of)} {self.amount(name, value)}"

    def amount(self, name: str, value: float) -> str:
        """Return a value of a feature in its unit, as in a range."""
        feature = self._features.get(name)
        if math.isnan(value):
            return "none"
        if isinstance(feature, SinceLast):
            return duration(value)
        if isinstance(feature, ToUsual):
            return _times(value)
        if isinstance(feature, LabelRisk) and feature.what == "share":
            return percent(value)
        return number_text(value)

    def range(self, name: str, low: float, high: float) -> str:
        """Return two values of a feature as a range."""
        if isinstance(self._features.get(name), SinceLast) and low != high:
            return f"{self.amount(name, low)} to {self.amount(name, high)}"
        ends = self.amount(name, low), self.amount(name, high)
        if all(end.endswith(" %") for end in ends):
            return f"{range_text(*(end.removesuffix(' %') for end in ends))} %"
        return range_text(*ends)

    def others(self, name: str, usual: Usual) -> str:
        """Return what is usual for everyone; nothing where that says nothing."""
        known = self._others.get(name)
        if known is None or known[0] is not usual:
            known = self._others[name] = usual, self._usual_text(name, usual)
        return known[1]

    def _usual_text(self, name: str, usual: Usual) -> str:
        if usual.low is None or usual.high is None:
            return "" if usual.values else "mostly none"
        if self.is_flag(name):
            return "rarely" if usual.low == usual.high else ""
        return self.range(name, usual.low, usual.high)

    def _subject(self, feature: Feature) -> str:
        """Return what a feature is about, of a row whose past is not known."""
        if isinstance(feature, Value):
            return self.nouns.column(feature.of)
        key = getattr(feature, "key", None)
        return "time" if key is None else f"past {self._whose(key, is_card_named=True)}"

    def _recent(self, feature: Recent, value: float) -> str:
        where = f"{self._whose(feature.key)} {_window(feature.window, feature.until)}".strip()
        if feature.what == "count":
            return f"{number_text(value)} {plural('payment', value)} {where}"
        noun = self.nouns.column(str(feature.of))
        if feature.what == "distinct":
            return f"{number_text(value)} different {plural(noun, value)} {where}"
        if math.isnan(value):
            return f"no payment {where}"
        what = {"sum": "total", "mean": "average", "max": "largest"}[feature.what]
        return f"{what} {noun} {number_text(value)} {where}"

    def _risk(self, feature: LabelRisk, value: float) -> str:
        whose = self._whose(feature.key, is_card_named=True)
        labels = "all labels"
        if feature.window is not None:
            labels = f"the labels of {_last(feature.window)}"
        if feature.what == "count":
            return f"{number_text(value)} {plural('payment', value)} {whose} among {labels}"
        return f"{percent(value)} {self.nouns.positives} {whose} among {labels}"

    def _known_positives(self, feature: KnownPositives, value: float) -> str:
        noun = plural(self.nouns.positives.removesuffix("s"), value)
        known = "known so far"
        if feature.window is not None:
            known = f"that became known in {_last(feature.window)}"
        return (
            f"{number_text(value)} {noun} {self._whose(feature.key, is_card_named=True)} {known}"
        )

    def _since_last(self, feature: SinceLast, value: float) -> str:
        whose = self._whose(feature.key, is_card_named=True)
        if math.isnan(value):
            return f"first payment {whose}"
        return f"{duration(value)} since the last payment {whose}"

    def _to_usual(self, feature: ToUsual, value: float) -> str:
        noun, whose = self.nouns.column(feature.of), self._whose(feature.key, is_card_named=True)
        if math.isnan(value):
            return f"no earlier payment {whose} to compare the {noun} with"
        return f"{noun} {_times(value)} times the average {whose} {_window(feature.window)}"

    def _whose(self, key: Key, is_card_named: bool = False) -> str:
        """Return whose payments a feature is about; the card of the row may go without saying."""
        columns = list(columns_of(key))
        said = []
        if self._roles.card in columns:
            columns.remove(self._roles.card)
            if is_card_named or columns:
                said.append(f"of this {self.nouns.card}")
        if self._roles.terminal in columns:
            columns.remove(self._roles.terminal)
            said.append(f"at this {self.nouns.terminal}")
        if columns:
            said.append(f"of this {' and '.join(map(self.nouns.column, columns))}")
        return " ".join(said)


def _about(feature: Feature) -> str:
    if isinstance(feature, Value) or (isinstance(feature, Recent) and feature.what == "sum"):
        return f"amount {feature.of}"
    parts = [getattr(feature, part, "") for part in ("what", "key", "of")]
    return " ".join(map(str, [type(feature).__name__, *parts]))


def _can_be_missing(feature: Feature) -> bool:
    """Return whether a feature is missing where there is nothing to look at."""
    if isinstance(feature, Recent):
        return feature.what in ("mean", "max")
    return isinstance(feature, SinceLast | ToUsual)


def plain_name(column: str) -> str:
    """Return the name of a column as words.

    >>> plain_name("MERCHANT_ID"), plain_name("deviceKey"), plain_name("id"), plain_name("V14")
    ('merchant', 'device', 'id', 'V14')
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column).replace("_", " ").strip()
    short = _ENDINGS.sub("", spaced) or spaced
    return short if re.search(r"\d", short) else short.lower()


def duration(seconds: float) -> str:
    """Return a time in its largest unit.

    >>> duration(40), duration(119), duration(5_400), duration(259_200)
    ('40 seconds', '2 minutes', '1.5 hours', '3 days')
    """
    for unit, length in _UNITS:
        if seconds >= 0.95 * length or unit == "second":
            count = seconds / length
            rounded = round(count, 1) if count < 2 and unit != "second" else round(count)
            return f"{rounded:g} {plural(unit, rounded)}"
    raise AssertionError


def _window(window: str | None, until: str = "before") -> str:
    if until == "row":
        return "so far" if window is None else f"in {_last(window)}"
    if until == "before":
        return "before" if window is None else f"in the {_length(window)} before"
    ago = _length(until)
    ago = f"1 {ago}" if ago[0].isalpha() else ago
    return f"up to {ago} ago" if window is None else f"in the {_length(window)} up to {ago} ago"


def _last(window: str) -> str:
    return f"the last {_length(window)}"


@lru_cache(maxsize=256)  # reading a span would take longer than the rest of its sentence
def _length(span: str) -> str:
    """Return a span in words; one hour is "hour", one day "24 hours", since it ends anywhere."""
    seconds = microseconds(span, "window") / 1e6
    if seconds == 86_400:
        return "24 hours"
    for unit, length in _UNITS:
        if seconds >= length and seconds % length == 0:
            count = int(seconds // length)
            return unit if count == 1 else f"{count:,} {unit}s"
    return f"{seconds:g} seconds"


def _times(value: float) -> str:
    return f"{float(f'{value:.2g}'):,g}"


def _noun_in(column: str, known: tuple[str, ...]) -> str:
    """Return the noun that a column is named for, else the first of those known."""
    words = plain_name(column).lower().split()
    return next((noun for noun in known if noun in words), known[0])
