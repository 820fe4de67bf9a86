"""Libraries that only an integration needs, imported when it is used."""

from importlib import import_module
from typing import Any


def imported(module: str, package: str, what: str) -> Any:
    """Return a module; an ImportError says what needs it and how to install it.

    >>> imported("json", "json", "this example").loads("[1]")
    [1]
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} needs {package}, which cannot be imported ({error}); install it with: "
            f"pip install {package}."
        ) from error
