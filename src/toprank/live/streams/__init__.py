"""Payments and labels in from a message broker, decisions and alerts out to one."""
