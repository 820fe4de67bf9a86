"""Draw docs/images/mass-volume.png and anomaly-tree.svg, on the toy of the anomaly ranking paper.

    python -m benchmarks.pictures.anomalies

Detectors are those of the experiment anomaly-area; they learn from one draw, rows are of another.
"""

from pathlib import Path

from matplotlib.figure import Figure

from toprank import AnomalyTreeRank, metrics, plots
from toprank_bench import find_experiment
from toprank_bench.learners.detectors import make_detector
from toprank_bench.simulated.anomaly_data import AnomalySample, anomaly_sample

FOLDER = Path(__file__).parents[2] / "docs" / "images"
SHOWN = ("RankForest", "AnomalyTreeRank", "RankBoost")


def main() -> None:
    toy = anomaly_sample("toy", 0, 1)
    _curves(toy, anomaly_sample("toy", 1, 1)).savefig(FOLDER / "mass-volume.png", dpi=130)
    tree = AnomalyTreeRank(global_depth=2, local_depth=2, bounds=toy.bounds).fit(toy.rows)
    (FOLDER / "anomaly-tree.svg").write_text(tree.to_svg())
    print(f"Wrote mass-volume.png and anomaly-tree.svg to {FOLDER}")


def _curves(toy: AnomalySample, fresh: AnomalySample) -> Figure:
    """Return mass-volume and excess-mass curves of some detectors and of the true density."""
    suspicions = {"true density": lambda places: -toy.density(places)}
    experiment = find_experiment("anomaly-area")
    for name in SHOWN:
        method = experiment.method(name)
        detector = make_detector(method.learner, 0, method.parameters, toy.bounds)
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


if __name__ == "__main__":
    main()
