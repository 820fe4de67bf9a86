"""The pages of a desk: HTML made on the server, which works without scripts."""
