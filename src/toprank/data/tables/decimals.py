"""The decimal separator of a delimited file: a point, or the comma that much of Europe writes."""

import re
from collections.abc import Mapping, Sequence

_NUMBER = re.compile(
    r"""
    \s* [+-]?
    (?: \d{1,3} (?: [.\s'] \d{3} )+ (?=,)  # thousands set apart, as in 1.234,56
      | \d+
      | (?=[.,])                           # nothing before the separator, as in ,5
    )
    (?: ([.,]) \d+ )?
    (?: [eE] [+-]? \d+ )?
    \s*
    """,
    re.VERBOSE,
)


def decimal_examples(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a number with decimals from each column that has some and holds mostly numbers.

    >>> decimal_examples({"amount": ["73,37", "9"], "n_items": ["1", "2"], "shop": ["A", "1,5"]})
    {'amount': '73,37'}
    """
    examples = {name: _example(fields) for name, fields in columns.items()}
    return {name: example for name, example in examples.items() if example}


def decimal_separator(examples: Sequence[str]) -> str:
    """Return "," when all the examples have a comma; "." otherwise.

    >>> decimal_separator(["73,37", "1.234,56"]), decimal_separator(["73,37", "0.97"])
    (',', '.')
    """
    return "," if examples and all("," in example for example in examples) else "."


def _example(fields: Sequence[str]) -> str:
    numbers = [match for match in map(_NUMBER.fullmatch, fields) if match]
    if 2 * len(numbers) <= len(fields):
        return ""
    with_separator = {
        separator: [number[0] for number in numbers if number[1] == separator]
        for separator in ".,"
    }
    of_more_frequent = max(with_separator.values(), key=len)
    return max(of_more_frequent, key=len, default="")  # the longest shows thousands set apart
