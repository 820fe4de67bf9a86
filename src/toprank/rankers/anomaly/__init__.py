"""Ranking rows by how unusual they are, without labels."""
