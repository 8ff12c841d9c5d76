"""Which commit of a repository is settled, so that the next visit begins there."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Begin with none."""
    op.add_column("jobs", sa.Column("settled", sa.String(64), nullable=False, server_default=""))


def downgrade() -> None:
    """Forget it."""
    op.drop_column("jobs", "settled")
