"""What `--plot` draws: one module for each job that has a picture, and the style of them all (`figure_style.py`).

A picture is drawn on the driver from at most a few thousand points; Spark sums them up first. Nothing is shown on a
screen: matplotlib's Agg writes a PNG file, and the same rows make the same bytes.
"""
