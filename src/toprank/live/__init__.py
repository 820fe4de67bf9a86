"""The live system: payments come in, rules answer at once, the model ranks the cards."""
