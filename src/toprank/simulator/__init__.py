"""Simulated card payments with a few frauds among them, to learn from and to try things out.

Cards and terminals are placed on a square; a card pays at the terminals near its home. There are
three patterns of fraud: amounts above a limit, terminals compromised for four weeks, and cards
compromised for two weeks. Frauds at a compromised terminal have ordinary amounts, so they leave
only weak traces. The figures are those published for the simulator of the Fraud Detection Handbook
(5,000 cards, 10,000 terminals), scaled to the requested size; countries, channels, merchant types
and all options are ours.
"""

from toprank.simulator.demo_table import simulate
from toprank.simulator.output import (
    Written,
    tables_by_day,
    write_csv,
    write_folder,
    write_parquet,
)
from toprank.simulator.settings import PATTERNS, Simulation

__all__ = [
    "PATTERNS",
    "Simulation",
    "Written",
    "simulate",
    "tables_by_day",
    "write_csv",
    "write_folder",
    "write_parquet",
]
