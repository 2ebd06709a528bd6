"""One program per Python client: it runs the scenarios it is told to, and says of each what came of it."""
