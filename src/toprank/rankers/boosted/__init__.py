"""Boosted trees on a ranking loss: the engines, and the estimators over them."""
