"""How long-running work reports its progress: one signature for the whole package."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the steps done so far and the total number of steps."""


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


def renamed(progress: Progress | None, what: str) -> Progress | None:
    """Return a callback that reports every step under the name `what`; None stays None.

    >>> renamed(lambda *step: print(step), "MetaAP")("growing trees", 1, 20)
    ('MetaAP', 1, 20)
    """
    if progress is None:
        return None
    return lambda _, done, total: progress(what, done, total)
