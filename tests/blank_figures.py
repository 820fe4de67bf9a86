"""Reports without their figures, for tests of everything else: drawing takes longest."""

FIGURES = "toprank.present.report.figures"
BLANK = b'<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'


class NoPlots:
    """Has every plot, and none draws."""

    def __getattr__(self, name):
        return lambda *_, **__: None


def draw_nothing(monkeypatch):
    """Let each figure of a report be an empty drawing, under its own title."""
    monkeypatch.setattr(f"{FIGURES}._plots", NoPlots)
    monkeypatch.setattr(f"{FIGURES}._svg_file", lambda _: BLANK)
