"""How a program trains: its loops, its data loaders, and what it watches."""
