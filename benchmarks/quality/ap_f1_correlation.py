"""How closely average precision and the best F-beta agree over simulated rankings.

    python -m benchmarks.quality.ap_f1_correlation [--seeds 1] [--plot FILE] [--report]

Appendix A of the thesis: 10,000 rankings, each of M rows, M even in 100 to 10,000, with a share of
positives even in .01 to .5. Suspicions come from one of four pairs of distributions, chosen at
random. Of every ranking we take the average precision and the highest F-beta of any threshold, for
beta 1, .5 and 2; recorded are their correlations over all rankings and within each pair.

The appendix does not say how M and the share are drawn: "even" is its plain reading. Two others
draw one of them evenly in its logarithm, to show how much hangs on it. The last takes only
thresholds from 0 to 1, in steps of .01, as the figures of the thesis' chapter 2 have them: scores
of the normal pairs reach far beyond, so that their best threshold may be missed. It was added
after the plain reading had turned out far from the thesis' figure.

Seed 0 of the even reading is drawn by --plot. Rows recorded already are not run again.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.record import RESULTS, record
from matplotlib.figure import Figure
from scipy.stats import pearsonr, spearmanr

from toprank import metrics

NAME = "ap_f1_correlation"
N_RANKINGS = 10_000
ROWS, SHARES, BETAS = (100, 10_000), (0.01, 0.5), (1.0, 0.5, 2.0)
PUBLISHED = 0.91
"""The thesis' correlation for F1; it calls those of F0.5 and F2 similar."""

Drawn = Callable[[np.random.Generator, int], np.ndarray]
Bounds = tuple[float, float]

PAIRS: dict[str, tuple[Drawn, Drawn]] = {  # positives, negatives
    "N(0,1), N(0,1)": (
        lambda generator, n: generator.normal(0, 1, n),
        lambda generator, n: generator.normal(0, 1, n),
    ),
    "Beta(4,1), Beta(1,1)": (
        lambda generator, n: generator.beta(4, 1, n),
        lambda generator, n: generator.beta(1, 1, n),
    ),
    "Beta(1,1), Beta(1,4)": (
        lambda generator, n: generator.beta(1, 1, n),
        lambda generator, n: generator.beta(1, 4, n),
    ),
    "N(3,1), N(0,1)": (
        lambda generator, n: generator.normal(3, 1, n),
        lambda generator, n: generator.normal(0, 1, n),
    ),
}


def _even(generator: np.random.Generator, bounds: Bounds) -> float:
    return generator.uniform(*bounds)


def _even_in_logarithm(generator: np.random.Generator, bounds: Bounds) -> float:
    return float(np.exp(generator.uniform(*np.log(bounds))))


def _best_of_all(is_positive: np.ndarray, suspicion: np.ndarray, beta: float) -> float:
    return metrics.best_f_beta(is_positive, suspicion, beta).value


def _best_from_0_to_1(is_positive: np.ndarray, suspicion: np.ndarray, beta: float) -> float:
    n_positive = int(is_positive.sum())
    found, false = (
        part.size - np.searchsorted(np.sort(part), STEPS)
        for part in (suspicion[is_positive], suspicion[~is_positive])
    )
    return float(((1 + beta**2) * found / (beta**2 * n_positive + found + false)).max())


STEPS = np.linspace(0, 1, 101)
READINGS = {  # how M and the share of positives are drawn, and which thresholds are tried
    "even": (_even, _even, _best_of_all),
    "share even in its logarithm": (_even, _even_in_logarithm, _best_of_all),
    "M even in its logarithm": (_even_in_logarithm, _even, _best_of_all),
    "thresholds from 0 to 1": (_even, _even, _best_from_0_to_1),
}
COLOURS = ("#8a8f96", "#3f7d58", "#b4552d", "#1b5e9b")  # of the pairs, worst ranking first
GREY, INK = "#8a8f96", "#30363d"


def main() -> None:
    options = _options()
    if not options.report:
        for reading in READINGS:
            for seed in range(options.seeds):
                _record(reading, seed)
    if options.plot:
        _draw(*_simulated("even", seed=0), options.plot)
    _print_report()


def _record(reading: str, seed: int) -> None:
    """Record the correlations of one run, unless they are recorded."""
    if (reading, seed) in {(row["reading"], row["seed"]) for row in _recorded()}:
        return
    begin = time.perf_counter()
    pairs, values = _simulated(reading, seed)
    seconds = time.perf_counter() - begin
    record(
        NAME,
        reading=reading,
        seed=seed,
        n_rankings=N_RANKINGS,
        all=_correlations(values),
        by_pair={
            name: {"n": int((pairs == i).sum()), **_correlations(values[pairs == i])}
            for i, name in enumerate(PAIRS)
        },
        seconds=round(seconds, 1),
    )


