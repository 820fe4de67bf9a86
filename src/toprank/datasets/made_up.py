"""Data sets that need no file, since they are made up when asked for."""

from toprank.datasets.dataset import Dataset
from toprank.datasets.places import NotHere
from toprank.transactions.simulator import simulate

_PAYMENTS = "simulated_payments"


def find(name: str) -> Dataset | NotHere:
    """Return the payments of the demo: 100 days of 800 cards, with features of their past."""
    if name != _PAYMENTS:
        return NotHere("the made-up sets")
    payments = simulate()
    return Dataset(
        name=name,
        features=payments.drop_columns(["is_fraud"]),
        is_positive=payments["is_fraud"].to_numpy(),
        positive="a fraud (simulated)",
        source="toprank.transactions.simulator.simulate()",
        metadata=payments.select([]),
        roles={"time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"},
    )


def names() -> list[str]:
    """Return the names of the sets that can be made up."""
    return [_PAYMENTS]
