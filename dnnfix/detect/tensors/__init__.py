"""Readings of tensors: their axes, sizes, dtypes and values, and where these come from."""
