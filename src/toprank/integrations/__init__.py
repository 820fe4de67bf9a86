"""Models in other tools: each module needs a library of its own, imported when it is used."""
