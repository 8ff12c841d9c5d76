"""Adds to a job the commit up to which its repository is settled, so that the next visit begins there."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column, empty for every job."""
    op.add_column("jobs", sa.Column("settled", sa.String(64), nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("jobs", "settled")
