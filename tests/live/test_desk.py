import pytest

from live import databases, desks
from toprank.live.desk import Desk, fields_of, init_desk
from toprank.live.store import audit_chain, label_table
from toprank.payments.payment_model import PaymentModel


def test_a_desk_has_the_fields_of_its_model(model_file):
    with PaymentModel.load(model_file) as model:
        found = {each.name: each for each in fields_of(model)}
    assert {name: each.role for name, each in found.items() if each.role} == {
        "tx": "id", "paid_at": "time", "card": "card", "terminal": "terminal", "amount": "amount",
    }  # fmt: skip
    assert all(found[name].is_required for name in ("tx", "paid_at", "card", "terminal", "amount"))
    assert (found["channel"].kind, found["channel"].is_required) == ("text", False)


def test_a_new_desk_is_whole_private_and_audited(desk):
    with desk.database.reading() as connection:
        (entry,) = audit_chain.entries(connection)
    assert entry.action == "desk made"
    private = ["desk.toml"] if databases.ON_POSTGRES else ["desk.toml", "desk.db"]
    assert all((desk.folder / each).stat().st_mode & 0o777 == 0o600 for each in private)
    assert desks.live(desk).history.position == 0


def test_labels_that_the_model_knows_already_are_labels_of_the_desk(model_file, made, tmp_path):
    labelled = made[0]["tx"][3].as_py()
    desks.fitted_model(made[0], tmp_path / "payments.toprank")
    with PaymentModel.load(tmp_path / "payments.toprank", for_writing=True) as model:
        model.label([labelled], [True])
    with (
        desks.new_desk(tmp_path / "desk", tmp_path / "payments.toprank") as desk,
        desk.database.reading() as connection,
    ):
        (found,) = label_table.after(connection, 0)
        assert (found.id, found.is_fraud, found.after_position) == (labelled, True, 0)
        assert found.card == made[0]["card"][3].as_py()
        live = desks.live(desk)
        assert live.history.place.label_number == 1


def test_a_folder_that_is_in_use_is_left_alone(tmp_path, model_file):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        init_desk(tmp_path, model_file)
    assert [each.name for each in tmp_path.iterdir()] == ["note.txt"]


def test_a_model_without_ids_is_refused(made, tmp_path):
    path = tmp_path / "payments.toprank"
    model = PaymentModel("is_fraud", time="paid_at", card="card", terminal="terminal",
                         amount="amount", n_estimators=5, time_limit=0.01, n_jobs=1)  # fmt: skip
    model.fit(made[0].drop_columns(["tx"]))
    model.save(path)
    with pytest.raises(ValueError, match="--id"):
        init_desk(tmp_path / "desk", path)
    assert not (tmp_path / "desk").exists()


def test_a_model_with_a_column_of_a_desk_is_refused(made, tmp_path):
    table = made[0].append_column("suspicion", made[0]["amount"])
    desks.fitted_model(table, tmp_path / "payments.toprank")
    with pytest.raises(ValueError, match="'suspicion'"):
        init_desk(tmp_path / "desk", tmp_path / "payments.toprank")


def test_cards_are_stored_as_keyed_hashes_if_the_model_does_so(made, later, tmp_path):
    key = tmp_path / "card.key"
    key.write_text("0123456789abcdef0123")
    desks.fitted_model(made[0], tmp_path / "payments.toprank", card_key=key)
    from toprank.live.desk_settings import DeskSettings
    from toprank.live.engine.live_desk import LiveDesk

    settings = DeskSettings(clock="payments", alert_from=0.0)
    init_desk(tmp_path / "desk", tmp_path / "payments.toprank", settings, card_key=key)
    with Desk.open(tmp_path / "desk") as desk:
        live = LiveDesk(desk, card_key=key)
        live.decide(later[:40])
        live.score_some(64)
        stored = live.payment(later[0].id)["card"]
        assert len(stored) == 32 and stored != later[0].card
        live.close()
    written = b"".join(
        each.read_bytes() for each in (tmp_path / "desk").rglob("*") if each.is_file()
    )
    assert later[0].card.encode() not in written
    with Desk.open(tmp_path / "desk") as desk:
        # without the key, what is stored can still be read, but no payment can come in
        again = LiveDesk(desk)
        assert again.history.position == 40
        with pytest.raises(ValueError, match="card_key"):
            again.decide(later[40:41])
