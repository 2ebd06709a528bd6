"""What the log lost while it was in flight."""
