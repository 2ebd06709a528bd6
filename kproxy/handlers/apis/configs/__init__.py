"""The served APIs about configurations of groups."""
