"""Fix templates of the family connectivity: what is joined to what."""
