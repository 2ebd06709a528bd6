"""What share groups are configured to do, how they are kept, and what becomes of their topics."""
