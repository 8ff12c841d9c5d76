"""Derives the form of a program's missing data (shapes, columns, batches) from how the program uses it."""
