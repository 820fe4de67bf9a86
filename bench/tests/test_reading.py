"""Experiments from files: what is read, and the sentence for every mistake."""

import re

import pytest

import toprank_bench
from small_experiment import TEXT, experiment
from toprank_bench import ExperimentError
from toprank_bench.protocols import PROTOCOLS, Cell
from toprank_bench.runner import cells_of


@pytest.mark.parametrize("name", toprank_bench.names())
def test_every_declared_experiment_can_be_made_and_is_smaller_when_quick(name):
    whole = toprank_bench.find_experiment(name)
    quick = whole.made_quick()

    assert len(cells_of(quick)) <= len(cells_of(whole))
    assert quick.minutes is not None and whole.minutes is not None
    assert quick.minutes < whole.minutes
    assert quick.name == f"{name}-quick"
    assert quick.minutes <= 10
    protocol = PROTOCOLS[whole.protocol](whole)
    for method in whole.methods:
        why_not = protocol.why_not_method(method.name)
        assert why_not is None or "install" in why_not


def test_sets_have_seeds_and_methods_of_their_own():
    declared = experiment(
        ("[quick]", "[sets.second]\nseeds = [7]\nwithout = ['forest']\n\n[quick]"),
        ("[1, 2]\nmetrics", "{ from = 1, to = 2 }\nmetrics"),
    )
    assert cells_of(declared) == [
        Cell("first", 1, "log"),
        Cell("first", 1, "forest"),
        Cell("first", 2, "log"),
        Cell("first", 2, "forest"),
        Cell("second", 7, "log"),
    ]


