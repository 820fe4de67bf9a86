"""Features and scores by several processes: stages keyed by terminal and by card."""
