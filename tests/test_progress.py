"""Progress has one signature, and can be reported under another name."""

from toprank.rankers.progress import renamed, silent


def test_renamed_steps_keep_their_numbers():
    reported = []
    renamed(lambda *step: reported.append(step), "MetaAP")("growing trees", 2, 5)
    assert reported == [("MetaAP", 2, 5)]


def test_nobody_to_report_to_stays_nobody():
    assert renamed(None, "MetaAP") is None
    silent("anything", 1, 2)
