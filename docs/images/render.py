"""Draw docs/images/demo.svg: what `toprank demo` prints, as a picture of a terminal.

python docs/images/render.py
"""

import re
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
    picture = console.export_svg(title="toprank demo")
    # the picture must not fetch fonts: any monospaced one will do
    TARGET.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))
    print(f"Wrote {TARGET}")


if __name__ == "__main__":
    main()
