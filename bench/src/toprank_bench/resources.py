"""What a piece of work takes: seconds of the processor, and memory."""

import gc
import os
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

_STAT = Path("/proc/stat")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_MEGABYTE = 2**20


def processor_seconds() -> float:
    """Return the seconds of this process and of those it has started.

    >>> processor_seconds() > 0
    True
    """
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class CoreSeconds(NamedTuple):
    """Seconds of all cores since the machine was started.

    `stolen` is the time in which work was ready to run, and the host of a virtual machine gave the
    core to another one.
    """

    busy: float
    stolen: float


def core_seconds() -> CoreSeconds:
    """Return how long all cores have worked, and were taken away; 0 on systems that do not say.

    >>> core_seconds().busy >= 0
    True
    """
    try:
        fields = _STAT.read_text().splitlines()[0].split()[1:9]
    except OSError:
        return CoreSeconds(0.0, 0.0)
    user, nice, system, _idle, _wait, interrupts, soft_interrupts, stolen = map(int, fields)
    tick = os.sysconf("SC_CLK_TCK")
    busy = user + nice + system + interrupts + soft_interrupts
    return CoreSeconds(busy / tick, stolen / tick)


def resident_bytes(what: str) -> int:
    """Return VmRSS, the bytes held now, or VmHWM, the most since the last `forget_peak`."""
    lines = _STATUS.read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(f"{what}:"))
    return 1024 * int(kilobytes)


def has_peak() -> bool:
    """Return whether this system reports the most that a process has held: Linux alone does."""
    return _STATUS.exists()


def forget_peak() -> None:
    """Let the peak begin anew, with what is held now; memory kept for reuse is given back."""
    import ctypes

    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)
    _RESET.write_text("5")


class PeakMemory:
    """The most memory that a piece of work takes, in megabytes beyond what was held before it.

    Work that is done by other processes counts with the largest of them. On systems that report
    no peak, it is None.

    >>> peak = PeakMemory()
    >>> peak.megabytes() is None or peak.megabytes() >= 0
    True
    """

    def __init__(self) -> None:
        if has_peak():
            forget_peak()
            self._before = resident_bytes("VmRSS")
            self._of_others = _largest_of_others()

    def megabytes(self) -> float | None:
        """Return the peak since this object was made."""
        if not has_peak():
            return None
        own = max(resident_bytes("VmHWM") - self._before, 0)
        others = _largest_of_others()
        return (own + (others if others > self._of_others else 0)) / _MEGABYTE


def _largest_of_others() -> int:
    import resource  # which not every system has

    return 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
