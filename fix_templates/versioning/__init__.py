"""Fix templates of the family versioning: what libraries renamed and removed."""
