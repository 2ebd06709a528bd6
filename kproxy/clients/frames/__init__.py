"""Frames that somebody recorded: how they are found in hex, files and captures, and shown by name and field."""
