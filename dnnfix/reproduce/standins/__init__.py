"""Source of stand-ins: cut out as text by `dnnfix.reproduce.standin`, run in the trial only.

Every top-level name begins with `made_` or `_made_`; imports stand inside of functions.
"""
