"""Draw the SGBAP paper's Figure 4 from recorded rows: AP as positives become few.

python -m benchmarks.pictures.falling_positives
"""

from collections import defaultdict
from statistics import fmean

from benchmarks.pictures.rows import IMAGES, rows_of

from toprank import plots
from toprank.bench import find_experiment

TARGET = IMAGES / "falling-positives.png"


def main() -> None:
    experiment = find_experiment("sgbap-figure4")
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows_of(experiment):
        n_rows, n_positive = row["facts"]["rows"], row["facts"]["positives"]
        ratio = n_positive / (n_rows - n_positive)
        found[row["method"]][ratio].append(row["figures"]["average_precision"])
    lines = {
        method.name: {
            ratio: (fmean(values), min(values), max(values))
            for ratio, values in found[method.name].items()
        }
        for method in experiment.methods
    }
    ax = plots.metrics_by_ratio(lines)
    ax.set(ylabel="AP, with the range of the descents")
    ax.figure.savefig(TARGET, dpi=110)
    print(f"Wrote {TARGET}")


if __name__ == "__main__":
    main()
