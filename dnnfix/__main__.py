"""`python -m dnnfix`, the same as the command `dnnfix`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # `-m` puts the working folder first: a `random.py` in it, made by whoever wrote the program, would run in here.
    if not sys.flags.safe_path:
        del sys.path[0]
    from dnnfix.cli.main import main

    main()
