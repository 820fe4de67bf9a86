"""The number of examples of one property test, by profile."""

from hypothesis import settings


def examples(thorough: int) -> settings:
    """Return settings: so many examples in `make test-slow`, a quarter in `make test`.

    Neither draws more than the profile's own number, which conftest.py sets.
    """
    most = settings.default.max_examples
    share = most / settings.get_profile("thorough").max_examples
    return settings(max_examples=min(most, max(5, round(thorough * share))))
