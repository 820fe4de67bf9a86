"""The page is complete, readable by itself, harmless, and the same each time."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from blank_figures import draw_nothing
from toprank import MetaAP, metrics
from toprank.metrics import Interval
from toprank.present.report import (
    Alert,
    ColumnFacts,
    ModelFigures,
    Period,
    Report,
    Tree,
    TreeGroup,
    render_report,
    write_report,
)
from toprank.wording import decimal

EMPTY_TAGS = {"meta", "br", "path", "use", "rect"}
SECTIONS = [
    "alerts",
    "checks",
    "models",
    "curves",
    "calibration",
    "importance",
    "data",
    "parameters",
    "made-with",
]


class Page(HTMLParser):
    """The page's tags, ids, headings and shown text; `unclosed` stays empty if tags match."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.attributes = [], [], []
        self.headings, self.text, self.unclosed, self.mismatched = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._begin(tag, attrs)
        if tag not in EMPTY_TAGS:
            self.unclosed.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._begin(tag, attrs)

    def handle_endtag(self, tag):
        if tag in EMPTY_TAGS:
            return
        if self.unclosed.pop() != tag:
            self.mismatched.append(tag)

    def handle_data(self, data):
        if "style" not in self.unclosed:
            self.text.append(data)

    def _begin(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


def model_figures(name, y, suspicion, k):
    return ModelFigures(
        name=name,
        average_precision=metrics.interval("average_precision", y, suspicion),
        found=metrics.interval("found_at_k", y, suspicion, k=k),
        positives_at_top=metrics.interval("positives_at_top", y, suspicion),
        roc_auc=metrics.interval("roc_auc", y, suspicion),
        y=y,
        suspicion=suspicion,
        probability=1 / (1 + np.exp(4 - suspicion)),
    )


def made_report(n_rows=2000, rate=0.02, n_models=2, seed=0):
    generator = np.random.default_rng(seed)
    y = np.zeros(n_rows, dtype=bool)
    y[generator.choice(n_rows, max(1, int(rate * n_rows)), replace=False)] = True
    suspicion = generator.normal(size=n_rows) + 3 * y
    models = [
        model_figures(f"model {i}", y, suspicion + i * generator.normal(size=n_rows), 10)
        for i in range(n_models)
    ]
    top = np.argsort(-suspicion)[:5]
    alerts = [
        Alert(
            rank=place + 1,
            row=f"tx-{row}",
            suspicion=float(suspicion[row]),
            probability=0.834,
            reasons=["amount is 6 times the usual", "new terminal"],
            values={"card": "c-17", "amount": "412.50"},
            is_positive=bool(y[row]),
        )
        for place, row in enumerate(top)
    ]
    return Report(
        title="Card payments",
        headline="Expect about 8 frauds in your 10 checks (7-9)",
        budget=10,
        per_day=False,
        rows=4 * n_rows,
        positives=4 * int(y.sum()),
        periods=[Period("test", "2018-08-08", "2018-08-14", n_rows, int(y.sum()))],
        models=models,
        alerts=alerts,
        importance=[("amount", 0.75), ("hour", 0.25)],
        columns=[ColumnFacts("amount", "number", 0.031, "12 to 96, middle 48")],
        parameters={"loss": "ap-exp", "max_depth": "4"},
        remarks=["2% of the terminals are new."],
        made_with="toprank 0.1.0",
    )


@pytest.fixture(scope="module")
def report():
    return made_report()


@pytest.fixture(scope="module")
def page(report):
    return render_report(report)


@pytest.fixture
def without_figures(monkeypatch):
    draw_nothing(monkeypatch)


def test_every_section_is_there_in_reading_order(page):
    ids = Page(page).ids

    assert [each for each in ids if each in SECTIONS] == SECTIONS


def test_every_tag_is_closed_where_it_should_be(page):
    parsed = Page(page)

    assert parsed.unclosed == []
    assert parsed.mismatched == []


def test_headings_begin_at_one_and_skip_no_level(page):
    headings = Page(page).headings

    assert headings.count(1) == 1
    assert headings[0] == 1
    assert all(deeper - above <= 1 for above, deeper in pairwise(headings))


def test_the_page_needs_no_network_and_no_script(page):
    parsed = Page(page)
    addresses = [
        value for _, name, value in parsed.attributes if name in ("href", "src", "srcset")
    ]

    assert not re.search(r"https?:|//|@import|url\((?!#)", page)
    assert not {"script", "link", "img", "iframe", "object"} & set(parsed.tags)
    assert all(address.startswith("#") for address in addresses)
    assert not any(name.startswith("on") for _, name, _ in parsed.attributes)


def test_ids_are_unique_and_every_reference_meets_one(page):
    ids = Page(page).ids
    wanted = re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")]+)', page)

    assert len(ids) == len(set(ids))
    assert len(wanted) > 20
    assert set(wanted) <= set(ids)


def test_each_figure_has_a_title_and_its_words_are_text(page):
    figures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)

    assert len(figures) == 5
    assert all('role="img"' in figure and "<title" in figure for figure in figures)
    assert ">Number of checks</text>" in figures[0]
    assert "precision is" in figures[0]


