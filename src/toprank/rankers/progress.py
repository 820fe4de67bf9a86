"""How long work says how far it has come: one signature for all of the package."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is in all."""


def silent(what: str, done: int, total: int) -> None:
    """Report to nobody."""


def renamed(progress: Progress | None, what: str) -> Progress | None:
    """Return a progress that reports every step under the name `what`; None stays None.

    >>> renamed(lambda *step: print(step), "MetaAP")("growing trees", 1, 20)
    ('MetaAP', 1, 20)
    """
    if progress is None:
        return None
    return lambda _, done, total: progress(what, done, total)
