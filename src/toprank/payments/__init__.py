"""Payments with a time, a card, a terminal and an amount."""
