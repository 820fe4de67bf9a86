"""With a key, the history has hashes of the cards, and everything else is as without."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import one_sentence, run_main
from payments.payment_days import N_LATER, copied, joined, listed, made_days, new_model, unlabelled
from toprank.payments.new_version import matured_rows
from toprank.payments.payment_model import PaymentModel
from toprank.payments.payment_stream import PaymentStream
from toprank.payments.stored_cards import StoredCards

KEY = b"b1946ac92492d2347c6235b4d2611184\n"


@pytest.fixture(scope="module")
def days():
    return made_days(30)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "cards.key"
    path.write_bytes(KEY)
    return path


@pytest.fixture(scope="module")
def saved(days, key, tmp_path_factory):
    """Folders of the same model, without a key and with it."""
    folders = {}
    for name, card_key in (("plain", None), ("keyed", key)):
        folders[name] = tmp_path_factory.mktemp(name)
        model = new_model(card_key=card_key).fit(joined(days[:-N_LATER]))
        model.save(folders[name] / "payments.toprank")
        model.close()
    return folders


@pytest.fixture
def paths(saved, tmp_path):
    return {name: copied(folder, tmp_path / name) for name, folder in saved.items()}


def test_lists_pages_and_scores_are_those_without_a_key(paths, days, key):
    today, next_day = unlabelled(days[-N_LATER]), unlabelled(days[-2])
    found = {}
    for name, path in paths.items():
        card_key = key if name == "keyed" else None
        with PaymentModel.load(path, for_writing=True, card_key=card_key) as model:
            alerts = model.rank(today, 5, remember=True)
            ids = alerts.rows["tx"].to_pylist()
            model.label(ids, [True, False, False, False, False])
            stream = PaymentStream(model)
            scores = [stream.score(each, each["tx"]) for each in next_day.to_pylist()[:5]]
            later = model.rank(next_day.slice(5), 5)
            past = [each["tx"].to_pylist() for each in model.recent_payments(later)]
            found[name] = (
                listed(alerts), alerts.facts.to_pydict(), listed(later), later.cleared.tolist(),
                later.n_left_out, past, scores, model.evaluate(days[-1]).average_precision,
            )  # fmt: skip
    assert found["keyed"] == found["plain"]
    assert set(found["keyed"][1]["card"]) <= set(today["card"].to_pylist())


def test_no_file_of_the_model_has_a_card(paths, days, key):
    today = unlabelled(days[-N_LATER])
    number = "4971-0000-1111-2222"
    cards = pa.array([number] * 3 + today["card"].to_pylist()[3:])
    today = today.set_column(today.column_names.index("card"), "card", cards)
    with PaymentModel.load(paths["keyed"], for_writing=True, card_key=key) as model:
        model.rank(today, 5, remember=True)
        model.take_in(today.to_pylist()[0] | {"tx": "x"})
        model.settle()
        folder = model.state_.folder
        kept = set(model.state_.rows()["card"].to_pylist())
        known = {card for day in days for card in day["card"].to_pylist()} | {number}
        assert not kept & known
        assert set(model.state_.history.keys_of(today["tx"], "card")) <= kept
        model.state_.compact()
    parts = list((folder / "rows").iterdir())
    assert len(parts) == 3
    for each in parts:
        assert not set(pq.read_table(each)["card"].to_pylist()) & known
    for each in (*folder.iterdir(), paths["keyed"]):
        assert not each.is_file() or number.encode() not in each.read_bytes(), each
        assert not each.is_file() or KEY.strip() not in each.read_bytes(), each


def test_without_the_key_or_with_another_payments_are_refused_in_a_sentence(paths, days, key):
    today = unlabelled(days[-N_LATER])
    with PaymentModel.load(paths["keyed"]) as model:
        for see in (lambda: model.rank(today, 5), lambda: model.score(today.to_pylist()[0])):
            with pytest.raises(ValueError, match=r"name the file with the key .*card_key"):
                see()
    other = key.with_name("other.key")
    other.write_bytes(b"x" * 16)
    with pytest.raises(ValueError, match=r"other\.key must be the key that payments\.toprank "):
        PaymentModel.load(paths["keyed"], card_key=other)
    with pytest.raises(ValueError, match=r"payments\.toprank was fitted without a key of"):
        PaymentModel.load(paths["plain"], card_key=key)


def test_labels_and_refit_need_no_key(paths, days):
    with PaymentModel.load(paths["keyed"], for_writing=True) as model:
        assert model.label(["0000001"], [True]).n_corrected == 1
        assert len(model.known_cards().blocked) == 1
        assert matured_rows(model).table.num_rows == joined(days[:-N_LATER]).num_rows


def test_a_key_that_is_short_and_one_without_a_card_are_refused(tmp_path, days):
    short = tmp_path / "short.key"
    short.write_text("secret\n")
    with pytest.raises(ValueError, match=r"at least 16 bytes; got 6; make one with: openssl"):
        StoredCards.of_key(short)
    with pytest.raises(ValueError, match="card_key must come with card"):
        new_model(card=None, terminal=None, amount=None, row_id=None, card_key=short).fit(
            joined(days)
        )


def test_numbers_texts_and_missing_cards_have_one_stored_form():
    cards = StoredCards("fingerprint", b"0123456789abcdef")
    stored = cards.in_table(pa.table({"card": [7.0, None]}), "card")["card"].to_pylist()
    assert cards.in_row({"card": "7"}, "card") == {"card": stored[0]}
    assert cards.in_row({"card": 7}, "card") == {"card": stored[0]}
    assert stored[1] is None
    texts = cards.in_table(pa.table({"card": ["7", "NA", ""]}), "card")["card"].to_pylist()
    assert texts == [stored[0], None, None]
    other = StoredCards("fingerprint", b"0123456789abcdeF")
    assert other.in_row({"card": "7"}, "card") != {"card": stored[0]}


def test_the_commands_take_the_key_and_list_cards_as_they_came(
    saved, days, key, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    copied(saved["keyed"], tmp_path)
    today = unlabelled(days[-N_LATER])
    pq.write_table(today, "today.parquet")
    pq.write_table(days[-N_LATER], "labelled.parquet")
    rank = ("rank", "payments.toprank", "today.parquet", "-k", 5)
    assert "(--card-key)" in one_sentence(run_main(*rank))
    outcome = run_main(*rank, "--remember", "-o", "a.parquet", "--card-key", key)
    assert outcome.exit_code == 0, outcome.stderr
    shown = pq.read_table("a.parquet")["card"].to_pylist()
    assert set(shown) <= set(today["card"].to_pylist())
    assert shown[0] in Path("a.html").read_text()
    for command in (
        ("evaluate", "payments.toprank", "labelled.parquet"),
        ("explain", "payments.toprank", "today.parquet", "--row", 1),
    ):
        assert run_main(*command, "--card-key", key).exit_code == 0
    row = {**unlabelled(days[-2]).to_pylist()[0], "tx": "new"}
    Path("s.ndjson").write_text(json.dumps(row, default=str) + "\n")
    stream = ("stream", "s.ndjson", "--model", "payments.toprank")
    assert "(--card-key)" in one_sentence(run_main(*stream))
    assert run_main(*stream, "--card-key", key).exit_code == 0


def test_fit_keeps_the_key_apart(days, key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(joined(days[:-N_LATER]), "known.parquet")
    roles = ("--time", "paid_at", "--card", "card", "--terminal", "terminal", "--amount", "amount")
    fit = ("fit", "known.parquet", "--label", "is_fraud", "--trees", 5, "--minutes", 0.0001)
    assert run_main(*fit, *roles, "--card-key", key).exit_code == 0
    assert KEY.strip() not in Path("known.toprank").read_bytes()
    with PaymentModel.load("known.toprank") as model:
        assert all(len(each) == 32 for each in model.state_.rows()["card"].to_pylist())
    assert "--card-key must come with --card" in run_main(*fit, "--card-key", key).stderr
