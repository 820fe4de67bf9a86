"""Every writer of a model's files, killed at every step: the old state or the new, never half."""

import pytest

from payments.killed_writers import in_a_child, steps_of
from payments.payment_days import (
    N_LATER,
    copied,
    joined,
    made_days,
    new_model,
    unlabelled,
    unsaved,
)
from toprank import files
from toprank.payments.model_files import check_free, write_next_version
from toprank.payments.payment_model import PaymentModel
from toprank.payments.versions import other_versions, promote, rollback, version_of

QUICKLY, ALL = 9, pytest.param(1, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def days():
    return made_days(30)


@pytest.fixture(scope="module")
def fitted(days):
    return new_model().fit(joined(days[:-N_LATER]))


@pytest.fixture(scope="module")
def saved(fitted, days, tmp_path_factory):
    """The folder of a model with a day remembered, a label and two versions."""
    folder = tmp_path_factory.mktemp("saved")
    path = folder / "payments.toprank"
    fitted.save(path)
    fitted.close()
    with PaymentModel.load(path, for_writing=True) as model:
        model.label(["0000001"], [False], who="ada")
        model.remember(unlabelled(days[-N_LATER]))
        write_next_version(model, path)
    return folder


def remember(path, days):
    with PaymentModel.load(path, for_writing=True) as model:
        model.rank(unlabelled(days[-2]), 5, remember=True, n_reasons=0)


def label(path, days):
    with PaymentModel.load(path, for_writing=True) as model:
        model.label(["0000002", "0000003"], [True, False])


def purge(path, days):
    with PaymentModel.load(path, for_writing=True) as model:
        model.state_.purge(model.state_.history.until)


def compact(path, days):
    with PaymentModel.load(path, for_writing=True) as model:
        model.state_.compact()


def restore(path, days):
    with PaymentModel.load(path, for_writing=True) as model:
        if model.state_.rows()["tx"].to_pylist()[-1] == days[-N_LATER]["tx"][-1].as_py():
            model.state_.restore()


def refit(path, days):
    with PaymentModel.load(path) as model:
        if 3 not in other_versions(path):
            write_next_version(model, path)


def promoted(path, days):
    if current(path) == 1:
        promote(path)


def rolled_back(path, days):
    if current(path) == 2:
        rollback(path)


def current(path):
    return version_of(files.read_manifest(path)["facts"])


def state_of(path):
    """What a model and its history know: whatever a command could depend on."""
    with PaymentModel.load(path) as model:
        state = model.state_
        arrays = {name: each.tobytes() for name, each in state.history._to_saved().arrays.items()}
        ids = state.rows()["tx"].to_pylist()
        assert len(set(ids)) == len(ids)
        labels = state.ledger.entries_after(0).ids.to_pylist()
        assert len(set(labels)) == len(labels)
        others = {*other_versions(path)} - {current(path)}
        return current(path), others, state.history.id, arrays, ids, labels


def leftovers(path):
    """Files that a killed process left; locks and SQLite's own are none."""
    found = [each for each in path.parent.rglob("*") if ".part-" in each.name]
    return [*found, *path.parent.glob(".*.lock")]


def check_kills(change, again, path_of, every, days, seen=state_of):
    """Kill a change at every step; then make it again, and compare with one nobody killed."""
    path = path_of("whole")
    before = seen(path)
    n_steps = steps_of(lambda: change(path, days))
    after = seen(path)
    assert after != before or change is compact
    for step in range(1, n_steps + 1, every):
        path = path_of(str(step))
        status, _ = in_a_child(lambda path=path: change(path, days), kill_at=step)
        assert status == -9, step
        assert seen(path) in (before, after), step
        again(path, days)
        assert seen(path) == after, step
        check_free(path)  # whose lock is that of the next writer
        assert leftovers(path) == [], step


@pytest.mark.parametrize("every", [QUICKLY, ALL])
@pytest.mark.parametrize("change", [remember, label, purge, compact, restore, refit, promoted])
def test_a_writer_killed_at_any_step_leaves_the_old_state_or_the_new(
    saved, days, tmp_path, change, every
):
    check_kills(change, change, lambda name: copied(saved, tmp_path / name), every, days)


@pytest.mark.parametrize("every", [QUICKLY, ALL])
def test_a_restore_beyond_a_snapshot_killed_at_any_step_loses_no_label(
    saved, days, tmp_path, every
):
    def path_of(name):
        path = copied(saved, tmp_path / name)
        compact(path, days)
        label(path, days)
        return path

    check_kills(restore, restore, path_of, every, days)


@pytest.mark.parametrize("every", [QUICKLY, ALL])
def test_a_rollback_killed_at_any_step_leaves_either_version(saved, days, tmp_path, every):
    def path_of(name):
        path = copied(saved, tmp_path / name)
        promote(path)
        return path

    check_kills(rolled_back, rolled_back, path_of, every, days)


@pytest.mark.parametrize("every", [QUICKLY, ALL])
def test_a_fit_over_a_model_killed_at_any_step_leaves_the_old_pair_or_the_new(
    saved, days, tmp_path, every
):
    def fitted_again(path, days):
        model = unsaved(path, days)
        model.save(path)
        model.close()

    def seen(path):
        with PaymentModel.load(path) as model:
            return model.state_.rows()["tx"].to_pylist(), len(model.state_.ledger)

    def checked_again(path, days):
        fitted_again(path, days)
        # the history of versions, the new one, and that of the model replaced before
        assert len(list(path.with_suffix(".history").iterdir())) <= 3

    path_of = lambda name: copied(saved, tmp_path / name)  # noqa: E731
    check_kills(fitted_again, checked_again, path_of, every, days, seen)
