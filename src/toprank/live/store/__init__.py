"""What a desk keeps in its database: one module per table."""
