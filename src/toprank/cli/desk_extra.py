"""The libraries of the live system, which are installed with an extra."""

from importlib.util import find_spec

_NEEDED = (
    "polars",
    "sqlalchemy",
    "sqlglot",
    "starlette",
    "uvicorn",
    "prometheus_client",
    "jinja2",
)


def check_installed() -> None:
    """Raise, with the command that installs them, if libraries of the live system are missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"the live system needs {', '.join(missing)}; install it with: "
            "pip install 'toprank[desk]'"
        )
