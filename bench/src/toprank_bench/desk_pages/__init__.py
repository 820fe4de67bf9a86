"""How long pages take on a desk with many payments and alerts."""
