"""Rounds of large groups, of which a turn has a portion. Pure, as all of `share`."""
