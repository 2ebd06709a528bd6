"""The way of a ShareFetch from what it asks for to the records that its member holds."""
