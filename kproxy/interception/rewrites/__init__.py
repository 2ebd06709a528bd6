"""One module per message that kproxy changes on its way: pure functions. What they do not name stays as it is."""
