"""The compiled kernel: codes of columns, cuts, local trees, trees of trees, and their paths."""
