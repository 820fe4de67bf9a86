"""The pictures by file name, and writing them."""

from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from toprank.data import checks
from toprank.data.atomic import atomic_path
from toprank_bench.pictures import (
    anomaly_pictures,
    f_beta_picture,
    falling_positives_picture,
    metaap_pictures,
    online_pictures,
    sampling_pictures,
    tree_pictures,
)

PICTURES: dict[str, Callable[[Path, Path | None], Figure | str]] = {
    "anomaly-tree.svg": anomaly_pictures.anomaly_tree,
    "ap-by-depth.png": metaap_pictures.ap_by_depth,
    "ap-by-share.png": metaap_pictures.ap_by_share,
    "ap-f1-correlation.png": f_beta_picture.ap_by_best_f_beta,
    "falling-positives.png": falling_positives_picture.falling_positives,
    "mass-volume.png": anomaly_pictures.mass_volume,
    "onlb-convergence.png": online_pictures.convergence_curves,
    "onlb-latents-residual.png": online_pictures.latent_spaces,
    "precision-at-k.png": metaap_pictures.precision_by_k,
    "sampling-by-ratio.png": sampling_pictures.figures_by_share,
    "sampling-f1-by-threshold.png": sampling_pictures.f1_by_threshold,
    "yeast6-entropy-tree.svg": tree_pictures.entropy_tree,
    "yeast6-metaap.svg": tree_pictures.metaap_tree,
}
_DPI, _COLOURS = 110, 128


def write_pictures(
    results: Path,
    target: Path,
    *,
    only: Iterable[str] = (),
    folder: Path | None = None,
    report: Callable[[str], None] = lambda sentence: None,
) -> list[Path]:
    """Write pictures to a folder and return their paths; one that cannot be made is reported.

    `results` is the folder of the recorded rows, `folder` that of the data sets.
    """
    chosen = list(only) or list(PICTURES)
    for name in chosen:
        checks.one_of(name, "a picture", tuple(PICTURES))
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name in chosen:
        try:
            drawn = PICTURES[name](results, folder)
        except (ValueError, OSError) as error:
            report(f"{name} was not drawn: {error}")
            continue
        with atomic_path(target / name) as temporary:
            if isinstance(drawn, str):
                temporary.write_text(drawn, encoding="utf-8", newline="\n")
            else:
                _save(drawn, temporary)
        written.append(target / name)
    return written


def _save(figure: Figure, path: Path) -> None:
    """Write a PNG with a palette: a third of the size, and no difference to be seen."""
    image = BytesIO()
    figure.savefig(image, format="png", dpi=_DPI)
    Image.open(image).convert("RGB").quantize(_COLOURS).save(path, format="png", optimize=True)
