"""Sets of features for payments of cards at terminals."""

from toprank.payments.features.kinds import (
    Feature,
    FirstTime,
    KnownPositives,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
)


def handbook_features(
    card: str = "card", terminal: str = "terminal", amount: str = "amount", *, delay: str = "7d"
) -> tuple[Feature, ...]:
    """Return the 15 features of the Fraud Detection Handbook.

    The windows of a card include the payment itself; those of a terminal end `delay` before it.

    >>> len(handbook_features())
    15
    """
    windows = ("1d", "7d", "30d")
    return (
        Value(amount),
        Weekend(),
        Night(0, 7),
        *(Recent("count", card, window) for window in windows),
        *(Recent("mean", card, window, of=amount) for window in windows),
        *(Recent("count", terminal, window, until=delay) for window in windows),
        *(LabelRisk("share", terminal, window, delay) for window in windows),
    )


def default_features(
    card: str = "card",
    terminal: str = "terminal",
    amount: str = "amount",
    *,
    delay: str | None = "7d",
) -> tuple[Feature, ...]:
    """Return a rich set: the past of the card, of the terminal, and of the two together.

    Counts include the payment itself, so that a burst within one second shows; amounts are
    compared with those before it. `delay` is how late labels are known that have no time of their
    own; None leaves out features of labels.

    >>> features = default_features(delay=None)
    >>> [feature.name for feature in features][:3]
    ['amount', 'weekend', 'night_22_6']
    """
    windows = ("1h", "1d", "7d", "30d")
    features: list[Feature] = [Value(amount), Weekend(), Night(22, 6)]
    for window in windows:
        features += [
            Recent("count", card, window),
            Recent("sum", card, window, of=amount),
            Recent("mean", card, window, of=amount, until="before"),
            Recent("max", card, window, of=amount, until="before"),
            Recent("count", terminal, window),
            Recent("mean", terminal, window, of=amount, until="before"),
        ]
    for window in ("1d", "30d"):
        features += [
            Recent("distinct", card, window, of=terminal),
            Recent("distinct", terminal, window, of=card),
        ]
    features += [
        SinceLast(card),
        SinceLast(terminal),
        ToUsual(card, amount, "30d"),
        ToUsual(card, amount),
        ToUsual(terminal, amount, "30d"),
        FirstTime((card, terminal)),
        SinceLast((card, terminal)),
    ]
    if delay is not None:
        for window in ("1d", "7d", "30d"):
            features += [
                KnownPositives(terminal, window, delay),
                LabelRisk("share", terminal, window, delay),
            ]
    return tuple(features)
