"""Where the data of a desk are: in its folder, or at an address without its password."""

import pytest

from toprank.live.desk_settings import DeskSettings
from toprank.live.store.database_address import VARIABLE, address_of, parsed, shown

WRITTEN = "postgresql://desk@db.example:5433/fraud"


@pytest.fixture(autouse=True)
def _without_variable(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_desk_without_an_address_is_in_its_folder_whatever_the_variable_says(
    tmp_path, monkeypatch
):
    assert address_of(tmp_path) is None
    DeskSettings().write(tmp_path)
    monkeypatch.setenv(VARIABLE, WRITTEN)
    assert address_of(tmp_path) is None


def test_the_variable_takes_the_place_of_the_address_in_the_settings(tmp_path, monkeypatch):
    DeskSettings(database=WRITTEN).write(tmp_path)
    assert shown(address_of(tmp_path)) == WRITTEN
    monkeypatch.setenv(VARIABLE, "postgresql://desk:secret@other.example/fraud")
    found = address_of(tmp_path)
    assert (found.host, found.password) == ("other.example", "secret")


def test_the_name_that_was_typed_is_in_the_error(tmp_path, monkeypatch):
    DeskSettings(database="mysql://a:secret@b/c").write(tmp_path)
    with pytest.raises(ValueError, match=r"database in .*desk\.toml must be an address") as raised:
        address_of(tmp_path)
    assert "got mysql://a@b/c" in str(raised.value) and "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgres://a@b/c", "postgresql://a@b/c"),
        ("postgresql+psycopg://a:x%40y@[::1]:5432/c", "postgresql://a@[::1]:5432/c"),
        (
            "postgresql://a:x@b/c?sslmode=verify-full&password=y",
            "postgresql://a@b/c?sslmode=verify-full",
        ),
        ("postgresql:///c?host=/run/postgresql", "postgresql:///c?host=%2Frun%2Fpostgresql"),
    ],
)
def test_addresses_are_shown_without_passwords_and_with_all_else(address, expected):
    assert shown(parsed(address, "--database")) == expected
