"""A note to who waits at a terminal while numba compiles: the first use takes longer."""

import sys
from typing import Any

_listeners: list[Any] = []


def watch() -> None:
    """Print a note when code is compiled that is in no cache yet; at most one per process."""
    if _listeners or "numba" not in sys.modules or not sys.stderr.isatty():
        return
    from numba.core import event

    class Note(event.Listener):
        def on_start(self, event: Any) -> None:
            stop()
            from toprank.cli import screen

            screen.remark(
                "note: code is being compiled for its first use, which may take a minute; "
                "toprank warm-up does so ahead of time."
            )

        def on_end(self, event: Any) -> None:
            pass

    _listeners.append(Note())
    event.register("numba:compile", _listeners[0])


def stop() -> None:
    """Print no note any more."""
    if not _listeners:
        _listeners.append(None)
    elif _listeners[0] is not None:
        from numba.core import event

        event.unregister("numba:compile", _listeners[0])
        _listeners[0] = None
