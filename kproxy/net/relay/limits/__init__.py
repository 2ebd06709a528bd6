"""How many connections there may be, and how fast one of them may ask: counted, without sockets."""
