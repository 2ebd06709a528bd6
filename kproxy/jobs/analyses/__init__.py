"""Questions to the history: one job each."""
