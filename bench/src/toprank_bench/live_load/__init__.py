"""The live system measured: load from a second process, kills, restarts, broken requests."""
