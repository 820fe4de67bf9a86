"""The number of examples of one property test, by profile."""

from hypothesis import settings

LEAST = 5


def examples(thorough: int) -> settings:
    """Return settings: `thorough` examples in `make test-slow`, a fifth in `make test`."""
    share = settings.default.max_examples / settings.get_profile("thorough").max_examples
    return settings(max_examples=min(thorough, max(LEAST, round(thorough * share))))
