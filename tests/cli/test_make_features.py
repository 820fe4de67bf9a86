"""`toprank features`, and `fit` and `rank` on the folder that it writes."""

import json

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from cli.running import one_sentence, run_main
from payments.feature_folder.folder_payments import write_days
from payments.payment_days import joined, made_days

ROLES = (
    "--label", "is_fraud", "--time", "paid_at", "--card", "card", "--terminal", "terminal",
    "--amount", "amount", "--id", "tx", "--delay", "2",
)  # fmt: skip
QUICK = ("--label", "is_fraud", "--trees", "20", "--effort", "quick", "--jobs", "1", "-k", "5")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with payments, their features and a model."""
    place = tmp_path_factory.mktemp("months")
    write_days(place / "payments", joined(made_days()))
    done = run_main("features", place / "payments", *ROLES, "-o", place / "features")
    assert done.exit_code == 0, done.stderr
    assert "payments of 40 days, each with 44 features." in done.stderr
    fitted = run_main(
        "fit", place / "features", *QUICK, "--rows", "3000", "-o", place / "months.toprank"
    )
    assert fitted.exit_code == 0, fitted.stderr
    assert "Learned from" in fitted.stderr
    return place


def test_a_finished_folder_is_left_alone(place):
    done = run_main("features", place / "payments", *ROLES, "-o", place / "features")
    assert done.exit_code == 0
    assert "nothing was done" in done.stderr


def test_fit_prints_figures_of_all_rows_and_writes_a_report(place):
    report = (place / "months.html").read_text(encoding="utf-8")
    notes = json.loads((place / "features" / "features.json").read_text(encoding="utf-8"))
    n_rows = sum(each[1] for each in notes["days"])
    assert f"{n_rows:,}" in report
    assert "Learned from" in report


def test_rank_lists_the_latest_day_with_the_columns_of_the_payments(place):
    output = place / "alerts.csv"
    done = run_main("rank", place / "months.toprank", place / "features", "-o", output)
    assert done.exit_code == 0, done.stderr
    alerts = pacsv.read_csv(output)
    assert alerts.num_rows == 5
    assert alerts.column_names[-7:] == made_days()[0].column_names
    assert {str(each.date()) for each in alerts["paid_at"].to_pylist()} == {
        str(made_days()[-1]["paid_at"][0].as_py().date())
    }
    assert "latest day of" in done.stderr


def test_rank_of_plain_payments_says_that_their_features_are_lacking(place):
    first = min((place / "payments").iterdir())
    done = run_main("rank", place / "months.toprank", first)
    assert done.exit_code == 2
    assert "must have the features of the past" in done.stderr


def test_rank_refuses_to_remember_and_other_features(place, tmp_path):
    done = run_main("rank", place / "months.toprank", place / "features", "--remember")
    assert done.exit_code == 2
    assert "--remember must be left out" in done.stderr
    others = [*ROLES[:-1], "3"]
    made = run_main("features", min((place / "payments").iterdir()), *others, "-o", tmp_path / "f")
    assert made.exit_code == 0, made.stderr
    done = run_main("rank", place / "months.toprank", tmp_path / "f")
    assert done.exit_code == 2
    assert "delay is '3d' and was '2d'" in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--card", "terminal"), "--card must be 'card', as in the features"),
        (("--delay", "7"), "--delay must be left out with a folder of features"),
        (("--decimal", ","), "--decimal must be left out with a folder of features"),
        (("--positive", "no"), "--positive must be True"),
    ],
)
def test_fit_refuses_what_the_folder_says_already(place, options, sentence):
    done = run_main("fit", place / "features", *QUICK, *options, "-o", place / "other.toprank")
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert not (place / "other.toprank").exists()


def test_rows_are_refused_for_a_file(place):
    first = min((place / "payments").iterdir())
    done = run_main("fit", first, *QUICK, "--rows", "3000", "-o", place / "other.toprank")
    assert done.exit_code == 2
    assert "--rows must come with a folder" in done.stderr


def test_mistakes_are_named_before_anything_is_written(tmp_path):
    source = write_days(tmp_path / "payments", joined(made_days()[:2]))
    target = tmp_path / "features"

    def refused(*options, data=source):
        done = run_main("features", data, *options, "-o", target)
        assert done.exit_code
        assert not target.exists()
        return done.stderr

    assert "--drop must not name" in refused(*ROLES, "--drop", "card")
    assert "must name different columns" in refused(*ROLES[:-3], "card")
    assert "there is no Parquet file" in refused(*ROLES, data=tmp_path / "none-*.parquet")
    assert "did you mean 'card'" in refused(
        *["crad" if each == "card" else each for each in ROLES]
    )
    broken = source / "broken.parquet"
    broken.write_bytes(b"PAR1 no more")
    assert "broken.parquet must be a complete Parquet file" in one_sentence(
        run_main("features", source, *ROLES, "-o", target)
    )
    pq.write_table(pa.table({"card": ["a"]}), broken)
    assert "is not in" in refused(*ROLES)


def test_a_folder_with_other_files_is_refused(tmp_path):
    source = write_days(tmp_path / "payments", joined(made_days()[:2]))
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    done = run_main("features", source, *ROLES, "-o", other)
    assert done.exit_code == 2
    assert "has other files and no features" in done.stderr