def test_table_headings_say_what_they_head(page):
    parsed = Page(page)
    scopes = [value for tag, name, value in parsed.attributes if (tag, name) == ("th", "scope")]

    assert len(scopes) == parsed.tags.count("th")
    assert set(scopes) == {"col", "row"}
    assert parsed.tags.count("caption") == parsed.tags.count("table")


def test_the_page_says_what_the_report_holds(report, page):
    shown = " ".join(Page(page).text)

    assert report.headline in "".join(Page(page).text)
    for words in (
        "Card payments",
        "2% of the terminals are new.",
        "tx-",
        "83 %",
        "amount is 6 times the usual",
        "c-17",
        "model 0",
        "model 1",
        "2018-08-14",
        "3.1 %",
        "12 to 96, middle 48",
        "ap-exp",
        "Made with toprank 0.1.0",
    ):
        assert words in shown
    assert decimal(report.models[0].average_precision.value, 3) in shown


@pytest.mark.usefixtures("without_figures")
def test_verdicts_are_words_and_are_counted(report):
    verdicts = [True, False, None, True, False]
    alerts = [
        replace(alert, is_positive=verdict)
        for alert, verdict in zip(report.alerts, verdicts, strict=True)
    ]
    shown = " ".join(Page(render_report(replace(report, alerts=alerts))).text)

    assert shown.count("✓ right") == 2
    assert shown.count("✗ wrong") == 2
    assert shown.count("not known") == 1
    assert "Of the 4 with a known outcome, 2 were right." in shown


@pytest.mark.usefixtures("without_figures")
def test_without_verdicts_there_is_no_verdict_column(report):
    alerts = [replace(alert, is_positive=None) for alert in report.alerts]
    shown = " ".join(Page(render_report(replace(report, alerts=alerts))).text)

    assert "Verdict" not in shown
    assert "right." not in shown.split("What more or fewer")[0]


ATTACK = '<script>alert("1")</script>\x00\ud800 & $x$'


def test_no_text_of_the_user_becomes_markup(report):
    alert = replace(report.alerts[0], row=ATTACK, reasons=[ATTACK], values={ATTACK: ATTACK})
    attacked = replace(
        report,
        title=ATTACK,
        headline=ATTACK,
        periods=[Period(ATTACK, ATTACK, ATTACK, 10, 1)],
        models=[replace(model, name=ATTACK) for model in report.models],
        alerts=[alert],
        importance=[(ATTACK, 1.0)],
        columns=[ColumnFacts(ATTACK, ATTACK, 0.0, ATTACK)],
        parameters={ATTACK: ATTACK},
        remarks=[ATTACK],
        made_with=ATTACK,
    )
    page = render_report(attacked)
    parsed = Page(page)

    assert "script" not in parsed.tags
    assert parsed.unclosed == []
    assert "<script" not in page
    assert page.count("&lt;script") >= 18
    assert page.encode("utf-8").count(b"\x00") == 0


def test_names_in_any_script_are_drawn_without_complaint(report, recwarn):
    page = render_report(replace(report, importance=[("金額", 1.0)]))

    assert ">金額</text>" in page
    assert not [warning for warning in recwarn if "Glyph" in str(warning.message)]


def test_the_same_report_gives_the_same_bytes(report, page):
    assert render_report(made_report()) == page


@pytest.mark.parametrize("n_rows", [60_000, pytest.param(500_000, marks=pytest.mark.slow)])
def test_many_test_rows_stay_under_half_a_megabyte(n_rows):
    generator = np.random.default_rng(1)
    y = generator.random(n_rows) < 0.005
    figure = Interval(0.5, 0.4, 0.6)
    suspicion = generator.normal(size=y.size) + 2 * y
    models = [
        ModelFigures(
            f"model {i}", figure, figure, figure, figure, y, suspicion, np.full(y.size, 0.005)
        )
        for i in range(4)
    ]
    page = render_report(replace(made_report(), models=models))

    assert len(page.encode()) < 500_000


def test_one_model_and_a_single_positive_are_enough():
    report = made_report(n_rows=40, rate=0.01, n_models=1)

    assert report.models[0].y.sum() == 1
    assert [each for each in Page(render_report(report)).ids if each in SECTIONS] == SECTIONS


def test_empty_lists_leave_a_sentence_or_nothing_but_never_a_gap(report):
    bare = replace(
        report, alerts=[], importance=[], columns=[], periods=[], parameters={}, remarks=[]
    )
    parsed = Page(render_report(bare))
    shown = " ".join(parsed.text)

    assert [each for each in parsed.ids if each in SECTIONS] == SECTIONS
    assert "The list is empty." in shown
    assert "This model gives no shares of columns." in shown


def made_tree(names=("amount", "country")):
    generator = np.random.default_rng(0)
    amount = generator.gamma(2.0, 40.0, 1500)
    country = generator.choice(["FR", "<i>&", "US"], 1500)
    table = pa.table({names[0]: amount, names[1]: country})
    ranker = MetaAP().fit(table, (amount > 90) & (country != "FR"))
    groups = [
        TreeGroup(group.text().splitlines()[0], [(str(each), "3 in 4") for each in group.rules])
        for group in ranker.rules()
    ]
    return Tree(ranker.to_svg(), groups)


