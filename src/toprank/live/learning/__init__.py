"""Learning from the desk's own payments and labels: challengers, their comparison, promotion."""
