"""The features that a history can compute, each a small frozen description that fits into JSON.

A window of length w ends in one of three ways, for a row at time t:

    until="row"       (t - w, t], with the row itself; of other rows at t, those that came before
    until="before"    [t - w, t), every moment before the row's own
    until="7d"        (t - 7 d - w, t - 7 d], ending that long before the row
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toprank.data import checks
from toprank.data.tables.spans import span_microseconds

Key = str | tuple[str, ...]
"""The column whose value rows must share, or several columns, such as ("card", "terminal")."""


def microseconds(span: Any, name: str) -> int:
    """Return how long a span such as "90s", "30min", "1h" or "7d" is.

    >>> microseconds("1h", "window")
    3600000000
    """
    if not isinstance(span, str):  # it is part of the feature's name and of its JSON
        raise ValueError(f"{name} must be a span of time in text such as '7d'; got {span!r}.")
    return span_microseconds(span, name)


@dataclass(frozen=True)
class Value:
    """A number of the row itself; text is not allowed."""

    of: str

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        return self.of


@dataclass(frozen=True)
class Night:
    """1 from the hour `start` on until the hour `stop`, in UTC, else 0.

    >>> Night(22, 6).name
    'night_22_6'
    """

    start: int = 0
    stop: int = 7

    def __post_init__(self) -> None:
        checks.whole_number(self.start, "start", 0, 23)
        checks.whole_number(self.stop, "stop", 0, 24)

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        return f"night_{self.start}_{self.stop}"


@dataclass(frozen=True)
class Weekend:
    """1 on Saturday and Sunday, in UTC, else 0."""

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        return "weekend"


@dataclass(frozen=True)
class Recent:
    """A statistic of a key's rows in a window: "count", "sum", "mean", "max" or "distinct".

    `of` is the column: of numbers for sum, mean and max; of any values for distinct. If the window
    contains no number, sum is 0 and mean and max are missing. `window=None` is everything before
    the window's end, for count, sum and mean. For one row at a time, max and distinct take time in
    proportion to the rows in the window, the others do not.

    >>> Recent("mean", "card", "7d", of="amount", until="before").name
    'card_mean_amount_7d_before'
    """

    what: str
    key: Key
    window: str | None
    of: str | None = None
    until: str = "row"

    def __post_init__(self) -> None:
        checks.one_of(self.what, "what", ("count", "sum", "mean", "max", "distinct"))
        _set_key(self)
        _check_window(self.window, self.what)
        if self.until not in ("row", "before"):
            _check_above_zero(self.until, "until", "'row', 'before' or a span")
        if (self.of is None) != (self.what == "count"):
            takes = "must be left out" if self.what == "count" else "must name a column"
            raise ValueError(f"of {takes} for {self.what!r}; got {self.of!r}.")

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        until = {"row": None, "before": "before"}.get(self.until, f"until_{self.until}")
        return _joined(key_name(self.key), self.what, self.of, self.window or "all", until)


@dataclass(frozen=True)
class SinceLast:
    """Seconds since the previous row of the key, 0 at the same moment; missing for the first."""

    key: Key

    def __post_init__(self) -> None:
        _set_key(self)

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        return f"{key_name(self.key)}_seconds_since_last"


@dataclass(frozen=True)
class ToUsual:
    """A number divided by its mean over the key's rows in [t - window, t), or all before t.

    Missing where there is no such row, or the mean is 0.
    """

    key: Key
    of: str
    window: str | None = None

    def __post_init__(self) -> None:
        _set_key(self)
        _check_window(self.window, "mean")

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        return _joined(key_name(self.key), self.of, "to_usual", self.window or "all")


@dataclass(frozen=True)
class FirstTime:
    """1 where no row of the key came before, else 0; the key is often a pair of columns.

    >>> FirstTime(("card", "terminal")).name
    'card_and_terminal_first_time'
    """

    key: Key

    def __post_init__(self) -> None:
        _set_key(self)

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        return f"{key_name(self.key)}_first_time"


@dataclass(frozen=True)
class LabelRisk:
    """The "count" of a key's labels that became known in (t - window, t], or their "share".

    The share is that of positives among them, and 0 where there are none. A label becomes known
    `delay` after its row, or later if a later time is given with it. If all rows have labels,
    these are the rows in (t - delay - window, t - delay]. With `delay="0s"`, only the given times
    count. A row's own label is never known to it.
    """

    what: str
    key: Key
    window: str | None
    delay: str

    def __post_init__(self) -> None:
        checks.one_of(self.what, "what", ("count", "share"))
        _set_key(self)
        _check_window(self.window, self.what)
        microseconds(self.delay, "delay")

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        what = "labels" if self.what == "count" else "risk"
        return _joined(key_name(self.key), what, self.window or "all", "delay", self.delay)


@dataclass(frozen=True)
class KnownPositives:
    """The count of a key's rows that became known as positive in (t - window, t].

    A label counts from the moment it became known, however soon after its row that is. `delay` is
    only for labels given without a time: they count from that long after their row. A row's own
    label is never known to it.

    >>> KnownPositives("terminal", "7d", "7d").name
    'terminal_known_positives_7d'
    """

    key: Key
    window: str | None
    delay: str

    def __post_init__(self) -> None:
        _set_key(self)
        _check_window(self.window, "count")
        microseconds(self.delay, "delay")

    @property
    def name(self) -> str:
        """The name of the feature's column."""
        return _joined(key_name(self.key), "known_positives", self.window or "all")