@pytest.fixture(scope="module")
def tree_page(report):
    return render_report(replace(report, tree=made_tree()))


def test_a_tree_follows_the_list_and_there_is_none_without(page, tree_page):
    ids = [each for each in Page(tree_page).ids if each in [*SECTIONS, "tree"]]

    assert ids == [SECTIONS[0], "tree", *SECTIONS[1:]]
    assert "tree" not in Page(page).ids
    assert "The tree" not in " ".join(Page(page).text)


def test_the_page_with_a_tree_is_whole_and_needs_no_other_file(tree_page):
    test_every_tag_is_closed_where_it_should_be(tree_page)
    test_headings_begin_at_one_and_skip_no_level(tree_page)
    test_the_page_needs_no_network_and_no_script(tree_page)
    test_ids_are_unique_and_every_reference_meets_one(tree_page)
    test_table_headings_say_what_they_head(tree_page)


def test_the_tree_is_drawn_in_its_own_size_under_one_title(tree_page):
    (figure,) = re.findall(r'<svg[^>]*id="tree-figure".*?</svg>', tree_page, re.DOTALL)
    (width,) = re.findall(r'^<svg[^>]* width="(\d+)"', figure)

    assert f"min-width: {0.75 * int(width):.0f}px" in figure
    assert 'role="img"' in figure
    assert figure.count("<title id=") == 1
    assert "Ranking tree" not in figure
    assert ">amount &gt; " in figure


def test_every_group_is_listed_with_its_rules(tree_page, report):
    shown = " ".join(" ".join(Page(tree_page).text).split())
    groups = made_tree().groups

    assert len(groups) > 1
    for group in groups:
        assert group.counts in shown
        assert all(f"{rule}: 3 in 4" in shown for rule, _ in group.rules)
    more = [TreeGroup("group 1 of 1", [], 2), TreeGroup("group 2 of 2", [], 1)]
    page = render_report(replace(report, tree=Tree(made_tree().svg, more)))
    assert "2 more rules that few rows meet, or none" in page
    assert "1 more rule that few rows meet, or none" in page


def test_no_text_in_a_tree_becomes_markup(report):
    drawn = made_tree(names=(ATTACK.replace("\ud800", ""), "country"))
    page = render_report(replace(report, tree=replace(
        drawn, groups=[TreeGroup(ATTACK, [(ATTACK, ATTACK)])]
    )))  # fmt: skip
    parsed = Page(page)

    assert "script" not in parsed.tags
    assert parsed.unclosed == []
    assert "<script" not in page
    assert "<i>&" not in page
    assert page.encode("utf-8").count(b"\x00") == 0


def test_a_report_without_models_is_refused(report):
    with pytest.raises(ValueError, match="models must hold at least one model"):
        render_report(replace(report, models=[]))


def test_figures_that_are_not_known_are_said_so(report):
    nothing = Interval(float("nan"), float("nan"), float("nan"))
    model = replace(report.models[0], found=nothing, positives_at_top=nothing)
    shown = " ".join(Page(render_report(replace(report, models=[model]))).text)

    assert "nan" not in shown
    assert "not known" in shown


def test_a_daily_budget_is_marked_over_all_days_of_the_test(report):
    shown = " ".join(Page(render_report(replace(report, per_day=True))).text)

    assert "where 10 checks a day make 70." in shown
    assert "70 checks" in shown


def test_a_daily_budget_of_a_test_of_unknown_length_is_not_marked(report):
    dateless = replace(report, per_day=True, periods=[Period("test", "row 1", "row 9", 9, 1)])
    shown = " ".join(Page(render_report(dateless)).text)

    assert "counted over the whole test, not by day" in shown
    assert "10 checks a day make" not in shown


def test_a_budget_above_the_number_of_test_rows_shows_all_of_them(report):
    shown = " ".join(Page(render_report(replace(report, budget=10**6))).text)

    assert "2,000 checks" in shown


def test_only_the_fifteen_largest_columns_are_drawn(report):
    many = [(f"column-{i}", i / 190) for i in range(20)]
    page = render_report(replace(report, importance=many))

    assert ">column-19</text>" in page
    assert ">column-5</text>" in page
    assert ">column-4</text>" not in page
    assert "The other 5 columns" in page


def test_write_report_leaves_the_page_and_nothing_else(report, page, tmp_path):
    write_report(report, tmp_path / "report.html")

    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_made_leaves_the_old_page(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="models"):
        write_report(replace(report, models=[]), path)

    assert path.read_text() == "old"


@pytest.mark.usefixtures("without_figures")
def test_a_failed_write_leaves_the_old_page_and_no_scraps(report, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full_disk(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_report(report, path)

    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.usefixtures("without_figures")
def test_a_folder_that_does_not_exist_is_named(report, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write"):
        write_report(report, tmp_path / "nowhere" / "report.html")
