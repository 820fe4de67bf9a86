"""Rows that experiments make: worlds whose law is known, and the past of bare payments."""
