"""How long what pages show takes to read, on a desk with many payments and alerts."""
