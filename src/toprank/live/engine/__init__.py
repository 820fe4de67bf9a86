"""From a payment to its answer, and from its answer to the alert of its card."""
