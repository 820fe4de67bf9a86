"""Tables of results: the best in bold, published values next to ours, names that stay names."""

import math
import re
import warnings
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from examples import examples
from toprank.present.report import markup
from toprank_bench.method_comparison import ComparisonWarning, MethodComparison
from toprank_bench.result_tables import html_parts, markdown_of, result_table

VALUES = {
    "adult": {"ours": [0.80, 0.82], "xgb": [0.70, 0.70]},
    "wine": {"ours": [0.60, 0.60], "xgb": [0.65, 0.65]},
    "yeast": {"ours": [0.90, 0.90], "xgb": [0.9001, 0.9001]},
    "glass": {"ours": [0.50, 0.50], "xgb": [0.40, 0.40]},
    "ecoli": {"ours": [0.70, 0.70], "xgb": [0.30, 0.30]},
}


def comparison_of(values=VALUES, **options):
    rows = [
        {"data": data, "seed": seed, "method": method, "value": value}
        for data, methods in values.items()
        for method, seeds in methods.items()
        for seed, value in enumerate(seeds)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ComparisonWarning)
        return MethodComparison.of(rows, **options)


def named(table, name):
    return next(row.cells for row in table.rows if row.name == name)


def lines_of(text):
    """The table in Markdown as rows of cells."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


class Texts(HTMLParser):
    """The texts of the cells of a page, and the names of its tags."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.tags, self.inside = [], set(), False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")
            self.inside = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def page_of(table, caption="Results"):
    return markup.table(*html_parts(table, caption))


def test_the_best_is_bold_and_the_last_rows_are_mean_and_mean_rank():
    cells = lines_of(markdown_of(result_table(comparison_of())))

    assert cells[0] == ["Data set", "ours", "xgb"]
    assert cells[2] == ["adult", "**0.810**", "0.700"]
    assert cells[3] == ["wine", "0.600", "**0.650**"]
    assert cells[-2:] == [["Mean", "**0.702**", "0.590"], ["Mean rank", "**1.40**", "1.60"]]


def test_what_is_shown_as_the_same_number_is_bold_alike():
    yeast = named(result_table(comparison_of()), "yeast")
    finer = named(result_table(comparison_of(), decimals=4), "yeast")

    assert [cell.is_best for cell in yeast] == [True, True]
    assert [cell.is_best for cell in finer] == [False, True]


def test_lower_is_better_when_the_comparison_says_so():
    published = {("wine", "ours"): 0.65, ("wine", "xgb"): 0.6}
    table = result_table(comparison_of(higher_is_better=False), published)
    ours, xgb = named(table, "wine")

    assert (ours.is_best, xgb.is_best) == (True, False)
    assert (ours.sign, ours.difference) == ("▲", "−0.050")
    assert (xgb.sign, xgb.difference) == ("▼", "+0.050")
    assert "Lower is better." in table.notes


def test_a_published_value_is_next_to_ours_with_the_difference_marked():
    published = {("wine", "ours"): 0.587, ("wine", "xgb"): 0.7, ("glass", "ours"): 0.5002}
    cells = lines_of(markdown_of(result_table(comparison_of(), published)))

    assert cells[3] == ["wine", "0.600 (0.587 ▲ +0.013)", "**0.650** (0.700 ▼ −0.050)"]
    assert cells[5] == ["glass", "**0.500** (0.500 =)", "0.400"]


@pytest.mark.parametrize(("tolerance", "sign"), [(0.012, "▲"), (0.013, "=")])
def test_a_difference_within_the_tolerance_is_none(tolerance, sign):
    table = result_table(comparison_of(), {("wine", "ours"): 0.587}, tolerance=tolerance)

    assert named(table, "wine")[0].sign == sign


@pytest.mark.parametrize(("theirs", "sign"), [(0.69, "="), (0.68, "▲"), (0.93, "="), (0.94, "▼")])
def test_a_published_value_within_the_interval_of_our_seeds_is_no_difference(theirs, sign):
    # .80 and .82: the mean .81 give or take 12.7 times .01
    table = result_table(comparison_of(), {("adult", "ours"): theirs})

    assert named(table, "adult")[0].sign == sign


