"""Rules: conditions that experts write, from their text to what they did."""
