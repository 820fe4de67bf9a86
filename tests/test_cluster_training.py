"""Splitting, training and scoring on a cluster, held against the same rows in one place."""

from types import SimpleNamespace

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import approx

from toprank import cluster_training, splits, summary
from toprank.cluster_training import Roles, connected, prepare, train
from toprank.evaluation import evaluate
from toprank.imbalance.calibration import fit_sigmoid
from toprank.tables import TableError

FIRST_DAY = np.datetime64("2024-01-01T00:00", "us")


@pytest.fixture(scope="module")
def client():
    # one worker in this process: tests/cli has the training on two
    with (
        LocalCluster(
            n_workers=1, processes=False, threads_per_worker=1, dashboard_address=None
        ) as machines,
        Client(machines) as client,
    ):
        yield client


def made_payments(n_rows=1200, n_days=60):
    generator = np.random.default_rng(0)
    seconds = generator.integers(0, n_days * 86_400, n_rows)
    amount = generator.gamma(2.0, 40.0, n_rows).round(2)
    country = generator.choice(["FR", "DE", "US"], n_rows)
    is_fraud = ((amount > 130) & (country == "US")) | (generator.random(n_rows) < 0.02)
    paid_at = FIRST_DAY + seconds * np.timedelta64(1, "s")
    columns = {"paid_at": paid_at, "amount": amount, "country": country, "is_fraud": is_fraud}
    return pd.DataFrame({**columns, "number": np.arange(n_rows) + 0.5})


@pytest.fixture(scope="module")
def payments():
    return made_payments()


def in_files(frame, folder, n_files=3):
    """Write the rows to Parquet files, each of which holds rows of all days."""
    folder.mkdir(exist_ok=True)
    for i in range(n_files):
        frame.iloc[i::n_files].to_parquet(folder / f"{i}.parquet")
    return folder


@pytest.fixture
def source(payments, tmp_path):
    return in_files(payments, tmp_path / "payments")


def rows_learned_from(task):
    rows = cluster_training._training_rows(task, np.array(["usual", "fraud"]))
    return rows.compute().sort_values("number", ignore_index=True)


def rows_of(task, part):
    """Return the rows that the workers would choose for a part, one partition after another."""
    wanted = cluster_training._Wanted(task.roles, task.positive, task.split.lots[part])
    partitions = dask.compute(*task.frame.to_delayed(optimize_graph=False))
    return pd.concat(
        rows.iloc[cluster_training._chosen(rows, number, wanted).rows]
        for number, rows in enumerate(partitions)
    )


def in_part(frame, task, part):
    """Return the rows of a part by the times they were paid at."""
    begin, end = task.split.periods[part]
    return frame[(frame.paid_at >= begin) & (frame.paid_at <= end)]


# Splits


@settings(deadline=None, max_examples=100)
@given(
    st.dictionaries(st.integers(0, 60), st.integers(1, 9), min_size=2, max_size=40),
    st.none() | st.floats(0, 20).map(lambda days: round(days * 4) / 4),
)
def test_days_are_parted_as_on_one_machine(rows_of_day, gap_days):
    days = np.array(sorted(rows_of_day))
    assume(days[-1] - days[0] >= 20)  # in shorter spans, one machine parts moments
    n_rows = np.array([rows_of_day[day] for day in days])
    counts = cluster_training._LotCounts(days, n_rows, n_rows)
    gap = None if gap_days is None else np.timedelta64(round(gap_days * 86_400), "s")
    whole_gap = cluster_training._gap_days(days, gap) * splits.DAY

    time = np.repeat(days, n_rows).astype("datetime64[D]").astype("datetime64[us]")
    try:
        expected = splits.chronological(time, gap=whole_gap)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error).split(".")[0]):
            cluster_training._parted(days, n_rows, int(whole_gap / splits.DAY))
        return
    parts = cluster_training._parted(days, n_rows, int(whole_gap / splits.DAY))
    for part, rows in expected.parts().items():
        assert counts.inside(parts[part]).size == rows.size
        assert cluster_training._period(parts[part])[0] == expected.periods[part][0]
    if gap is not None:
        assert gap <= whole_gap < gap + splits.DAY


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(["usual", "usual", "fraud", None]), min_size=1, max_size=300),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_lots_drawn_hold_their_share_of_every_label(labels, seed, number):
    part = pa.table({"y": pa.array(labels, pa.string())})
    rows = cluster_training._rows_by_label(part, "y")
    drawn = [
        cluster_training._lots(SizedTable(part), number, Roles("y", None, seed), rows)
        for _ in range(2)
    ]

    np.testing.assert_array_equal(*drawn)
    for value, each in rows.items():
        assert each.size == labels.count(value)
        for share in (0.25, 0.6):
            below = np.count_nonzero(drawn[0][each] < 1000 * share)
            assert abs(below - share * each.size) <= 1


