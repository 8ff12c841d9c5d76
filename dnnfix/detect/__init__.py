"""Readings of a program and its run that several fix templates share, one module for each kind of evidence."""
