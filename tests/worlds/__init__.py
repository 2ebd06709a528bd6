"""Scenes in memory that tests of several packages play in."""