Feature = (
    Value | Night | Weekend | Recent | SinceLast | ToUsual | FirstTime | LabelRisk | KnownPositives
)

OF_LABELS = (LabelRisk, KnownPositives)
"""The kinds that use labels."""

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (Value, Night, Weekend, Recent, SinceLast, ToUsual, FirstTime, *OF_LABELS)
}


def as_json(features: Iterable[Feature]) -> list[dict[str, Any]]:
    """Return the features as plain values for JSON; `from_json` reads them.

    >>> as_json([Weekend(), SinceLast("card")])
    [{'kind': 'Weekend'}, {'kind': 'SinceLast', 'key': 'card'}]
    """
    return [{"kind": type(each).__name__, **asdict(each)} for each in features]


def from_json(described: Sequence[dict[str, Any]]) -> tuple[Feature, ...]:
    """Return the features that `as_json` described.

    >>> from_json([{"kind": "FirstTime", "key": ["card", "terminal"]}])
    (FirstTime(key=('card', 'terminal')),)
    """
    features = []
    for each in described:
        given = dict(each)
        kind = given.pop("kind", None)
        if kind not in _KINDS:
            known = ", ".join(_KINDS)
            raise ValueError(f"the kind of a feature must be one of {known}; got {kind!r}.")
        features.append(_KINDS[kind](**given))
    return checked(features)


def checked(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Return the features; raise if there are none, or two have the same name."""
    kept = tuple(features)
    if not kept:
        raise ValueError("features must contain at least one feature; got none.")
    names: set[str] = set()
    for each in kept:
        if type(each) not in _KINDS.values():
            raise TypeError(
                f"a feature must be one of {', '.join(_KINDS)}; got {type(each).__name__}."
            )
        if each.name in names:
            raise ValueError(f"features must differ; {each.name!r} comes twice, leave one out.")
        names.add(each.name)
    return kept


def columns_of(key: Key) -> tuple[str, ...]:
    """Return the columns of a key, as a tuple even if there is only one."""
    return (key,) if isinstance(key, str) else key


def key_columns(features: Iterable[Feature]) -> list[str]:
    """Return the columns that identify whose row it is, or are counted: card, terminal.

    >>> key_columns([Value("amount"), SinceLast("card"), FirstTime(("card", "shop"))])
    ['card', 'shop']
    """
    names: list[str] = []
    for each in features:
        names += columns_of(getattr(each, "key", ()))
        if isinstance(each, Recent) and each.what == "distinct" and each.of is not None:
            names.append(each.of)
    return list(dict.fromkeys(names))


def number_columns(features: Iterable[Feature]) -> list[str]:
    """Return the columns that are taken as numbers.

    >>> number_columns([Value("amount"), SinceLast("card"), ToUsual("card", "amount")])
    ['amount']
    """
    names = [
        getattr(each, "of", None)
        for each in features
        if not (isinstance(each, Recent) and each.what == "distinct")
    ]
    return list(dict.fromkeys(name for name in names if name is not None))


def key_name(key: Key) -> str:
    """Return the name of a key as it appears in the names of its features."""
    return "_and_".join(columns_of(key))


def _set_key(feature: Any) -> None:
    """Check the key; turn a list of columns into a tuple, and a tuple of one into its column."""
    key = feature.key
    if isinstance(key, list | tuple) and key and all(isinstance(each, str) for each in key):
        if len(set(key)) < len(key):
            raise ValueError(f"key must name each column once; got {key!r}.")
        object.__setattr__(feature, "key", key[0] if len(key) == 1 else tuple(key))
    elif not isinstance(key, str):
        raise TypeError(f"key must be the name of a column or a tuple of names; got {key!r}.")


def _check_window(window: str | None, what: str) -> None:
    if window is not None:
        _check_above_zero(window, "window", "a span")
    elif what in ("max", "distinct"):
        raise ValueError(
            f"window must be a span such as '30d' for {what!r}; got None: over everything before, "
            "the memory would have no bound."
        )


def _check_above_zero(span: str, name: str, be: str) -> None:
    if microseconds(span, name) == 0:
        raise ValueError(f"{name} must be {be} longer than 0; got {span!r}.")


def _joined(*parts: str | None) -> str:
    return "_".join(part for part in parts if part is not None)
