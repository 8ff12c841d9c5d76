"""Fix templates of the family data type: dtypes, containers, devices and names."""
