"""Who runs a command, as the audit of a desk has it, and times as commands print them."""

import getpass
import time


def actor(by: str | None = None) -> str:
    """Return what the audit calls `by`, or else the user of the machine."""
    try:
        return f"person:{by or getpass.getuser()}"
    except (OSError, KeyError):  # a user without a name, as in some containers
        return "person:command line"


def minute_text(microseconds: int | None) -> str | None:
    """Return a time to the minute, in UTC."""
    if microseconds is None:
        return None
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(microseconds / 1e6))
