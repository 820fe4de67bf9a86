"""How a desk is doing: what came in, what was found, and how sure that is."""
