"""One file per library that opens databases."""
