"""Sphinx directive `run`: commands of a page, run while the site is built, and what they print.

    ```{run}
    $ toprank simulate -o payments.parquet --cards 300
    $ toprank fit payments.parquet --label is_fraud \\
        --time paid_at
    ```

The blocks of a page run one after the other, in one process and one temporary folder. A block
`{run} python` is executed there as well; what it prints is shown below it, and `{name}` in a later
command becomes the value of that variable. A command that fails fails the build, unless `:exit:`
gives its exit code. `$DOCS` is this folder. `:lines:` shows only the first lines of each
output, and `:hidden:` runs a block without showing it.

Directive `shown` repeats commands of another page with their output, found by how they begin:

    ```{shown} tutorial
    toprank fit
    ```

The pages run two at a time, while Sphinx reads the other ones.
"""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

BLOCK = re.compile(r"^```\{run\}[ ]*(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
AT_A_TIME = 2
HERE = Path(__file__).parent
SHELL = re.compile(r"[|<>;&$*]")


class Step(NamedTuple):
    """One block of a page: its kind, options and commands (or Python code)."""

    kind: str
    options: dict[str, str]
    lines: list[str]


def steps_of(text: str) -> list[Step]:
    """Return the blocks of a page that are to be run.

    >>> steps_of("```{run}\\n:exit: 1\\n$ toprank fit \\\\\\n  x.csv\\n```\\n")
    [Step(kind='console', options={'exit': '1'}, lines=['toprank fit \\\\\\n  x.csv'])]
    """
    return [_step(kind or "console", block) for kind, block in BLOCK.findall(text)]


def _step(kind: str, block: str) -> Step:
    options = dict(re.findall(r"^:(\w+):[ ]*(.*)$", block, flags=re.MULTILINE))
    body = re.sub(r"^:\w+:.*\n", "", block, flags=re.MULTILINE)
    if kind == "python":
        return Step(kind, options, [body.rstrip("\n")])
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", body, flags=re.MULTILINE)
    return Step(kind, options, commands)


# ---- in the process that runs a page ---------------------------------------------------------


class _Screen(io.TextIOWrapper):
    """Collects what is printed, and passes for a terminal: people read the pages."""

    def isatty(self) -> bool:
        return True


def run_page(text: str) -> list[list[tuple[str, str]]]:
    """Return each command of a page with what it prints, by block; runs in the current folder."""
    names: dict[str, Any] = {"__name__": "__page__"}
    return [[_ran(step, line, names) for line in step.lines] for step in steps_of(text)]


def _ran(step: Step, line: str, names: dict[str, Any]) -> tuple[str, str]:
    if step.kind == "console":
        line = re.sub(r"\{(\w+)\}", lambda found: str(names[found[1]]), line)
    with tempfile.TemporaryFile() as file:
        with _printing_to(file):
            code = _run(step.kind, line, names)
        file.seek(0)
        printed = file.read().decode()
    if code != int(step.options.get("exit", 0)):
        raise RuntimeError(f"exit code {code}: {line}\n{printed}")
    return line, printed


@contextmanager
def _printing_to(file: Any) -> Iterator[None]:
    screen = _Screen(os.fdopen(os.dup(file.fileno()), "wb"), line_buffering=True)
    with screen, redirect_stdout(screen):
        errors = io.TextIOWrapper(os.fdopen(os.dup(file.fileno()), "wb"), line_buffering=True)
        with errors, redirect_stderr(errors):
            yield


def _run(kind: str, line: str, names: dict[str, Any]) -> int:
    if kind == "python":
        exec(compile(line, "<page>", "exec"), names)
        return 0
    if line.startswith("toprank ") and not SHELL.search(line):
        return _toprank(shlex.split(line.replace("\\\n", " "))[1:])
    out = sys.stdout.fileno()
    return subprocess.run(["bash", "-c", line], stdout=out, stderr=out, check=False).returncode


def _toprank(words: list[str]) -> int:
    from toprank.cli import main

    sys.argv = ["toprank", *words]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def main() -> None:
    """Run the page whose text comes on stdin; print its outputs as JSON."""
    if toprank := os.environ.get("TOPRANK_FOLDER"):
        os.environ["PATH"] = f"{toprank}:{os.environ['PATH']}"
    print(json.dumps(run_page(sys.stdin.read())))


# ---- in Sphinx -------------------------------------------------------------------------------


class Runs:
    """The outputs of all pages: begun when the build begins, taken when a page is read."""

    def __init__(self, folder: Path) -> None:
        self._pool = ThreadPoolExecutor(AT_A_TIME)
        self._of: dict[str, Future[list[Any]]] = {}
        for path in sorted(folder.rglob("*.md")):
            text = path.read_text()
            if BLOCK.search(text):
                page = path.relative_to(folder).with_suffix("").as_posix()
                self._of[page] = self._pool.submit(_outputs, page, text)

    def of(self, page: str) -> list[Any]:
        """Return the commands of a page with what they print, by block."""
        try:
            return self._of[page].result()
        except Exception:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise


def _outputs(page: str, text: str) -> list[Any]:
    environment = {**os.environ, "COLUMNS": "90", "OMP_NUM_THREADS": "1", "DOCS": str(HERE)}
    with tempfile.TemporaryDirectory() as folder:
        (shim := Path(folder, ".bin", "toprank")).parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{_ENTRY}" "$@"\n')
        shim.chmod(0o755)
        environment["TOPRANK_FOLDER"] = str(shim.parent)
        done = subprocess.run(
            [sys.executable, __file__],
            input=text, text=True, capture_output=True, cwd=folder, env=environment, check=False,
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the commands of {page}.md failed: {done.stderr}")
    return json.loads(done.stdout)


_ENTRY = "from toprank.cli import main; main()"


def setup(app: Any) -> dict[str, Any]:
    """Add the directive."""
    from sphinx.util.docutils import SphinxDirective

    runs: list[Runs] = []
    app.connect("builder-inited", lambda app: runs.append(Runs(Path(app.srcdir))))

    class Run(SphinxDirective):
        has_content = True
        optional_arguments = 1
        option_spec = {"exit": str, "lines": int, "hidden": bool}  # noqa: RUF012

        def run(self) -> list[Any]:
            page = self.env.docname
            seen = self.env.temp_data.setdefault("run_blocks", [0])
            place, seen[0] = seen[0], seen[0] + 1
            step = steps_of(Path(self.env.doc2path(page)).read_text())[place]
            outputs = runs[0].of(page)[place]
            if "hidden" in step.options:
                return []
            return [_block(_shown(step, outputs), step.kind)]

    class Shown(SphinxDirective):
        has_content = True
        required_arguments = 1

        def run(self) -> list[Any]:
            page = self.arguments[0]
            self.env.note_dependency(self.env.doc2path(page))
            steps = steps_of(Path(self.env.doc2path(page)).read_text())
            found = [_found(beginning, steps, runs[0].of(page)) for beginning in self.content]
            return [_block("\n".join(found), "console")]

    app.add_directive("run", Run)
    app.add_directive("shown", Shown)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def _block(text: str, language: str) -> Any:
    from docutils import nodes

    return nodes.literal_block(text, text, language=language)


def _found(beginning: str, steps: list[Step], blocks: list[Any]) -> str:
    for step, ran in zip(steps, blocks, strict=True):
        for line, output in ran:
            if line.startswith(beginning):
                return _shown(step, [(line, output)])
    raise ValueError(f"no command begins with {beginning!r}")


def _shown(step: Step, ran: list[tuple[str, str]]) -> str:
    most = int(step.options.get("lines", 0)) or None
    parts = []
    for line, output in ran:
        printed = output.rstrip("\n").split("\n") if output.strip() else []
        if most is not None and len(printed) > most:
            printed = [*printed[:most], "..."]
        parts += [f"$ {line}" if step.kind == "console" else line, *printed]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
