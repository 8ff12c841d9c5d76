"""Where repositories and pull requests live: one protocol, and the forges that follow it."""
