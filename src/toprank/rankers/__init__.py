"""Learners that rank: boosted, readable, online, and without labels."""
