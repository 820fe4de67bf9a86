"""How fast, against what one would use instead: races, each with the limit it must keep.

A race runs ours and a rival in turns within one process, so that what slows the machine slows
both, and gives the median of the rounds with their spread. Its row says on which machine, commit
and number of threads; the table is made from rows alone.
"""

from toprank.bench.speed.families import FAMILIES, chosen_races
from toprank.bench.speed.race import Measured, Race, Setting
from toprank.bench.speed.speed_runner import Raced, run
from toprank.bench.speed.standing import (
    RaceStanding,
    facts_of,
    markdown_of_races,
    picture_of,
    standing_of,
    text_of,
)

__all__ = [
    "FAMILIES",
    "Measured",
    "Race",
    "RaceStanding",
    "Raced",
    "Setting",
    "chosen_races",
    "facts_of",
    "markdown_of_races",
    "picture_of",
    "run",
    "standing_of",
    "text_of",
]
