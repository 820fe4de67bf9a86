"""The days of a simulation, drawn one after the other."""

from collections.abc import Iterator

import numpy as np

from toprank.simulator.frauds import Frauds
from toprank.simulator.settings import Simulation, is_before_christmas
from toprank.simulator.simulated_payments import SimulatedPayments, Streams, draw_day, merged
from toprank.simulator.world import World, draw_world

CHRISTMAS_VOLUME = 0.5  # in addition to the usual volume of 1


def draw_days(simulation: Simulation) -> tuple[World, Iterator[SimulatedPayments]]:
    """Return the world and an iterator over the payments of its days."""
    streams = np.random.default_rng(simulation.random_state).spawn(11)
    world = draw_world(simulation.n_cards, simulation.n_terminals, streams[0])
    frauds = Frauds(world, simulation, streams[4], streams[5], streams[9])
    usual = Streams(*streams[1:4], *streams[6:9])
    at_christmas = Streams(*streams[10].spawn(len(Streams._fields)))
    return world, _days(world, simulation, frauds, usual, at_christmas)


def _days(
    world: World, simulation: Simulation, frauds: Frauds, usual: Streams, at_christmas: Streams
) -> Iterator[SimulatedPayments]:
    for day in range(simulation.n_days):
        honest = draw_day(world, day, simulation.volume, usual)
        if simulation.christmas and is_before_christmas(simulation.first_day + day):
            # Drawn from streams of their own, so that the usual payments do not change.
            more = CHRISTMAS_VOLUME * simulation.volume
            honest = merged(honest, draw_day(world, day, more, at_christmas))
        yield frauds.among(honest, day)
