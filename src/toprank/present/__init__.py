"""What people read: summaries in words, HTML reports."""
