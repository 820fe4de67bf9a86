"""What experiments may name as a learner: rankers of tables, detectors of rows, online learners.

Each module has ours and the rivals one would pick instead, by id, with how each is made.
"""
