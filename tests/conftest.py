"""How many threads tests use, how many examples property tests draw, which test starts first."""

import os

from hypothesis import settings

# tests run beside each other, and a process that is forked beside threads of OpenMP can hang
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Few examples for people, four times as many in test-slow.
# Kernels compile inside the first example, so no example has a deadline.
settings.register_profile("quick", deadline=None, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=60)
settings.load_profile(os.environ.get("TOPRANK_EXAMPLES", "quick"))


def pytest_collection_modifyitems(items):
    """Install the package first: it takes longest, and no process should end alone with it."""
    items.sort(key=lambda item: item.path.name != "test_install.py")
