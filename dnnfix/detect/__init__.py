"""Readings of evidence that several fix templates share: one file per kind of evidence."""
