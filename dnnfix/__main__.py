"""`python -m dnnfix` is the command `dnnfix`."""

from __future__ import annotations

from dnnfix.cli.main import main

if __name__ == "__main__":
    main()
