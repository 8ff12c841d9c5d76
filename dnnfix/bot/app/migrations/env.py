"""Alembic's entry point: runs the migrations in the transaction of the store that asks for them."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], target_metadata=None)
context.run_migrations()
