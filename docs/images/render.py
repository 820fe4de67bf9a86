"""Draw docs/images/demo.svg: what `toprank demo` prints, as a picture of a terminal.

python docs/images/render.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

TARGET = Path(__file__).parent / "demo.svg"


def main() -> None:
    command = [str(Path(sys.executable).with_name("toprank")), "demo", "--folder"]
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run([*command, folder], capture_output=True, text=True, check=True)
    console = Console(record=True, width=112, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(Text("$ toprank demo", style="bold"))
    console.print(Text(printed.stdout.rstrip()))
    console.save_svg(str(TARGET), title="toprank demo")
    print(f"Wrote {TARGET}")


if __name__ == "__main__":
    main()
