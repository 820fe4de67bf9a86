"""Mass-volume curves and a tree, on the toy of the anomaly ranking paper.

Detectors are those of the experiment anomaly-area; they learn from one sample and are drawn on the
rows of another.
"""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from toprank import AnomalyTreeRank, metrics, plots
from toprank_bench.learners.detectors import make_detector
from toprank_bench.reading import find_experiment
from toprank_bench.simulated.anomaly_data import anomaly_sample

_SHOWN = ("RankForest", "AnomalyTreeRank", "RankBoost")


def mass_volume(results: Path, folder: Path | None) -> Figure:
    """Return mass-volume and excess-mass curves of some detectors and of the true density."""
    toy, fresh = anomaly_sample("toy", 0, 1), anomaly_sample("toy", 1, 1)
    assert toy.density is not None
    density = toy.density
    suspicions: dict[str, Any] = {"true density": lambda places: -density(places)}
    experiment = find_experiment("anomaly-area")
    for name in _SHOWN:
        method = experiment.method(name)
        detector: Any = make_detector(method.learner, 0, method.parameters, toy.bounds)
        suspicions[name] = detector.fit(toy.rows).suspicion
    curves = {
        name: metrics.mass_volume_curve(suspicion(fresh.rows), suspicion(toy.points))
        for name, suspicion in suspicions.items()
    }
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.mass_volume_curves(curves, left)
    plots.excess_mass_curves(curves, right)
    return figure


def anomaly_tree(results: Path, folder: Path | None) -> str:
    """Return a tree of the toy as SVG."""
    toy = anomaly_sample("toy", 0, 1)
    tree = AnomalyTreeRank(global_depth=2, local_depth=2, bounds=toy.bounds)
    return tree.fit(toy.rows).to_svg()
