"""The tables that follow from recorded days at served desks."""

import numpy as np
import pytest

from toprank_bench import find_experiment
from toprank_bench.runner import cells_of
from toprank_bench.served_days_section import served_days_section

N_DAYS = 60
FOUND = {"desk": 3, "static desk": 1, "nightly": 3, "static": 1, "online": 2, "hostile desk": 2}


def made_rows(experiment, methods=tuple(FOUND)):
    """A row for each cell of some methods, with as many cards found on every day."""
    rows = []
    for cell in cells_of(experiment):
        if cell.method not in methods:
            continue
        found = [FOUND[cell.method]] * N_DAYS
        by_day = {
            "low": [1.0] * N_DAYS, "high": [2.0] * 30 + [3.0] * 30, "chance": [0.9] * N_DAYS,
            "found": [float(each) for each in found],
        }  # fmt: skip
        accused = {"person:investigator-1": 12} if cell.method == "hostile desk" else {}
        desk = {"by_day": by_day, "accused": accused} if "desk" in cell.method else None
        rows.append(
            {
                "data": cell.data, "seed": cell.seed, "method": cell.method,
                "definition": experiment.definition(cell.data, cell.method),
                "figures": {"cards_found": sum(found)},
                "facts": {"found_by_day": found, "checked_by_day": [6] * N_DAYS, "desk": desk},
            }
        )  # fmt: skip
    return rows


@pytest.fixture
def experiment():
    return find_experiment("served-days")


def test_leads_are_those_of_all_days_and_seeds(experiment):
    lines = served_days_section(experiment, made_rows(experiment)).splitlines()

    n_seeds = len(experiment.seeds)
    static = f"| static desk | {n_seeds} | {n_seeds * 60} | {n_seeds * 180} | +2.00"
    assert any(line.startswith(static) and "3.0 (3.0 to 3.0)" in line for line in lines)
    assert any(line.startswith("| nightly") and "+0.00" in line for line in lines)


def test_ranges_are_pooled_over_seeds_by_phase_with_what_was_to_be_expected(experiment):
    lines = served_days_section(experiment, made_rows(experiment)).splitlines()

    held = {
        tuple(line.split(" | ")[:2]): line.split(" | ")[2:] for line in lines if "desk | " in line
    }
    n_seeds = len(experiment.seeds)
    days = [held["| desk", phase][0] for phase in ("before", "during", "after")]
    assert np.array(days, dtype=int).tolist() == [19 * n_seeds, 10 * n_seeds, 31 * n_seeds]
    assert held["| desk", "before"][1].startswith(".00")  # three, where at most two were expected
    assert held["| desk", "after"][1].startswith(".97")
    assert held["| desk", "after"][2] == ".90 |"


def test_what_a_hostile_person_costs_and_who_was_accused_is_there(experiment):
    section = served_days_section(experiment, made_rows(experiment))

    assert "the difference in cards per day is -1.00 (-1.00 to -1.00)" in section
    assert "| 0 | 0.500 | 0.333 | person:investigator-1 on day 13 |" in section


def test_parts_without_rows_are_left_out(experiment):
    assert served_days_section(experiment, []) == ""
    section = served_days_section(experiment, made_rows(experiment, ["desk"]))
    assert "How often the range" in section and "hostile" not in section
    assert "against each" not in section
