"""Linear and Gaussian rankers that learn from all pairs of a positive and a negative."""
