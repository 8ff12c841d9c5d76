"""dnnfix in a live notebook: `%load_ext dnnfix`, `%%dnnfix` on top of a cell, and `%dnnfix` for the whole notebook."""
