"""The stages: their figures and rows, what they find, and one whole run."""

import numpy as np
import pytest

from toprank_bench import pages
from toprank_bench.live_load import stage_rows
from toprank_bench.live_load.broken_requests import broken_bodies
from toprank_bench.live_load.desk_contents import n_different
from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome, none_of
from toprank_bench.live_load.live_runner import run_stages
from toprank_bench.live_load.live_stage import LiveStage
from toprank_bench.live_load.live_stages import STAGES, chosen_stages
from toprank_bench.live_load.live_world import LiveWorld
from toprank_bench.live_load.trivial_replies import quantiles
from toprank_bench.row_file import read_rows


@pytest.mark.parametrize(
    ("figure", "verdict", "shown"),
    [
        (LiveFigure("p99", 4.25, "ms", at_most=5), "met", "4.25"),
        (LiveFigure("p99", 5.5, "ms", at_most=5), "missed", "5.5"),
        (LiveFigure("rate", 500, "", at_least=500), "met", "500"),
        (LiveFigure("rate", 499, "", at_least=500), "missed", "499"),
        (LiveFigure("p99", np.inf, "ms", at_most=5), "missed", "never"),
        (LiveFigure("p50", 1.5, "ms"), "", "1.5"),
        (none_of("lost", 0), "met", "0"),
        (none_of("lost", 1), "missed", "1"),
    ],
)
def test_a_figure_is_compared_with_its_limit_and_survives_its_row(figure, verdict, shown):
    assert (figure.verdict, figure.shown) == (verdict, shown)
    assert LiveFigure.from_json(figure.to_json()) == figure


def test_quantiles_are_values_that_were_measured():
    values = np.array([1.0, 2.0, 3.0, np.inf])
    assert quantiles(values) == [2.0, np.inf, np.inf, np.inf]


def test_what_differs_is_counted_place_by_place():
    assert n_different([1, 2, 3], [1, 2, 3]) == 0
    assert n_different([1, 2, 3], [1, 5]) == 2


def test_broken_bodies_are_many_and_the_same_for_a_seed():
    template = {"payment": "p1", "card": "c1", "amount": 12.5}
    first, again = (list(broken_bodies(template, 140, seed=1)) for _ in range(2))
    assert first == again and len(set(first)) > 100


def test_stages_are_chosen_by_name():
    assert chosen_stages() == list(STAGES)
    with pytest.raises(ValueError, match=r"--only must be one of .* got 'speed'"):
        chosen_stages(["speed"])


def figures_stage(name, value):
    outcome = StageOutcome([LiveFigure("p99", value, "ms", at_most=5)], {"cores": 1.5})
    return LiveStage(name, "A stage", lambda _: outcome, {"rate": 100}, {}, 0.1)


def failing(_):
    raise OSError("the server did not start")


@pytest.fixture
def no_world(monkeypatch, tmp_path):
    world = LiveWorld(tmp_path / "world", tmp_path / "desk")
    monkeypatch.setattr(LiveWorld, "made", classmethod(lambda *_, **__: world))
    monkeypatch.setattr(LiveWorld, "n_before", 1_000)


def test_every_stage_gets_a_row_and_the_last_one_counts(no_world, tmp_path):
    stages = [figures_stage("first", 4.0), LiveStage("bad", "", failing, {}, {}, 0.1)]
    ran = run_stages(stages, tmp_path)
    run_stages([figures_stage("first", 6.0)], tmp_path)
    assert ran.failed == {"bad": "OSError: the server did not start"}
    rows = read_rows(ran.path)
    assert [row["stage"] for row in rows] == ["first", "bad", "first"]
    assert all(row["commit"] and row["machine"] and "seed" in row for row in rows)
    (last,) = stage_rows.last_rows(rows)
    assert stage_rows.table_lines([last]) == [["first", "p99", "6", "ms", "≤ 5", "missed"]]


def test_the_page_is_made_from_rows(no_world, tmp_path):
    run_stages([figures_stage("latency", 4.0)], tmp_path / "rows")
    pages.write_pages(tmp_path / "rows", tmp_path / "pages")
    page = (tmp_path / "pages" / "live.md").read_text("utf-8")
    assert "| latency | p99 | 4 | ms | ≤ 5 | met |" in page
    assert "rate 100; remembered payments 1,000; cores 1.5" in page
    targets, index = (tmp_path / "pages" / name for name in ("targets.md", "index.md"))
    assert "| latency | p99 | 4 | ms | ≤ 5 | met |" in targets.read_text("utf-8")
    assert "](live.md)" in index.read_text("utf-8")


@pytest.mark.slow
def test_a_quick_run_finds_nothing_lost_doubled_or_different(tmp_path):
    exact = ["kills", "live-equals-batch", "broken", "hostile-rules"]
    ran = run_stages(chosen_stages(exact), tmp_path, quick=True, folder=tmp_path / "data")
    assert not ran.failed
    figures = [each for row in ran.rows for each in stage_rows.figures_of(row)]
    assert [each for each in figures if each.verdict == "missed"] == []
