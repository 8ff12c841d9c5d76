"""Readings of how a program trains: its loops, its data loaders, its losses and its metrics."""
