"""Measurements that are no comparison of learners on tables: one file each, run as experiments.

A trial is a function `(data, seed, folder, **parameters)` with a row in `trial_table`.
"""
