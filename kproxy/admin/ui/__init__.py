"""The web view on `/ui`: pages, scripts and one style sheet, served from the package as they are.

`web_view.py` serves them. `static/` holds ES modules that browsers load as they stand, without a build step; what they
show they ask of `/api/v1`, like everybody else. `static/vendor/` holds what others wrote, each with its licence.
"""
