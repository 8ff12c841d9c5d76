"""From findings to edited programs: candidates, their composition and their ranking."""
