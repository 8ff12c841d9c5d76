"""What a search over edits asks where a program stopped: what was in reach, and what comes of edits that are tried there."""
