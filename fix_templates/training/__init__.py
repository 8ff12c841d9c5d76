"""Fix templates of the family training: loops, settings and data of a training."""
