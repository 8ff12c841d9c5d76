"""Creates the first tables: deliveries that were received, and jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("received", sa.Float, nullable=False, index=True),
    )
    op.create_table(
        "jobs",
        sa.Column("slug", sa.String(200), primary_key=True),
        sa.Column("installation", sa.BigInteger, nullable=False),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("due", sa.Float, nullable=False, index=True),
        sa.Column("sent", sa.Float, nullable=False),
        sa.Column("holder", sa.String(100), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop both tables."""
    op.drop_table("jobs")
    op.drop_table("deliveries")
