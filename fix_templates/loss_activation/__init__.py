"""Fix templates of the family loss and activation."""
