"""What operators do with records in flight. Pure, as all of `share`."""
