"""How much sessions do at once: what they share of a turn of the event loop that they know nothing of."""
