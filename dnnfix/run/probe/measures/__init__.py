"""Measurements on arrays of any framework: skill, what is learnable in the data, activity of units, overlap of rows."""
