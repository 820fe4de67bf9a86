"""The versions of a desk's tables, each as the steps that lead to it."""
