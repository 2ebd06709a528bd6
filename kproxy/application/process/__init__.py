"""What concerns the process as a whole, whatever it serves."""
