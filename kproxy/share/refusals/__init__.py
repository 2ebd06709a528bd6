"""What becomes of changes whose writes are refused. Pure, as all of `share`."""
