"""The state of a payment model on disk: a folder that survives kills, and costs what changed.

    payments.history/
      lock                  who writes; held by one process at a time
      snapshot-000007       the history as it was when log 7 began
      log-000007            what was remembered, labelled and purged since
      labels.db             the label ledger, SQLite
      rows/                 the remembered rows with all their columns, Parquet parts

The history is its snapshot with the log replayed on it, by the calls that made it.
"""

from toprank.payments.history_store.history_store import HistoryStore
from toprank.payments.history_store.writer_lock import StoreBusyError

__all__ = ["HistoryStore", "StoreBusyError"]
