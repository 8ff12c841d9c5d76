"""Measurements on arrays, whatever framework they come from: what there is to learn, skill, units, rows."""
