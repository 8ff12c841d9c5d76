"""Fix templates that are off by default: what some want said of every program, and others of none."""
