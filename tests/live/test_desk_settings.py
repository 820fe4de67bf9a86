import pytest

from toprank.live.desk_settings import DeskSettings


def test_settings_are_written_with_their_explanations_and_read_back(tmp_path):
    settings = DeskSettings(capacity=7, keep="90d", clock="payments", durability="power")
    settings.write(tmp_path)
    assert DeskSettings.read(tmp_path) == settings
    assert "# Cards that can be checked per day.\ncapacity = 7\n" in (
        tmp_path / "desk.toml"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("capacity = 0", "capacity"),
        ("alert_from = 2", "alert_from"),
        ('keep = "1h"', "keep"),
        ('keep = "soon"', "keep"),
        ('clock = "sun"', "clock"),
        ('durability = "always"', "durability"),
        ("retrain_hour = 24", "retrain_hour"),
        ("retrain_minutes = 0", "retrain_minutes"),
        ("capasity = 5", "capacity"),
        ("capacity = ", "desk.toml"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, text, named):
    (tmp_path / "desk.toml").write_text(text)
    with pytest.raises(ValueError, match=named):
        DeskSettings.read(tmp_path)


def test_a_setting_that_is_off_is_written_as_a_comment_to_be_completed(tmp_path):
    DeskSettings().write(tmp_path)
    text = (tmp_path / "desk.toml").read_text(encoding="utf-8")
    assert "\n# retrain_hour =\n" in text and DeskSettings.read(tmp_path).retrain_hour is None
    (tmp_path / "desk.toml").write_text(text.replace("# retrain_hour =", "retrain_hour = 3"))
    assert DeskSettings.read(tmp_path).retrain_hour == 3
