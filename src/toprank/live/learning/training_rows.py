"""What a desk can learn from: its payments as they were seen, with the labels that hold now.

Features are those stored with each payment when it came in, bit for bit what the champion saw, so
nothing is computed again. A day has matured when each of its payments has a label, or is so old
that silence counts as genuine; choices and figures are made on such days alone. The payments of
later days are learned from in the end: those without a label as genuine, and known frauds with
weights that make up for those that are not known yet. Fraud changes faster than days mature.

Payments that a rule denied and nobody labelled are left out: nobody reports a fraud that did not
happen, so their silence says nothing.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.desk import Desk, archive_of, fields_of
from toprank.live.store import drawn_payments, label_table
from toprank.live.store.label_table import DeskLabel
from toprank.payments.ledger.fraud_weights import fraud_weights
from toprank.payments.new_version import MaturedRows
from toprank.payments.payment_model import PaymentModel

BEFORE, SILENCE = "before the desk", "silence"
_TYPES = {"number": pl.Float64, "text": pl.Utf8, "boolean": pl.Boolean}
_DAY = 86_400_000_000  # microseconds


class RecentPayments(NamedTuple):
    """Rows of days that have not matured, and how many payments each represents."""

    table: pa.Table
    source: NDArray[np.str_]
    who: NDArray[np.str_]
    is_fraud: NDArray[np.bool_]
    weight: NDArray[np.float64]
    day: NDArray[np.int64]


class LabelledPayments(NamedTuple):
    """Rows of matured days in order of time, with features and label, and who said the label.

    `source` is that of the label that holds, and `who` has given it, if it is a verdict, or is
    empty; `is_verdict_alone` is whether nobody but an investigator has said anything of it.
    `recent` are the rows of later days.
    """

    table: pa.Table
    source: NDArray[np.str_]
    who: NDArray[np.str_]
    is_verdict_alone: NDArray[np.bool_]
    is_fraud: NDArray[np.bool_]
    day: NDArray[np.int64]
    recent: RecentPayments

    @property
    def matured(self) -> MaturedRows:
        """The same as a refit from a file has them."""
        return MaturedRows(self.table, self.is_verdict_alone, self.recent.day.size)

    @property
    def has_recent_frauds(self) -> bool:
        """Whether there is something to learn from recent days."""
        return bool(self.recent.is_fraud.any())

    @property
    def frauds(self) -> dict[str, int]:
        """How many frauds are known from whom, those of recent days included."""
        parts = (self, self.recent)
        sources = np.concatenate([each.source[each.is_fraud] for each in parts])
        return dict(sorted(Counter(sources.tolist()).items()))


def training_rows(
    desk: Desk, model: PaymentModel, now: int, without: Collection[str] = ()
) -> LabelledPayments:
    """Return the payments to learn from; `now` is the desk's time in microseconds.

    Verdicts of the people in `without` do not count, as if they had not been given.
    """
    # nobody else moves payments from the log to the archive, or removes them, meanwhile
    with desk.tidying(), desk.database.reading() as connection:
        stored = archive_of(desk, model).stored(connection)
        frame = _labelled(_labels(connection, without), stored).collect()
        drawn = drawn_payments.chances(connection)
    silence = int(desk.settings.silent / np.timedelta64(1, "us"))
    frame = _known_by(frame, now - silence)
    immature = frame.filter(pl.col("is_fraud").is_null())["day"].unique()
    is_recent = pl.col("day").is_in(immature.implode())
    used = frame.filter(~is_recent)
    if used.is_empty():
        raise ValueError(
            "a retrain needs days whose labels are all known; every day of the desk has payments "
            f"without a label that are more recent than {desk.settings.silence}; add labels, or "
            "try again later."
        )
    return LabelledPayments(
        _table_of(model, used),
        used["source"].to_numpy().astype(str),
        used["who"].to_numpy().astype(str),
        used["is_verdict_alone"].to_numpy(),
        used["is_fraud"].to_numpy(),
        used["day"].to_numpy(),
        _recent(model, frame.filter(is_recent), _claim_delays(used), drawn, now),
    )


def comparison_weights(rows: LabelledPayments) -> NDArray[np.float64]:
    """Return how much each row counts in a comparison with the champion; 0 leaves it out.

    Payments known by a verdict alone were checked because the champion listed their cards.
    Counting them would credit the champion with frauds that nobody would have reported otherwise,
    and charge the challenger for cards it was never checked on. Claims of card holders, and
    silence, do not depend on any list.
    """
    return np.where(rows.is_verdict_alone, 0.0, 1.0)


def _recent(
    model: PaymentModel,
    frame: pl.DataFrame,
    delays: NDArray[np.int64],
    drawn: Mapping[int, float],
    now: int,
) -> RecentPayments:
    """Return rows of days that have not matured; `delays` are those of claims, to the end."""
    frame = frame.with_columns(pl.col("is_fraud").fill_null(False))
    is_fraud = frame["is_fraud"].to_numpy()
    frauds = frame.filter("is_fraud")
    # whoever was on the list was checked for sure; a card that was drawn might not have been
    chance = [
        drawn.get(position, 1.0) if source == "investigator" else 0.0
        for position, source in frauds.select("position", "source").iter_rows()
    ]
    weight = np.ones(frame.height)
    age = now - frauds["paid_at"].dt.epoch("us").to_numpy()
    weight[is_fraud] = fraud_weights(chance, age, delays)
    source, who = (frame[name].to_numpy().astype(str) for name in ("source", "who"))
    return RecentPayments(
        _table_of(model, frame), source, who, is_fraud, weight, frame["day"].to_numpy()
    )


def _claim_delays(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Return the time from payment to claim of the frauds of matured days, in microseconds."""
    claims = frame.filter((pl.col("source") == "claim") & pl.col("is_fraud"))
    return (claims["known_at"] - claims["paid_at"].dt.epoch("us")).to_numpy()


