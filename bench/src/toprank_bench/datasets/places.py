"""What a place answers when it does not have a data set."""

from typing import NamedTuple


class NotHere(NamedTuple):
    """Where was looked, in words, and what would make the set appear there, if anything would."""

    place: str
    way_out: str | None = None
