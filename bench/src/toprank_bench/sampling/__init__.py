"""Fits after a sampler, what validation chooses among them, and resampled test rows."""
