"""Names of tables in SQL."""


def split_name(table: str) -> tuple[str | None, str]:
    """Return the schema, if there is one, and the name of a table.

    >>> split_name("fraud.alerts"), split_name("alerts")
    (('fraud', 'alerts'), (None, 'alerts'))
    """
    schema, _, name = table.rpartition(".")
    return schema or None, name


def quoted_name(table: str) -> str:
    r"""Return the name of a table as SQL has it, whatever is in it.

    >>> print(quoted_name('fraud.alerts'), quoted_name('a"b; drop table x'))
    "fraud"."alerts" "a""b; drop table x"
    """
    return ".".join(
        f'"{part.replace(chr(34), chr(34) * 2)}"' for part in split_name(table) if part
    )
