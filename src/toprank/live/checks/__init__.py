"""Checks: the queue, claims, verdicts and what they lead to. No pages: those call these."""
