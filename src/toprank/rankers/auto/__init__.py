"""The ranker that chooses: what it may be made of, how that is judged, and what is kept."""
