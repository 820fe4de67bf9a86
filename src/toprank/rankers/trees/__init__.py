"""Ranking trees: the compiled kernel, the trees and forests built on it, and how they are read."""
