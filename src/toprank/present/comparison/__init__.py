"""Comparisons as people read them: of learners, and of remedies for imbalance."""
