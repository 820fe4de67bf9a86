"""How a ranking tree is read: its compact graph, rules in words, text and pictures."""