def _simulated(reading: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each ranking's pair and its [AP, best F1, F0.5, F2]."""
    generator = np.random.default_rng(seed)
    draw_rows, draw_share, best = READINGS[reading]
    pairs = generator.integers(len(PAIRS), size=N_RANKINGS)
    values = np.empty((N_RANKINGS, 1 + len(BETAS)))
    for i, (positive, negative) in enumerate(list(PAIRS.values())[pair] for pair in pairs):
        n_rows = round(draw_rows(generator, ROWS))
        n_positive = max(round(n_rows * draw_share(generator, SHARES)), 1)
        is_positive = np.arange(n_rows) < n_positive
        suspicion = np.concatenate(
            [positive(generator, n_positive), negative(generator, n_rows - n_positive)]
        )
        values[i, 0] = metrics.average_precision(is_positive, suspicion)
        values[i, 1:] = [best(is_positive, suspicion, beta) for beta in BETAS]
    return pairs, values


def _correlations(values: np.ndarray) -> dict[str, dict]:
    """Return Pearson's r of AP with each best F-beta, its 95 % Fisher interval, and Spearman's."""
    return {
        f"F{beta:g}": {
            "pearson": round(float(pearson.statistic), 4),
            "interval": [round(float(end), 4) for end in pearson.confidence_interval()],
            "spearman": round(float(spearmanr(values[:, 0], values[:, 1 + i]).statistic), 4),
        }
        for i, beta in enumerate(BETAS)
        for pearson in [pearsonr(values[:, 0], values[:, 1 + i])]
    }


def _recorded() -> list[dict]:
    path = RESULTS / f"{NAME}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _print_report() -> None:
    print(f"\nCorrelation of AP with the best F-beta; the thesis has {PUBLISHED} for F1\n")
    print("| reading, seed | rankings | beta | Pearson (95 %) | Spearman |\n|---|---|---|---|---|")
    for row in _recorded():
        groups = {"all": row["all"] | {"n": row["n_rankings"]}, **row["by_pair"]}
        if (row["reading"], row["seed"]) != ("even", 0):  # the pairs once are enough to read
            groups = {"all": groups["all"]}
        for name, group in groups.items():
            for beta in BETAS:
                found = group[f"F{beta:g}"]
                low, high = found["interval"]
                print(
                    f"| {row['reading']}, {row['seed']} | {name}: {group['n']:,} | {beta:g} | "
                    f"{found['pearson']:.3f} ({low:.3f} to {high:.3f}) | {found['spearman']:.3f} |"
                )


def _draw(pairs: np.ndarray, values: np.ndarray, path: Path) -> None:
    """Draw AP against each best F-beta, a dot a ranking, a colour a pair."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    # mixed, so that no pair lies on top of the others
    mixed = np.random.default_rng(0).permutation(len(pairs))
    dots = np.array(COLOURS)[pairs[mixed]]
    for i, (ax, beta) in enumerate(zip(figure.subplots(1, len(BETAS)), BETAS, strict=True)):
        best = values[:, 1 + i]
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        ax.scatter(values[mixed, 0], best[mixed], s=2.5, c=dots, alpha=0.45, linewidths=0)
        correlation = pearsonr(values[:, 0], best).statistic
        ax.set_title(f"F{beta:g}, correlation {correlation:.2f}", size=10, color=INK)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set_xlabel("average precision", size=9, color=INK)
        ax.set_ylabel(f"best F{beta:g} of any threshold", size=9, color=INK)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(GREY)
        ax.tick_params(colors=INK, color=GREY, labelsize=9, length=3)
        ax.grid(color="#e7e9ec", linewidth=0.7)
        ax.set_axisbelow(True)
    for name, colour in zip(PAIRS, COLOURS, strict=True):
        ax.scatter([], [], s=20, color=colour, label=name)
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(PAIRS),
        frameon=False,
        fontsize=9,
        title="suspicions of positives, of negatives",
        title_fontsize=9,
    )
    figure.savefig(path, dpi=110, pil_kwargs={"optimize": True})
    print(f"Wrote {path}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="runs of each reading")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw AP by best F-beta")
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    return parser.parse_args()


if __name__ == "__main__":
    main()
