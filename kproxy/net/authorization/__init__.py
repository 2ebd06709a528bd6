"""What the backing cluster says of who may do what."""
