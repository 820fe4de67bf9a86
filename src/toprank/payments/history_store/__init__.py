"""The state of a payment model on disk: a folder that survives kills, and writes only changes.

    payments.history/
      lock                  held by the process that writes
      snapshot-000007       the history at the time when log 7 began
      log-000007            what was remembered, labelled and purged since
      labels.db             the label ledger, SQLite
      rows/                 the remembered rows with all their columns, Parquet parts

The history is its snapshot with the calls recorded in the log replayed on it.
"""

from toprank.payments.history_store.history_store import HistoryStore
from toprank.payments.history_store.writer_lock import StoreBusyError

__all__ = ["HistoryStore", "StoreBusyError"]
