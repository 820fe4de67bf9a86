"""Protocols: what is done with the data, seeds and methods of an experiment; one file each.

A protocol is a class as `contract.Protocol` describes it, with a line here.
"""

from toprank.bench.protocols.contract import Cell, Outcome, Protocol
from toprank.bench.protocols.stratified import StratifiedSplits

PROTOCOLS: dict[str, type[Protocol]] = {
    "stratified": StratifiedSplits,
}

__all__ = ["PROTOCOLS", "Cell", "Outcome", "Protocol"]
