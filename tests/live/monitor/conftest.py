import pytest

from live.monitor import board_desk


@pytest.fixture(scope="session")
def counted(model_file, later, tmp_path_factory):
    """A desk in memory whose log is not counted yet: with rules, payments and labels."""
    folder = tmp_path_factory.mktemp("board") / "desk"
    desk, live = board_desk.made_desk(folder, model_file, later)
    with desk:
        yield live
        live.close()
