"""The HTTP side of a desk: payments and labels come in, decisions and alerts go out."""
