"""A ranker of streams: boosted trees refitted on a sample of the past, corrected in between."""
