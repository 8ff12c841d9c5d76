"""How the tables of the store came to be: Alembic's steps, one file each under `versions`."""
