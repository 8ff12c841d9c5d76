"""What changed between the versions of libraries, and which of it a program uses."""
