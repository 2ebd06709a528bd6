"""Share groups as they are shown to people. Pure, as all of `share`."""
