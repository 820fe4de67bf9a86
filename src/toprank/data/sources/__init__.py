"""Where rows are: files, folders and patterns, object stores, and the result of a query."""

from toprank.data.sources.databases import masked
from toprank.data.sources.file_places import STORE_SCHEMES, files_at, is_store_url
from toprank.data.sources.file_rows import FileRows
from toprank.data.sources.public_read import read
from toprank.data.sources.query_rows import QueryRows
from toprank.data.sources.run_tables import RunTable

__all__ = [
    "STORE_SCHEMES",
    "FileRows",
    "QueryRows",
    "RunTable",
    "files_at",
    "is_store_url",
    "masked",
    "read",
]
