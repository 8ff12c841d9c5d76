"""Fix templates of the family layer dimension: sizes that layers state."""
