"""The libraries of the live system, which are installed with an extra."""

import os
from importlib.util import find_spec
from pathlib import Path

_NEEDED = (
    "alembic",
    "argon2",
    "polars",
    "sqlalchemy",
    "sqlglot",
    "starlette",
    "uvicorn",
    "prometheus_client",
    "jinja2",
)
_PACKAGES = {"argon2": "argon2-cffi"}


def check_installed() -> None:
    """Raise, with the command that installs them, if libraries of the live system are missing."""
    missing = [_PACKAGES.get(name, name) for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"the live system needs {', '.join(missing)}; install it with: "
            "pip install 'toprank[desk]'"
        )


PASSWORD_IS_NOT_KEPT = (
    "note: the password is not written down; give the whole address as TOPRANK_DATABASE whenever "
    "the desk is used, or keep the password in ~/.pgpass."
)


def without_password(address: str, option: str) -> str:
    """Return an address of a database as it is stored; all of it is used by this process."""
    from toprank.live.store.database_address import VARIABLE, parsed, shown

    found = shown(parsed(address, option))
    os.environ[VARIABLE] = address
    return found


def use_database(folder: Path, address: str) -> None:
    """Let this process, and those that it starts, use an address in place of a desk's own."""
    from toprank.live.desk_settings import NAME, DeskSettings

    if (folder / NAME).is_file() and not DeskSettings.read(folder).database:
        raise ValueError(
            f"--database is for a desk whose data are in PostgreSQL; those of {folder} are in its "
            f"folder; move them with: toprank desk move {folder} --to ADDRESS"
        )
    without_password(address, "--database")