def test_the_published_mean_is_shown_only_when_it_is_over_the_same_data_sets():
    published = {(data, "ours"): 0.5 for data in VALUES}
    whole = named(result_table(comparison_of(), published), "Mean")[0]
    del published["wine", "ours"]
    part = named(result_table(comparison_of(), published), "Mean")[0]

    assert (whole.published, whole.sign, whole.difference) == ("0.500", "▲", "+0.202")
    assert (part.published, part.sign) == ("", "")


def test_the_interval_of_the_mean_comes_from_the_seeds_of_all_data_sets():
    # only adult varies: .127 / 5 = .025 either way of .702
    signs = [
        named(result_table(comparison_of(), {(data, "ours"): theirs for data in VALUES}), "Mean")
        for theirs in (0.68, 0.67)
    ]

    assert [cells[0].sign for cells in signs] == ["=", "▲"]


def test_an_incomplete_data_set_is_shown_and_marked_but_not_counted():
    values = {**VALUES, "phoneme": {"ours": [0.99]}}
    table = result_table(comparison_of(values), {("phoneme", "xgb"): 0.5})
    ours, xgb = named(table, "phoneme *")

    assert (ours.ours, ours.is_best) == ("0.990", False)
    assert (xgb.ours, xgb.published, xgb.sign) == ("–", "0.500", "")
    assert named(table, "Mean") == named(result_table(comparison_of()), "Mean")
    assert any(note.startswith("* Not every method") for note in table.notes)
    assert any("phoneme (no value of xgb)" in note for note in table.notes)


def test_published_values_without_a_place_are_reported():
    published = {("adult", "catboost"): 0.5, ("iris", "ours"): 0.5, ("wine", "ours"): 0.5}
    notes = result_table(comparison_of(), published).notes

    assert "Published, but not run by us: catboost on adult, ours on iris." in notes


def test_signs_are_explained_only_where_they_are_used():
    with_published = result_table(comparison_of(), {("wine", "ours"): 0.5}, tolerance=0.01)

    assert not result_table(comparison_of()).notes
    assert "within 0.01, " in with_published.notes[0]
    assert "- In brackets" in markdown_of(with_published)


def test_nothing_is_written_as_minus_zero():
    values = {data: {"a": [-0.0001], "b": [-1.0]} for data in "uvwxy"}

    assert named(result_table(comparison_of(values)), "u")[0].ours == "0.000"


def test_html_says_in_words_what_the_signs_say():
    page = page_of(result_table(comparison_of(), {("wine", "ours"): 0.5, ("wine", "xgb"): 0.7}))

    assert '<span role="img" aria-label="better">▲</span> +0.100' in page
    assert '<span role="img" aria-label="worse">▼</span> −0.050' in page
    assert "<strong>0.650</strong>" in page
    assert "color" not in page


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).map(
    lambda name: f"x{name}x"
)
nasty = st.sampled_from(
    [
        "<b>x</b>",
        "a|b",
        r"a\|b",
        "*a*",
        "_a_",
        "`a`",
        "[a](b)",
        "~~a~~",
        "$a$",
        "&lt;",
        "a\nb",
        '"',
    ]
)


@examples(80)
@given(names | nasty, names | nasty)
def test_names_come_out_of_a_page_as_they_went_in(data, method):
    values = {name: {method: [0.5], "other": [0.4]} for name in [data, "b", "c", "d", "e"]}
    table = result_table(comparison_of(values))
    shown = {markup.printable(data), markup.printable(method)}
    page = page_of(table, caption=data)
    rendered = (
        MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown_of(table))
    )

    for read in (Texts(page), Texts(rendered)):
        assert {name.strip() for name in shown} <= {cell.strip() for cell in read.cells}
        assert not read.tags & {"b", "em", "code", "a", "s", "img"}
        assert len(read.cells) == 3 * 8


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"decimals": -1}, "decimals must be between 0 and 12; got -1"),
        ({"tolerance": -0.1}, "tolerance must be at least 0; got -0.1"),
        ({"published": {("wine", "ours"): math.nan}}, "published values must be finite; got nan"),
    ],
)
def test_options_that_make_no_sense_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        result_table(comparison_of(), **options)
