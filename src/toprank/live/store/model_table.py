"""The models of a desk: what each learned from, how it compared, and who let it rank.

    training -> challenger -> champion -> retired
    failed                    a training that ended without a model

At most one model each is in training, the challenger and the champion. Files of models never
change, and none is removed.
"""

import json
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, Text, metadata

ModelState = Literal["training", "challenger", "champion", "retired", "failed"]

models = sa.Table(
    "models",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("file", Text, nullable=False, unique=True),
    sa.Column("state", Text, nullable=False),
    sa.Column("who", Text, nullable=False),  # who asked for it
    sa.Column("asked_at", sa.BigInteger, nullable=False),  # by the machine's clock
    sa.Column("asked_on", sa.Integer, nullable=False),  # the desk's day, counted from 1970
    sa.Column("first_day", sa.Integer),  # learned from, counted from 1970
    sa.Column("last_day", sa.Integer),
    sa.Column("n_rows", sa.Integer),
    sa.Column("frauds", Text, nullable=False),  # by the source of their labels
    sa.Column("figures", Text),  # of the comparison
    sa.Column("trained_at", sa.BigInteger),
    sa.Column("approver", Text),
    sa.Column("approved_at", sa.BigInteger),
    sa.Column("replaced", sa.BigInteger),  # the champion whose place it took
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("why", Text),  # it ended
)

_IS_ALONE = models.c.state.in_(
    [sa.literal_column(f"'{state}'") for state in ("training", "challenger", "champion")]
)
sa.Index(
    "one_model_per_state",
    models.c.state,
    unique=True,
    sqlite_where=_IS_ALONE,
    postgresql_where=_IS_ALONE,
)

FIRST = 1
"""The number of the model that a desk was made with."""


class StoredModel(NamedTuple):
    """A model as it is stored; days are counted from 1970, other times in microseconds."""

    number: int
    file: str
    state: ModelState
    who: str
    asked_at: int
    asked_on: int
    first_day: int | None = None
    last_day: int | None = None
    n_rows: int | None = None
    frauds: dict[str, int] = {}  # noqa: RUF012  (never changed)
    figures: dict[str, Any] | None = None
    trained_at: int | None = None
    approver: str | None = None
    approved_at: int | None = None
    replaced: int | None = None
    ended_at: int | None = None
    why: str | None = None


class ModelsInUse(NamedTuple):
    """The files of the champion and of the challenger, with the challenger's number."""

    champion: str
    challenger: str | None = None
    number: int | None = None


def file_name(number: int) -> str:
    """Return the name of a model's file.

    >>> file_name(2)
    '0002.toprank'
    """
    return f"{number:04}.toprank"


def add(connection: sa.Connection, model: StoredModel) -> None:
    """Store a model."""
    connection.execute(models.insert().values(_stored(model._asdict())))


def next_number(connection: sa.Connection) -> int:
    """Return the number of the next model."""
    return (connection.execute(sa.select(sa.func.max(models.c.number))).scalar() or 0) + 1


def by_number(connection: sa.Connection, number: int) -> StoredModel | None:
    """Return a model, None if there is none of this number."""
    return _first(connection, models.c.number == number)


def in_state(
    connection: sa.Connection, state: Literal["training", "challenger", "champion"]
) -> StoredModel | None:
    """Return the one model in a state, None if there is none."""
    return _first(connection, models.c.state == state)


def in_use(connection: sa.Connection) -> ModelsInUse | None:
    """Return what a server needs to know; None of a desk without models."""
    query = sa.select(models.c.state, models.c.file, models.c.number).where(
        models.c.state.in_(("champion", "challenger"))
    )
    found = {row.state: row for row in connection.execute(query)}
    if "champion" not in found:
        return None
    other = found.get("challenger")
    return ModelsInUse(found["champion"].file, *((other.file, other.number) if other else ()))


def newest(connection: sa.Connection, limit: int | None = None) -> list[StoredModel]:
    """Return the models, the newest first."""
    query = sa.select(models).order_by(models.c.number.desc()).limit(limit)
    return [_model(row) for row in connection.execute(query)]


def newest_of(connection: sa.Connection, who: str) -> StoredModel | None:
    """Return the newest model that somebody asked for, None if there is none."""
    return _first(connection, models.c.who == who)


def change_state(
    connection: sa.Connection, model: StoredModel, state: ModelState, **values: Any
) -> bool:
    """Move a model on from the state it was read in; return False if it has left it since."""
    changed = connection.execute(
        models.update()
        .where(models.c.number == model.number, models.c.state == model.state)
        .values(state=state, **_stored(values))
    )
    return changed.rowcount == 1


def _first(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> StoredModel | None:
    query = sa.select(models).where(condition).order_by(models.c.number.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None else _model(row)


def _stored(values: dict[str, Any]) -> dict[str, Any]:
    as_json = {
        name: json.dumps(values[name])
        for name in ("frauds", "figures")
        if values.get(name) is not None
    }
    return values | as_json


def _model(row: Any) -> StoredModel:
    figures = None if row.figures is None else json.loads(row.figures)
    return StoredModel(**{**row._mapping, "frauds": json.loads(row.frauds), "figures": figures})
