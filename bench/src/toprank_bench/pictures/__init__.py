"""The pictures of the guide that are made from experiments: one function per picture."""