class SizedTable(SimpleNamespace):
    """A table with the length that a pandas partition has."""

    def __init__(self, table):
        super().__init__(table=table)

    def __len__(self):
        return self.table.num_rows


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 200), st.integers(0, 9)
)
def test_as_many_whole_lots_are_scored_as_the_limit_allows(n_rows, limit, seed):
    lots = np.arange(len(n_rows)) * 3
    counts = cluster_training._LotCounts(lots, np.array(n_rows), np.array(n_rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_training, "_MOST_SCORED", limit)
        chosen = cluster_training._sample(lots, counts, np.random.default_rng(seed))

    assert set(chosen) <= set(lots)
    n_scored = counts.inside(chosen).size
    assert n_scored <= limit or chosen.size == 1
    if sum(n_rows) <= limit:
        assert chosen.size == lots.size


def test_no_row_learned_from_comes_after_one_that_judges(client, source, payments):
    task = prepare(client, source, "is_fraud", time="paid_at", gap=np.timedelta64(9, "D"))
    learned = rows_learned_from(task)
    parts = {part: in_part(payments, task, part) for part in ("train", "validation", "test")}

    assert learned.number.tolist() == parts["train"].number.sort_values().tolist()
    assert ((learned.is_fraud == "fraud").to_numpy() == parts["train"].is_fraud.to_numpy()).all()
    assert parts["train"].paid_at.max() < parts["validation"].paid_at.min()
    gap = parts["test"].paid_at.min() - parts["validation"].paid_at.max()
    assert gap >= pd.Timedelta(days=9)
    for part, rows in parts.items():
        assert task.split.parts()[part] == (len(rows), rows.is_fraud.sum())
    assert task.is_positive == (len(payments), payments.is_fraud.sum())
    assert len(parts["test"]) == approx(len(payments) / 4, rel=0.1)


def test_without_times_the_seed_draws_the_parts(client, source, payments):
    tasks = [
        prepare(client, source, "is_fraud", drop=["paid_at"], random_state=seed)
        for seed in (0, 0, 1)
    ]
    first, same, other = (set(rows_learned_from(task).number) for task in tasks)
    parts = [rows_of(tasks[0], part) for part in ("train", "validation", "test")]

    assert first == same == set(parts[0].number)
    assert sorted(pd.concat(parts).number) == payments.number.tolist()
    assert 0.5 < len(first & other) / len(first) < 0.7
    shares = [rows.size / len(payments) for rows in tasks[0].split.parts().values()]
    assert shares == approx([0.6, 0.15, 0.25], abs=0.005)
    assert sum(rows.size for rows in tasks[0].split.parts().values()) == len(payments)
    text = summary.periods_line(tasks[0])
    assert text == "drawn at random: train 60 % | validate 15 % | test 25 %"


# Training and figures


def test_figures_and_probabilities_are_those_of_the_rows_in_one_place(client, source, payments):
    told = []
    task = prepare(client, source, "is_fraud", time="paid_at", progress=lambda *a: told.append(a))
    trained = train(
        client, task, 3, loss="log", n_estimators=8, progress=lambda *a: told.append(a)
    )
    ranker = trained.chosen.ranker

    apart, test = (in_part(payments, task, part) for part in ("validation", "test"))
    calibration = fit_sigmoid(apart.is_fraud, ranker.suspicion(apart))
    assert ranker.calibration_ == approx(calibration, rel=1e-6)
    local = evaluate(
        test.is_fraud,
        ranker.suspicion(test),
        ranker.probability(test),
        3,
        splits.days(test.paid_at.to_numpy()),
    )
    figures = trained.chosen.test
    assert sorted(figures.suspicion) == approx(sorted(local.suspicion))
    for name in ("average_precision", "found", "positives_at_top", "roc_auc"):
        assert getattr(figures, name).value == approx(getattr(local, name).value), name
    assert figures.average_precision.value > 0.4
    for what in ("counting rows", "growing trees", "scoring"):
        steps = [(done, total) for name, done, total in told if name == what]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_beyond_the_limit_whole_days_are_drawn_and_it_is_said(
    client, source, payments, monkeypatch
):
    monkeypatch.setattr(cluster_training, "_MOST_SCORED", 150)
    task = prepare(client, source, "is_fraud", time="paid_at")
    test = train(client, task, 3, n_estimators=2).chosen.test
    days, n_rows = np.unique(test.day, return_counts=True)

    assert 100 < test.day.size <= 150
    all_days = payments.paid_at.to_numpy().astype("datetime64[D]").astype(int)
    assert n_rows.tolist() == [np.count_nonzero(all_days == day) for day in days]
    n_test = task.split.rows["test"].size
    assert task.remarks() == [
        f"the figures are of {test.day.size} of {n_test} test rows, in whole days drawn at random."
    ]


def test_rows_without_a_label_are_counted_and_left_out(client, payments, tmp_path):
    labels = payments.is_fraud.map({True: "yes", False: "no"})
    labels[payments.index % 10 == 0] = None
    labels[payments.index % 10 == 1] = "NA"
    source = in_files(payments.assign(is_fraud=labels), tmp_path / "some")
    task = prepare(client, source, "is_fraud", time="paid_at", positive_label="no")

    assert task.remarks() == ["240 rows without a label were left out."]
    assert task.is_positive == (960, (labels == "no").sum())
    assert (task.positive, task.negative) == ("no", "yes")
    assert len(rows_learned_from(task)) == task.split.parts()["train"].size


@pytest.mark.parametrize(
    ("kinds", "positive"),
    [(("int64", "Int32"), "1"), (("float64", "float32"), "1"), (("boolean", "bool"), "true")],
)
def test_labels_may_be_of_several_types(client, payments, tmp_path, kinds, positive):
    for i, kind in enumerate(kinds):
        frame = payments.iloc[i::2].astype({"is_fraud": kind})
        frame.to_parquet(tmp_path / f"{i}.parquet")
    payments[:0].to_parquet(tmp_path / "2.parquet")
    task = prepare(client, tmp_path, "is_fraud", time="paid_at", positive_label=positive)

    assert task.is_positive == (len(payments), payments.is_fraud.sum())
    assert (rows_learned_from(task).is_fraud == "fraud").sum() == (
        task.split.parts()["train"].n_positive
    )


def test_times_that_pandas_wrote_as_an_index_are_a_column(client, payments, tmp_path):
    payments.set_index("paid_at").to_parquet(tmp_path / "payments.parquet")
    task = prepare(client, tmp_path / "payments.parquet", "is_fraud", time="paid_at")

    assert task.features == ["amount", "country", "number"]


# What is refused


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"is_fraud": 0}, "label column 'is_fraud' must hold two classes; it holds one class"),
        ({"is_fraud": range(1200)}, "label column 'is_fraud' must hold two classes; it holds 4"),
        ({"is_fraud": None}, "label column 'is_fraud' must hold two classes; all its values"),
        ({"amount": np.inf}, "column 'amount' must hold finite numbers"),
        ({"paid_at": "soon"}, "column 'paid_at' must hold ISO times"),
        ({"paid_at": "2024-01-01"}, "the test part would be empty. Bring more rows or days"),
        ({"is_fraud": np.arange(1200) == 7}, "part must hold both classes; got"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(client, payments, tmp_path, changes, sentence):
    source = in_files(payments.assign(**changes), tmp_path / "bad")
    with pytest.raises(ValueError, match=sentence):
        prepare(client, source, "is_fraud", time="paid_at")


def test_files_that_cannot_be_used_are_refused(client, source):
    (source.parent / "empty").mkdir()
    (source.parent / "torn.parquet").write_bytes(b"PAR1 torn PAR1")
    cases = [
        (source.parent / "events.csv.gz", {}, "events.csv.gz must be Parquet, of which every"),
        (source.parent / "nowhere", {}, "there is no Parquet file at"),
        (source.parent / "empty", {}, "must be whole Parquet files"),
        (source.parent / "torn.parquet", {}, "must be whole Parquet files"),
        (source, {"time": "payed_at"}, "column 'payed_at' is not in .*did you mean 'paid_at'"),
        (source, {"drop": ["hour"]}, "column 'hour' is not in"),
        (source, {"time": "is_fraud"}, "time must be another column than the label"),
        (
            source,
            {"drop": ["paid_at", "amount", "country", "number"]},
            "the table must have a column to learn from",
        ),
    ]
    for path, options, sentence in cases:
        with pytest.raises((TableError, ValueError, FileNotFoundError), match=sentence):
            prepare(client, path, "is_fraud", **options)


def test_a_file_that_only_the_client_sees_is_named(client):
    tasks = [dask.delayed(open)("/nowhere/1")]
    with pytest.raises(FileNotFoundError, match="a worker cannot read /nowhere/1; put"):
        cluster_training._computed(client, tasks, "counting rows", None)


@pytest.mark.parametrize(
    "address", ["nonsense", "host:8786", "tcp://host", "tcp://:8786", "tcp://h:p", "foo://h:1"]
)
def test_an_address_must_be_whole(address):
    with pytest.raises(ValueError, match="the address of a cluster must be such as tcp://host"):
        connected(address).__enter__()


def test_a_cluster_without_workers_is_refused():
    with (
        LocalCluster(
            n_workers=0, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=None
        ) as machines,
        pytest.raises(ValueError, match=r"the cluster must have workers; tcp://127.0.0.1:\d+ has"),
        connected(machines.scheduler_address),
    ):
        pass
