"""The first screen of the results: made from rows, and plain about where toprank is behind."""

from toprank_bench.reading import find_experiment
from toprank_bench.rivals_section import EXPERIMENT, OURS, rivals_section
from toprank_bench.runner import cells_of


def rows(ap, left_out=()):
    """A row per cell, the average precision of a method given by its name."""
    experiment = find_experiment(EXPERIMENT)
    return [
        {
            "experiment": EXPERIMENT,
            **cell._asdict(),
            "definition": experiment.definition(cell.data, cell.method),
            "figures": {
                "average_precision": ap.get(cell.method, 0.5),
                "precision_at_k(100%)": 0.4,
                "seconds": 9.0 if cell.method == OURS else 2.0,
            },
            "facts": {"ap_interval": [0.1, 0.9]},
            "seconds": {},
            "commit": "c",
            "machine": "m",
        }
        for cell in cells_of(experiment)
        if cell.method not in left_out
    ]


def test_a_rival_that_is_ahead_is_named_on_every_data_set():
    experiment = find_experiment(EXPERIMENT)
    text = rivals_section(experiment, rows({OURS: 0.6, "CatBoost": 0.7}))
    assert f"on 0 of {len(experiment.data)} data sets" in text
    assert text.count("CatBoost (+0.100)") == len(experiment.data)
    assert "-0.100 (-0.100 to -0.100)" in text
    assert "It takes a median of 9 seconds. Faster are LightGBM" in text
    assert "On the ULB card payments, the intervals of LightGBM" in text


def test_where_nobody_is_ahead_the_page_says_so_and_the_closest_rival_comes_first():
    experiment = find_experiment(EXPERIMENT)
    text = rivals_section(experiment, rows({OURS: 0.8, "XGBoost": 0.7}))
    n_sets = len(experiment.data)
    assert f"on {n_sets} of {n_sets} data sets" in text
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0] for line in table[2:4]] == [f"| **{OURS}**", "| XGBoost"]


def test_a_method_that_was_not_measured_has_dashes():
    text = rivals_section(find_experiment(EXPERIMENT), rows({}, left_out=("AutoGluon",)))
    assert "| AutoGluon | – | – | – | – | – | – |" in text
