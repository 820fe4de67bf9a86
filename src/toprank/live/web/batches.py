"""One object or a batch of them: `{"id": ...}`, or `{"payments": [{"id": ...}, ...]}`.

A batch is taken as a whole or not at all, so that a client never has to find out which part of it
was; sending it again is safe, since a payment counts once.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from toprank.live.web.request_errors import RequestError

LARGEST_ITEM = 64 << 10
LARGEST_BATCH = 8 << 20
MOST_ITEMS = 1_000
_MOST_ERRORS = 100

Item = TypeVar("Item")


class Batch(NamedTuple):
    """The values of a request that were not read yet, and whether they came in a list."""

    items: list[Any]
    is_list: bool


def batch_of(value: Any, name: str, n_bytes: int) -> Batch:
    """Return the items of a request's value: itself, or those of its list `name`.

    `n_bytes` is the size of the body.
    """
    if not (type(value) is dict and type(value.get(name)) is list):
        if n_bytes > LARGEST_ITEM:
            raise too_large(LARGEST_ITEM, "one item")
        return Batch([value], is_list=False)
    if len(value) > 1:
        other = next(each for each in value if each != name)
        raise RequestError.invalid(other, value[other], f"left out: a batch has {name!r} alone")
    items = value[name]
    if not 1 <= len(items) <= MOST_ITEMS:
        raise RequestError.invalid(name, len(items), f"a list of 1 to {MOST_ITEMS:,} items")
    return Batch(items, is_list=True)


def read_items(batch: Batch, read: Callable[[Any], Item], n_bytes: int) -> list[Item]:
    """Return all items, read; RequestError lists those that cannot be."""
    if not batch.is_list:
        return [read(batch.items[0])]
    found: list[Item] = []
    errors: list[dict[str, Any]] = []
    n_errors = 0
    for index, item in enumerate(batch.items):
        try:
            if n_bytes > LARGEST_ITEM and _size(item) > LARGEST_ITEM:
                raise too_large(LARGEST_ITEM, "an item of a batch")
            found.append(read(item))
        except RequestError as error:
            n_errors += 1
            if len(errors) < _MOST_ERRORS:
                errors.append({"index": index, **error.content()})
    if n_errors:
        raise RequestError.batch(len(batch.items), errors, n_errors)
    return found


def too_large(limit: int, what: str) -> RequestError:
    """Return the error of a body that is too large; the rest of it is not read."""
    words = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
    return RequestError(
        413, "too_large", f"{what} must have at most {words}.", {"expected": f"at most {words}"}
    )


def _size(item: Any) -> int:
    """Return about how many bytes of JSON an item is, in little time for the usual one."""
    if type(item) is not dict:
        return len(json.dumps(item))
    return sum(len(each) if type(each) is str else _size_of_value(each) for each in item.values())


def _size_of_value(value: Any) -> int:
    return len(json.dumps(value)) if type(value) in (dict, list) else 8
