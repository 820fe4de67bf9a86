"""Everything that learns to rank: boosted, readable, online, and without labels."""
