"""Fix templates of the family data dimension: the shape, order and layout of data."""
