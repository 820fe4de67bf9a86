"""Made-up card payments with a few frauds among them, to learn on and to try things out.

Cards and terminals lie on a square; a card pays at the terminals near its home. Three patterns of
fraud run through the payments: amounts above a limit, terminals compromised for four weeks, and
cards compromised for two weeks. The frauds of a compromised terminal have ordinary amounts, so
only weak traces give them away. The figures are those published for the simulator of the Fraud
Detection Handbook (5,000 cards, 10,000 terminals), scaled to the size asked for; countries,
channels, merchant types and all options are ours.
"""

from toprank.simulator.demo_table import simulate
from toprank.simulator.output import Written, tables_by_day, write_parquet
from toprank.simulator.settings import PATTERNS, Simulation

__all__ = ["PATTERNS", "Simulation", "Written", "simulate", "tables_by_day", "write_parquet"]
