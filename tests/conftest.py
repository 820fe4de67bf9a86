"""How many examples the property tests draw: few for people, all of them in `make test-slow`."""

import os

from hypothesis import settings

# Kernels compile inside the first example, so no example has a deadline.
settings.register_profile("quick", deadline=None, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("TOPRANK_EXAMPLES", "quick"))
