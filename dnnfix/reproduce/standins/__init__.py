"""Source of stubs and synthetic data: cut out as text by `dnnfix.reproduce.standin`, and run in the trial only.

Every top-level name begins with `made_` or `_made_`; imports are inside of functions.
"""
