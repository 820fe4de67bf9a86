"""The door: tables, checks and what an estimator reads of them."""
