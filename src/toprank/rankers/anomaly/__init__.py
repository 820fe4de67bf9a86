"""Ranking by unusualness, where no label says what to look for."""
