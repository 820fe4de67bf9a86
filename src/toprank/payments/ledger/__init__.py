"""Labels with their source and the time at which they became known.

An investigator's verdict comes within the day, a card holder's claim weeks later, and most
payments never get either. What a ranker may learn from on a day, and how good it was, depends on
the labels known by then. So labels are only ever added to a ledger, a correction is one more
label, and `as_known` returns the labels that held at any moment:

1. labels known before the moment count, later ones do not;
2. of one row's labels the one known last holds; of those known at the same time an investigator's
   takes precedence over a claim and a claim over silence; of those equal in this too, the one
   added last holds;
3. silence holds only where there is no verdict or claim, however late it is dated.

A label dated by day alone, as `2025-03-01`, is therefore not yet known as that day begins.
"""

from toprank.payments.ledger.as_known import Known, Matured, mature
from toprank.payments.ledger.database import LedgerError
from toprank.payments.ledger.entries import Entries, Entry
from toprank.payments.ledger.holding import SOURCES, holds, strength
from toprank.payments.ledger.ledgers import Ledger, MemoryLedger, RecordedLabels, SqliteLedger

__all__ = [
    "SOURCES",
    "Entries",
    "Entry",
    "Known",
    "Ledger",
    "LedgerError",
    "Matured",
    "MemoryLedger",
    "RecordedLabels",
    "SqliteLedger",
    "holds",
    "mature",
    "strength",
]
