"""Protocols: what is done with the data, seeds and methods of an experiment; one file each.

A protocol is a class as `protocol.Protocol` describes it, with a line here.
"""

from toprank_bench.protocols.correlation import SimulatedRankings
from toprank_bench.protocols.falling_positives import FallingPositives
from toprank_bench.protocols.held_out import HeldOutTests
from toprank_bench.protocols.later_rows import LaterRows
from toprank_bench.protocols.mass_volume_excess import MassVolume
from toprank_bench.protocols.prequential import PrequentialFolds
from toprank_bench.protocols.progressive import ProgressiveValidation
from toprank_bench.protocols.protocol import Cell, Protocol, TrialOutcome
from toprank_bench.protocols.sampled import SampledInTime
from toprank_bench.protocols.simulation import SimulatedSamples
from toprank_bench.protocols.stratified import StratifiedSplits
from toprank_bench.protocols.trial import Trials
from toprank_bench.protocols.unlabelled import Unlabelled

PROTOCOLS: dict[str, type[Protocol]] = {
    "correlation": SimulatedRankings,
    "falling-positives": FallingPositives,
    "held-out": HeldOutTests,
    "later-rows": LaterRows,
    "mass-volume": MassVolume,
    "prequential": PrequentialFolds,
    "progressive": ProgressiveValidation,
    "sampled": SampledInTime,
    "simulation": SimulatedSamples,
    "stratified": StratifiedSplits,
    "trial": Trials,
    "unlabelled": Unlabelled,
}

__all__ = ["PROTOCOLS", "Cell", "Protocol", "TrialOutcome"]
