"""How a program is run: compiled with guarded loops, seeded, inside its scaffold, without a person to answer it."""
