"""The silver table: decoded from a log or read from an export; the changes in it, and selections of it."""
