"""Base classes of rules, one for each kind of fault that several rules look for."""
