"""Days of checking through a real server: people work its queue, and it learns every night."""
