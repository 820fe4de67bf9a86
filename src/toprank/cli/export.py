"""`toprank export`: a model as ONNX, which scores without toprank."""

from pathlib import Path

import click

from toprank.cli.existing_files import force_option

EXAMPLES = """
\b
Examples:
  toprank export payments.toprank -o payments.onnx
"""


@click.command(epilog=EXAMPLES, short_help="Write a model as ONNX.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True,
    help="ONNX file to write, with the ending .onnx.",
)  # fmt: skip
@force_option
def export(model: Path, output: Path) -> None:
    """Write MODEL as ONNX: boosted trees, forests and their blends, with their calibration.

    The file takes each column under its name (or one matrix X, where the model learned from an
    array) and gives suspicion and probability, the same as MODEL to five decimals. It needs
    onnxruntime to run, and neither toprank nor Python.
    """
    from toprank import files
    from toprank.cli import paths, screen
    from toprank.data.atomic import atomic_path
    from toprank.integrations.onnx_export import to_onnx

    if output.suffix.lower() != ".onnx":
        raise click.UsageError(f"-o must name a file that ends in .onnx; got {output.name!r}.")
    paths.check_inputs(model)
    paths.check_output(output, model, "file of ONNX")
    ranker, manifest = files.open_model(model)
    written = to_onnx(ranker)
    with atomic_path(output) as unfinished:
        unfinished.write_bytes(written.SerializeToString())
    screen.remark(f"Wrote {output}")
    if "payments" in manifest["facts"]:
        screen.remark(
            "note: its inputs include what each card did before, as toprank.History computes it "
            "from the payments; ONNX scores these numbers and remembers no payment."
        )
