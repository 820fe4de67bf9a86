"""How many examples property tests draw: few for people, four times as many in test-slow."""

import os

from hypothesis import settings

# Kernels compile inside the first example, so no example has a deadline.
settings.register_profile("quick", deadline=None, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=60)
settings.load_profile(os.environ.get("TOPRANK_EXAMPLES", "quick"))
