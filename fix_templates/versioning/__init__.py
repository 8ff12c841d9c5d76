"""Rules about code for other versions of its libraries: removed, renamed and changed APIs."""
