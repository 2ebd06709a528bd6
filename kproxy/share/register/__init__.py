"""Which groups there are, and where: very many come and go together, with the slot of the log that has them."""
