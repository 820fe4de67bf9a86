"""Draw the SGBAP paper's Figure 4 from recorded rows: AP as positives become few.

python -m benchmarks.pictures.falling_positives
"""

from collections import defaultdict
from statistics import fmean

from benchmarks.pictures.rows import IMAGES, rows_of
from matplotlib.figure import Figure

from toprank.bench import find_experiment
from toprank.plots.canvas import calm

TARGET = IMAGES / "falling-positives.png"


def main() -> None:
    experiment = find_experiment("sgbap-figure4")
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows_of(experiment):
        share = 100 * row["facts"]["positives"] / row["facts"]["rows"]
        found[row["method"]][share].append(row["figures"]["average_precision"])
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = calm(figure.add_subplot())
    for number, method in enumerate(experiment.methods):
        shares = sorted(found[method.name])
        means = [fmean(found[method.name][share]) for share in shares]
        ax.plot(shares, means, f"o-C{number}", markersize=3, label=method.name)
    ax.set(xscale="log", yscale="log", xlabel="positives, per cent of the rows")
    ax.set_ylabel("AP, mean of three descents")
    ax.set_xticks(shares, [f"{share:.0f}" for share in shares])
    ax.minorticks_off()
    ax.set_yticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
    ax.legend(frameon=False)
    figure.savefig(TARGET, dpi=110)
    print(f"Wrote {TARGET}")


if __name__ == "__main__":
    main()
