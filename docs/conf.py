"""Settings of the documentation site; `make docs` builds it.

Nothing here or on the pages is fetched from elsewhere, at build time or in the reader's browser.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

import toprank
import toprank.cli
import toprank.decisions

HERE = Path(__file__).parent
# shown_output is here; the experiments are described in the reference and need not be installed
sys.path[:0] = [str(HERE), str(HERE.parent / "bench" / "src")]

project = "toprank"
version = release = toprank.__version__

extensions = [
    "myst_nb",  # which brings myst_parser
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "shown_output",
]
exclude_patterns = ["images", "static", "templates"]
templates_path = ["templates"]

myst_enable_extensions = ["deflist"]
# links such as results.md#anomalies lead to headings, as on a code host
myst_heading_anchors = 4

# the notebooks are kept as text and run by the build; an error fails it
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True

# `name` in a docstring is code, as in Markdown, and quotes stay straight
default_role = "code"
smartquotes = False

autosummary_ignore_module_all = False  # a module's `__all__` says what is public in it
autosummary_context = {"learners": toprank.__all__}  # these have pages of their own
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
# the text after a parameter's colon is prose, not a name to look up
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

# names of other projects, and those deep inside ours, have no page to lead to
nitpick_ignore_regex = [("py:.*", r"(?!toprank\.).*"), ("py:.*", r"toprank(\.[a-z_]+){2,}\.\w+")]

html_theme = "furo"
html_title = f"toprank {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}


def setup(app: Sphinx) -> None:
    """Connect the functions below to the events of Sphinx."""
    # autosummary asks dir() whether there is an `__all__`, which this one leaves out
    vars(toprank.decisions).pop("__dir__", None)
    app.connect("source-read", add_help_texts)
    app.connect("source-read", add_results)
    app.connect("autodoc-skip-member", skip_members_of_others)
    app.connect("autodoc-process-signature", shorten_hints)
    app.connect("autodoc-process-docstring", read_as_plain_text, priority=400)  # 500: napoleon


def add_help_texts(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the help of every command on the page of commands."""
    if page == "commands":
        source[0] += "".join(
            f"\n## toprank {name}\n\n```text\n{_help_text(name, command)}\n```\n"
            for name, command in _all_commands(toprank.cli.commands)
        )


def add_results(app: Sphinx, page: str, source: list[str]) -> None:
    """List the pages of results under their first page, unless it does so itself."""
    if page == "results/index" and "{toctree}" not in source[0]:
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n../results\n*\n```\n"


def skip_members_of_others(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Return True for what a class has from scikit-learn, River or Python itself."""
    if name.startswith("set_") and name.endswith("_request"):
        return True  # scikit-learn makes these for every class
    source = getattr(member, "fget", member)
    home = getattr(getattr(source, "__objclass__", source), "__module__", None)
    return True if callable(source) and not str(home).startswith("toprank") else None


def shorten_hints(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str | None, str | None]:
    """Return the signature with NumPy's array types as they are written in the code."""
    return _shortened(signature), _shortened(returns)


def read_as_plain_text(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Change lines in place: an indented paragraph is code, a star or a bar means itself."""
    paragraphs: list[str] = []
    is_code = is_prose = False
    for paragraph in re.split(r"\n\s*\n(?=.)", "\n".join(lines)):
        is_code = paragraph.startswith("    ") and (is_code or is_prose)
        is_prose = not is_code and not paragraph.rstrip().split("\n")[-1].startswith(" ")
        if is_code:
            paragraphs += ["::", paragraph]
        else:
            paragraphs += [paragraph if ">>>" in paragraph else _escaped(paragraph)]
    lines[:] = "\n\n".join([*paragraphs, ""]).split("\n")


def _all_commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of a group and their full names, those of groups in it as well."""
    for name, command in group.commands.items():
        yield before + name, command
        if isinstance(command, click.Group):
            yield from _all_commands(command, f"{before}{name} ")


def _help_text(name: str, command: click.Command) -> str:
    parent = click.Context(toprank.cli.commands, info_name="toprank")
    context = click.Context(command, parent=parent, info_name=name, max_content_width=90)
    context.terminal_width = 90
    return command.get_help(context).rstrip()


def _escaped(text: str) -> str:
    """Return the text with a backslash before every star and bar outside of `code`."""
    return re.sub(r"(`[^`]*`)|([*|])", lambda found: found[1] or f"\\{found[2]}", text)


_ARRAY_LIKE = stringify_annotation(ArrayLike, "smart")
_ARRAY = re.compile(r"~numpy\.ndarray\[tuple\[.*?\], ~numpy\.dtype\[(.*?)\]\]")


def _shortened(hints: str | None) -> str | None:
    if not hints:
        return hints
    return _ARRAY.sub(r"NDArray[\1]", hints.replace(_ARRAY_LIKE, "ArrayLike"))
