"""What a desk contains, in numbers."""

from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from toprank.live.desk import Desk
from toprank.live.engine.lookups import time_text
from toprank.live.learning.model_words import training_words
from toprank.live.learning.retraining import is_training
from toprank.live.store import alert_table, audit_chain, model_table
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import payments, scores


@dataclass(frozen=True)
class DeskSummary:
    """The numbers of a desk; times are ISO text, None without payments."""

    n_payments: int
    first_paid_at: str | None
    last_paid_at: str | None
    n_blocked: int
    n_unscored: int
    n_open_alerts: int
    n_labels: int
    n_audit_entries: int
    n_snapshots: int
    position: int
    snapshot_position: int
    n_bytes: int
    model: int | None
    challenger: int | None
    last_retrain: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)

    def __str__(self) -> str:
        period = "" if self.n_payments == 0 else f", {self.first_paid_at} to {self.last_paid_at}"
        return "\n".join(
            [
                f"payments       {self.n_payments:,}{period}",
                f"  blocked      {self.n_blocked:,}",
                f"  not scored   {self.n_unscored:,}",
                f"open alerts    {self.n_open_alerts:,}",
                f"labels         {self.n_labels:,}",
                f"audit entries  {self.n_audit_entries:,}",
                f"snapshots      {self.n_snapshots}, the newest at payment "
                f"{self.snapshot_position:,} of {self.position:,}",
                f"model          {self.model}",
                f"challenger     {self.challenger or 'none'}",
                f"last retrain   {self.last_retrain or 'none'}",
                f"on disk        {self.n_bytes / 1e6:,.1f} MB",
            ]
        )


def desk_summary(desk: Desk) -> DeskSummary:
    """Return what a desk contains."""
    count, snapshots = sa.func.count, desk.snapshots.all()
    with desk.database.reading() as connection:
        n_payments, first, last, position = connection.execute(
            sa.select(
                count(),
                sa.func.min(payments.c.paid_at),
                sa.func.max(payments.c.paid_at),
                sa.func.max(payments.c.position),
            )
        ).one()
        is_blocked = payments.c.decision == "block"
        n_blocked = connection.execute(sa.select(count()).where(is_blocked)).scalar_one()
        n_scores = connection.execute(sa.select(count()).select_from(scores)).scalar_one()
        n_labels = connection.execute(sa.select(count()).select_from(labels)).scalar_one()
        return DeskSummary(
            n_payments,
            None if first is None else time_text(first),
            None if last is None else time_text(last),
            n_blocked,
            n_payments - n_scores,
            alert_table.n_open(connection),
            n_labels,
            audit_chain.n_entries(connection),
            len(snapshots),
            max(position or 0, snapshots[-1].position),
            snapshots[-1].position,
            sum(each.stat().st_size for each in desk.folder.rglob("*") if each.is_file()),
            *_models(desk, connection),
        )


def _models(desk: Desk, connection: sa.Connection) -> tuple[int | None, int | None, str | None]:
    """Return the numbers of champion and challenger, and what came of the last training."""
    champion, challenger = (
        model_table.in_state(connection, "champion"),
        model_table.in_state(connection, "challenger"),
    )
    last = next((each for each in model_table.newest(connection, 1) if each.number > 1), None)
    return (
        champion and champion.number,
        challenger and challenger.number,
        last and f"model {last.number}: {training_words(last, is_training(desk.folder))}",
    )
