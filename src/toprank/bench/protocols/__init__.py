"""Protocols: what is done with the data, seeds and methods of an experiment; one file each.

A protocol is a class as `contract.Protocol` describes it, with a line here.
"""

from toprank.bench.protocols.correlation import SimulatedRankings
from toprank.bench.protocols.falling_positives import FallingPositives
from toprank.bench.protocols.mass_volume_excess import MassVolume
from toprank.bench.protocols.prequential import PrequentialFolds
from toprank.bench.protocols.progressive import ProgressiveValidation
from toprank.bench.protocols.protocol import Cell, Protocol, TrialOutcome
from toprank.bench.protocols.sampled import SampledInTime
from toprank.bench.protocols.simulation import SimulatedWorlds
from toprank.bench.protocols.stratified import StratifiedSplits
from toprank.bench.protocols.unlabelled import Unlabelled

PROTOCOLS: dict[str, type[Protocol]] = {
    "correlation": SimulatedRankings,
    "falling-positives": FallingPositives,
    "mass-volume": MassVolume,
    "prequential": PrequentialFolds,
    "progressive": ProgressiveValidation,
    "sampled": SampledInTime,
    "simulation": SimulatedWorlds,
    "stratified": StratifiedSplits,
    "unlabelled": Unlabelled,
}

__all__ = ["PROTOCOLS", "Cell", "Protocol", "TrialOutcome"]
