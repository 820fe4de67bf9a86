"""AutoRanker: the recipes it tries, how they are judged, and the model that is kept."""
