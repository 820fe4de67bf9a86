import pytest
import sqlalchemy as sa

from toprank.live.store.compiled_statement import CompiledStatement

table = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("card", sa.Text, unique=True),
)
INSERT = CompiledStatement(table.insert())
BY_CARD = CompiledStatement(sa.select(table).where(table.c.card == sa.bindparam("card")))


@pytest.fixture
def connection():
    with sa.create_engine("sqlite://").connect() as connection:
        table.metadata.create_all(connection)
        yield connection


def test_what_it_inserts_sqlalchemy_finds(connection):
    INSERT.many(connection, [(1, "A"), (2, "B")])
    assert connection.execute(sa.select(table)).all() == [(1, "A"), (2, "B")]


def test_it_finds_what_sqlalchemy_inserts(connection):
    connection.execute(table.insert(), [{"number": 1, "card": "A"}])
    assert BY_CARD.one(connection, "A") == (1, "A")
    assert BY_CARD.one(connection, "B") is None


def test_it_finds_the_first_row_for_each_of_several_parameters(connection):
    INSERT.many(connection, [(1, "A"), (2, "B")])
    found = BY_CARD.first_of_each(connection, [("B",), ("C",), ("A",)])
    assert found == [(2, "B"), None, (1, "A")]


def test_it_finds_all_rows(connection):
    INSERT.many(connection, [(1, "A"), (2, "B")])
    everything = CompiledStatement(sa.select(table).order_by(table.c.number))
    assert everything.all(connection) == [(1, "A"), (2, "B")]


def test_an_error_is_one_of_sqlalchemy_and_does_not_name_the_card(connection):
    INSERT.many(connection, [(1, "card-007")])
    with pytest.raises(sa.exc.SQLAlchemyError) as raised:
        INSERT.many(connection, [(2, "card-007")])
    assert "UNIQUE" in str(raised.value) and "card-007" not in str(raised.value)


def test_it_is_part_of_the_transaction(connection):
    connection.commit()
    with connection.begin() as transaction:
        INSERT.many(connection, [(1, "A")])
        transaction.rollback()
    assert BY_CARD.one(connection, "A") is None
