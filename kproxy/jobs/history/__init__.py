"""History in rows that questions are asked of, the changes that they tell of, and the part that is asked about."""
