"""The migrations of the store's tables by Alembic, one file each under `versions`."""
