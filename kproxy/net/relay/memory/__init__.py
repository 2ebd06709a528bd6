"""How many bytes all connections hold together, and who reads on, waits, or ends where that is too much."""
