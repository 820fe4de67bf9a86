"""How fast, against what one would use instead: races, each with the limit it must keep.

A race runs ours and a rival in turns within one process, so that what slows the machine slows
both, and gives the median of the rounds with their spread. Its row says on which machine, commit
and number of threads; the table is made from rows alone.
"""

from toprank_bench.speed.families import FAMILIES, chosen_races
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.race_summary import (
    RaceSummary,
    facts_of,
    markdown_of_races,
    picture_of,
    race_summary_of,
    text_of,
)
from toprank_bench.speed.speed_runner import Raced, run

__all__ = [
    "FAMILIES",
    "Measured",
    "Race",
    "RaceSummary",
    "Raced",
    "Setting",
    "chosen_races",
    "facts_of",
    "markdown_of_races",
    "picture_of",
    "race_summary_of",
    "run",
    "text_of",
]