def _labels(connection: sa.Connection, without: Collection[str]) -> list[DeskLabel]:
    """Return all labels, but the verdicts of some people."""
    return [
        each
        for each in label_table.after(connection, 0)
        if each.source != "investigator" or each.who not in without
    ]


def _labelled(labels: Sequence[DeskLabel], payments: pl.LazyFrame) -> pl.LazyFrame:
    """Return payments with the labels that hold, in one order however they are stored."""
    held = list(label_table.holding(labels).values())
    known = pl.LazyFrame(
        {
            "id": [each.id for each in held],
            "label": [each.is_fraud for each in held],
            "source": [each.source for each in held],
            "who": [each.who if each.source == "investigator" else "" for each in held],
            "known_at": [each.known_at for each in held],
            "is_verdict_alone": _are_verdicts_alone(labels, held),
        },
        schema={
            "id": pl.Utf8, "label": pl.Boolean, "source": pl.Utf8, "who": pl.Utf8,
            "known_at": pl.Int64,
            "is_verdict_alone": pl.Boolean,
        },
    )  # fmt: skip
    return payments.join(known, on="id", how="left").sort(
        ["paid_at", "position", "id"], nulls_last=False
    )


def _are_verdicts_alone(labels: Sequence[DeskLabel], held: Sequence[DeskLabel]) -> list[bool]:
    others = {each.id for each in labels if each.source != "investigator"}
    return [each.source == "investigator" and each.id not in others for each in held]


def _known_by(frame: pl.DataFrame, silent_before: int) -> pl.DataFrame:
    """Return payments with what is known of them; `is_fraud` is missing where nothing is yet."""
    moment = pl.col("paid_at").dt.epoch("us")
    is_said = pl.col("label").is_not_null() | pl.col("is_fraud").is_not_null()
    is_denied = pl.col("decision").eq_missing("block") if "decision" in frame else pl.lit(False)
    is_silent = moment < silent_before
    return frame.filter(is_said | ~is_denied).with_columns(
        day=moment // _DAY,
        source=pl.coalesce(
            "source", pl.when(pl.col("is_fraud").is_not_null()).then(pl.lit(BEFORE)),
            pl.lit(SILENCE),
        ),
        who=pl.col("who").fill_null(""),
        is_verdict_alone=pl.col("is_verdict_alone").fill_null(False),
        is_fraud=pl.coalesce("label", "is_fraud", pl.when(is_silent).then(pl.lit(False))),
    )  # fmt: skip


def _table_of(model: PaymentModel, frame: pl.DataFrame) -> pa.Table:
    """Return the columns that the champion learned from, each of the type of its field."""
    assert model.state_ is not None
    names = model.state_.history.names
    learned = {*model.ranker_.schema_.names, model.amount} - {*names}
    kinds = {each.name: each.kind for each in fields_of(model) if each.name in learned}
    roles = {"card": model.card, "terminal": model.terminal, "id": model.row_id}
    columns = {
        name: pl.col(name).cast(_TYPES[kind], strict=False)
        for name, kind in kinds.items()
        if kind in _TYPES and name in frame.columns
    }
    columns |= {str(name): pl.col(role).cast(pl.Utf8) for role, name in roles.items()}
    columns[str(model.time)] = pl.col("paid_at").cast(pl.Datetime("us"))
    columns |= {name: _finite(pl.col(name).cast(pl.Float64)) for name in names}
    positive, negative = model.classes_
    label = pl.when(pl.col("is_fraud")).then(pl.lit(positive)).otherwise(pl.lit(negative))
    columns[model.label_column] = label
    found = frame.select(**columns)
    return found.to_arrow().cast(_plain(found.to_arrow().schema))


def _finite(values: pl.Expr) -> pl.Expr:
    """Return values without those that a score does not see either: infinite ones."""
    return pl.when(values.is_finite()).then(values)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema with plain strings, as files have them."""
    types = (pa.string() if pa.types.is_large_string(t) else t for t in schema.types)
    return pa.schema(list(zip(schema.names, types, strict=True)))
