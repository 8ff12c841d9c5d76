"""Fix templates of the family data dimension: what enters the network."""
