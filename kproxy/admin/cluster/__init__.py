"""The backing cluster as the admin port shows it."""
