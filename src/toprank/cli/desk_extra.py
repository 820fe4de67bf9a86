"""The libraries of the live system, which are installed with an extra."""

from importlib.util import find_spec

_NEEDED = (
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
