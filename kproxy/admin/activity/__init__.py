"""What share groups are doing: `holdings.py` looks at the records that their members hold now."""