def test_a_definition_changes_with_what_decides_figures_and_with_nothing_else():
    one = experiment().definition("first", "log")
    for old, new in (
        ("folds = 3", "folds = 4"),
        ("max_depth = [1, 2]", "max_depth = [1, 3]"),
        ('"log", warm', '"ap-exp", warm'),
        ("[quick]", "[sets.first]\ntuned = false\n[quick]"),
    ):
        assert experiment((old, new)).definition("first", "log") != one
    for old, new in (
        ("Two small sets", "Others"),
        ('"roc_auc"', '"best_f1"'),
        ("seeds = [1, 2]", "seeds = [1, 2, 3]"),
        ("log = 0.5", "log = 0.6"),
        ("n_estimators = 5", "n_estimators = 6"),
    ):
        assert experiment((old, new)).definition("first", "log") == one


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("title", "titel", "key 'titel' is not known; did you mean 'title'?"),
        ('title = "Two small sets"', "", "key 'title' must be there; it is not."),
        ('"Two small sets"', "3", "title must be a text; got 3."),
        ('"boosted"', '"bosted"', "methods.log: learner 'bosted' is not known; did you mean"),
        ("learner = ", "learnr = ", "key of methods.log 'learnr' is not known; did you mean"),
        ('"roc_auc"', '"roc_au"', "metric 'roc_au' is not known; did you mean 'roc_auc'?"),
        ('"roc_auc"', '"precision_at_k"', "metric 'precision_at_k' is not known; did you mean"),
        ('"roc_auc"', '"precision_at_k(0)"', "metric 'precision_at_k(0)' is not known"),
        ('"stratified"', '"random"', "protocol must be one of"),
        ("folds = 3", "fold = 3", "option 'fold' is not one of the protocol stratified; did you"),
        ("folds = 3", "folds = 1", "folds must be at least 2; got 1."),
        ("folds = 3", "one_generator = 1", "one_generator must be true or false; got 1."),
        ('"1/3"', '"4/3"', "test_share must be between 0 and 1, such as 0.3 or '1/3'; got '4/3'."),
        ('"1/3"', "true", "test_share must be between 0 and 1"),
        ("[1, 2]\nmetrics", "[1, 1]\nmetrics", "seeds must name each once; got 1 twice."),
        ("[1, 2]\nmetrics", "[]\nmetrics", "seeds must be a list of whole numbers or {from = 1,"),
        ("[1, 2]\nmetrics", "[1.5]\nmetrics", "seeds must be a whole number; got 1.5."),
        ("[1, 2], n_est", "2, n_est", "methods.log.grid.max_depth must be a list of values to"),
        ("average_precision.first", "average_precision.frist", "'frist', which is not in data"),
        ("published.average", "published.averag", "published names 'averag_precision', which is"),
        ("log = 0.5", "log = 'half'", "published.average_precision.first.log must be a number"),
        ('data = ["first"]', 'data = ["third"]', "quick.data names 'third', which is not in data"),
        ("[quick.grids.log]", "[quick.grids.lgo]", "quick.grids names 'lgo', which is not in"),
        ("[quick]", "[sets.third]\n[quick]", "sets names 'third', which is not in data"),
        ("[options]", "minutes = 0\n[options]", "minutes must be greater than 0; got 0."),
        ("[options]", "ranked = 1\n[options]", "ranked must be true or false; got 1."),
        (
            "[quick]",
            "[groups]\nbig = ['third']\n[quick]",
            "groups.big names 'third', which is not",
        ),
        (
            "[quick]",
            "[[targets]]\nwhat = 'a'\n[quick]",
            "targets[0] must have method; it has none.",
        ),
        (
            "[quick]",
            "[[targets]]\nwhat = 'a'\nmethod = 'log'\n[quick]",
            "targets[0] must have at_least, at_most or a rival; it has none.",
        ),
        (
            "[quick]",
            "[[targets]]\nwhat = 'a'\nmethod = 'lgo'\nat_least = 1\n[quick]",
            "targets[0].method names 'lgo', which is not in methods",
        ),
        (
            "[options]",
            "targets = 3\n[options]",
            "targets must be tables headed [[targets]]; got 3.",
        ),
        (
            "[quick]",
            "[[targets]]\nwhat = 'a'\nmethod = 'log'\nrival = 'forest'\nat_least = 1\n[quick]",
            "targets[0] must have bounds or a rival, whose mean is the bound; it has both.",
        ),
        ("title = ", "title == ", "small.toml must be TOML; "),
        ("[1, 2]\nmetrics", "[3000000000]\nmetrics", "seeds must be between 0 and 2147483647"),
        ('"1/3"', "inf", "test_share must be between 0 and 1"),
        (
            "n_estimators = 5 }",
            "n_estimators = 5, n_jobs = 2 }",
            "methods.forest must leave out 'n_jobs': the runner sets it.",
        ),
        (
            'loss = "log", warm',
            'max_depth = 3, loss = "log", warm',
            "methods.log must have 'max_depth' in parameters or in its grid; got both.",
        ),
        (
            "n_estimators = 5 }",
            "n_estimators = 2026-01-01 }",
            "methods.forest: 'n_estimators' must be a text, a number, true or false",
        ),
        (
            "parameters = { n_estimators = 5 }",
            "grid = { n_estimators = [5, 6] }",
            "equally many candidates in their grids, or uneven_grids must say why not; "
            "got log 4, forest 2.",
        ),
    ],
)
def test_a_mistake_in_a_file_gets_a_sentence(old, new, sentence):
    with pytest.raises(ExperimentError, match=re.escape(sentence)) as error:
        experiment((old, new))
    assert str(error.value).startswith("small.toml")
    assert "\n" not in str(error.value)


def test_uneven_grids_are_allowed_where_the_file_says_why_and_the_reason_is_a_note():
    declared = experiment(
        ("parameters = { n_estimators = 5 }", "grid = { n_estimators = [5, 6] }"),
        ("[options]", "uneven_grids = 'forests hardly need it'\n[options]"),
    )
    assert declared.notes == ("forests hardly need it",)


def test_one_method_alone_is_shown_and_not_ranked():
    alone = experiment(("[quick]\n", "[quick]\nmethods = ['log']\n"))
    assert alone.is_ranked and not alone.made_quick().is_ranked


def test_a_file_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes("title = 'Größe'".encode("latin-1"))
    with pytest.raises(ExperimentError, match=r"mine\.toml must be text in UTF-8; "):
        toprank_bench.find_experiment(str(path))


def test_an_experiment_is_found_by_name_or_by_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert toprank_bench.find_experiment(str(path)).name == "mine"
    with pytest.raises(ExperimentError, match="did you mean 'sgbap-table3'"):
        toprank_bench.find_experiment("sgbap-table")


def test_every_published_method_of_a_declared_experiment_is_one_that_some_paper_names():
    for name in toprank_bench.names():
        declared = toprank_bench.find_experiment(name)
        for by_place in declared.published.values():
            named = {method for _, method in by_place}
            held_against = {method.published_as for method in declared.methods}
            assert named & held_against, name
