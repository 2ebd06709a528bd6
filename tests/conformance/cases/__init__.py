"""The cases by subject; `every_case` has them all."""
